// SPDX-License-Identifier: Apache-2.0
#include "workers.h"

#include <anyplace/backend/kit/signals_blocked.h>

#include <thread>
#include <utility>

namespace newname_backend {

void Workers::start(std::function<void()> body) {
  {
    const std::lock_guard lock(mutex_);
    ++running_;
  }
  try {
    // Signals are the application's; the new thread inherits that they are blocked.
    const anyplace::backend::SignalsBlocked blocked;
    // The thread is detached, because destroying a stream returns at once and nobody could wait to join it.
    std::thread([this, work = std::move(body)]() mutable {
      work();
      work = nullptr;
      end();
    }).detach();
  } catch (...) {
    end();
    throw;
  }
}

void Workers::end() {
  const std::lock_guard lock(mutex_);
  --running_;
  changed_.notify_all();
}

bool Workers::wait_until_ended(const Deadline& deadline) {
  std::unique_lock lock(mutex_);
  return deadline.wait(changed_, lock, [this] { return running_ == 0; });
}

}  // namespace newname_backend
