// SPDX-License-Identifier: Apache-2.0
//
// SignalsBlocked: for a backend that starts threads. Signals are the application's, so none that is sent to the process
// may be handled on a thread that the application doesn't know.
#pragma once

#include <pthread.h>
#include <signal.h>

#include <initializer_list>

namespace anyplace::backend {

/// Blocks asynchronous signals on this thread while it lives. A thread that is started meanwhile inherits the mask and
/// keeps it. Signals of a thread's own faults stay as they are.
class SignalsBlocked {
 public:
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
