// SPDX-License-Identifier: Apache-2.0
#include "watcher.h"

#include <pthread.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <system_error>

#include "device.h"

namespace anyplace::hip {
namespace {

/// Blocks asynchronous signals while it lives: a new thread inherits the mask, and signals are the application's.
class SignalsBlocked {
 public:
  SignalsBlocked() noexcept {
    sigset_t blocked;
    sigfillset(&blocked);
    for (int synchronous : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS}) {
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

/// This thread's questions must not spoil a capture that another library has going on another thread.
void stay_out_of_captures() noexcept {
  if (!driver().ThreadExchangeStreamCaptureMode) return;
  constexpr int relaxed = 2;  // hipStreamCaptureModeRelaxed
  int mode = relaxed;
  ignore(driver().ThreadExchangeStreamCaptureMode(&mode));
}

}  // namespace

void Watcher::start() {
  const std::lock_guard lock(mutex_);
  if (thread_.joinable() || stopping_) return;
  const SignalsBlocked blocked;
  try {
    thread_ = std::thread([this] {
      pthread_setname_np(pthread_self(), "anyplace-hip");
      run();
    });
  } catch (const std::system_error& error) {
    throw Failure(ANYPLACE_STATUS_BACKEND_FAILED, std::string("no thread could be started: ") + error.what(),
                  error.code().value(), "pthread_create");
  }
}

void Watcher::wake() noexcept {
  const std::lock_guard lock(mutex_);
  woken_ = true;
  changed_.notify_one();
}

void Watcher::stop() noexcept {
  std::thread ended;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_one();
    ended.swap(thread_);
  }
  if (ended.joinable()) ended.join();
}

bool Watcher::anything_pending() const noexcept {
  return std::any_of(devices_->begin(), devices_->end(), [](const auto& device) {
    return device->host_functions().any_pending() || device->work().any_retired();
  });
}

void Watcher::run() noexcept {
  constexpr std::chrono::milliseconds shortest_pause{1};
  constexpr std::chrono::milliseconds longest_pause{50};
  stay_out_of_captures();
  auto pause = shortest_pause;
  bool ask = false;  // the driver, and not only what is known here
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    woken_ = false;
    lock.unlock();
    for (const auto& device : *devices_) {
      device->host_functions().settle_if_lost(ask);
      device->work().sweep();
    }
    const bool pending = anything_pending();
    lock.lock();
    const auto due = [this] { return woken_ || stopping_; };
    if (pending) {
      ask = !changed_.wait_for(lock, pause, due);
      pause = ask ? std::min(pause * 2, longest_pause) : shortest_pause;
    } else {
      changed_.wait(lock, due);
      ask = false;
      pause = shortest_pause;
    }
  }
  lock.unlock();
  for (const auto& device : *devices_) device->host_functions().settle_if_lost(false);
}

}  // namespace anyplace::hip
