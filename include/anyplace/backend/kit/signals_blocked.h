// SPDX-License-Identifier: Apache-2.0
//
// SignalsBlocked: for a backend that starts threads. Signals belong to the application: one that is sent to the process
// must not be handled on a thread that the application doesn't know.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <initializer_list>

namespace anyplace::backend {

/// Blocks asynchronous signals on this thread while it lives. A thread that is started meanwhile inherits the mask and
/// keeps it. Signals for faults of the thread itself are not blocked.
class SignalsBlocked {
 public:
  /// Blocks them, and remembers what was blocked before.
  SignalsBlocked() noexcept {
    sigset_t blocked;
    sigfillset(&blocked);
    for (const int synchronous : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS}) {
      sigdelset(&blocked, synchronous);
    }
    pthread_sigmask(SIG_SETMASK, &blocked, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

}  // namespace anyplace::backend
