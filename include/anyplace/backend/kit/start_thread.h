// SPDX-License-Identifier: Apache-2.0
//
// start_thread: a thread of a backend, with a name and without the application's signals.
#pragma once

#include <pthread.h>

#include <string>
#include <system_error>
#include <thread>
#include <utility>

#include "../device_backend.h"
#include "signals_blocked.h"

namespace anyplace::backend {

/// Starts a thread that runs `body()`. The pointer `name` is kept; the system allows 15 characters. Throws Failure if
/// no thread can be started.
template <class Body>
std::thread start_thread(const char* name, Body body) {
  const SignalsBlocked blocked;
  try {
    return std::thread([name, run = std::move(body)] {
      pthread_setname_np(pthread_self(), name);
      run();
    });
  } catch (const std::system_error& error) {
    throw Failure(ANYPLACE_STATUS_BACKEND_FAILED, std::string("no thread could be started: ") + error.what(),
                  error.code().value(), "pthread_create");
  }
}

}  // namespace anyplace::backend
