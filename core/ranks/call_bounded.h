// SPDX-License-Identifier: Apache-2.0
//
// BoundedCall makes a call of an engine's on a thread of its own, because the call waits for other ranks and can't be
// given a limit.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include "anyplace/backend/kit/signals_blocked.h"
#include "runtime/deadline.h"

namespace anyplace::detail {

/// A call on a thread of its own, which blocks all signals but those of its own faults. If nobody waits for its end,
/// the thread goes on and keeps what the function has captured; wait() may be called again later.
class BoundedCall {
 public:
  /// Throws std::system_error if there is no thread.
  explicit BoundedCall(std::function<void()> function) : shared_(std::make_shared<Shared>()) {
    shared_->function = std::move(function);
    const backend::SignalsBlocked scope;  // a thread inherits the mask of its maker
    std::thread([shared = shared_] {
      shared->function();
      shared->function = nullptr;  // what it captured may own this BoundedCall
      const std::lock_guard lock(shared->mutex);
      shared->done = true;
      shared->changed.notify_all();
    }).detach();
  }
  /// Waits for the end of the call. Returns false if it still runs at the deadline.
  bool wait(const Deadline& deadline) const {
    std::unique_lock lock(shared_->mutex);
    return wait_for_condition(shared_->changed, lock, deadline, [this] { return shared_->done; });
  }

 private:
  struct Shared {
    std::mutex mutex;  // guards done
    std::condition_variable changed;
    bool done = false;
    std::function<void()> function;
  };
  const std::shared_ptr<Shared> shared_;
};

/// Makes a BoundedCall and waits for it once. Returns false if it still runs at the deadline; then it is left running.
inline bool call_bounded(const Deadline& deadline, std::function<void()> function) {
  return BoundedCall(std::move(function)).wait(deadline);
}

}  // namespace anyplace::detail
