// SPDX-License-Identifier: Apache-2.0
#include "timeline.h"

#include <condition_variable>

namespace anyplace::cpu_sim {
namespace {

/// A thread of the host's that waits. It lives on that thread's stack.
class HostWaiter final : public Waiter {
 public:
  std::condition_variable changed;
  bool woken = false;  // guarded by the timeline's mutex_

 private:
  void wake() noexcept override {
    woken = true;
    changed.notify_one();
  }
  bool wake_under_lock() noexcept override { return true; }
};

}  // namespace

void Timeline::insert(Waiter& waiter) noexcept {
  // From the back: targets mostly rise.
  Link<Waiter>* position = waiters_.end();
  while (position->previous() != waiters_.end() && position->previous()->owner()->target_ > waiter.target_) {
    position = position->previous();
  }
  waiter.link_.insert_before(*position);
  publish_lowest();
}

void Timeline::publish_lowest() noexcept {
  const uint64_t lowest = waiters_.empty() ? UINT64_MAX : waiters_.begin()->owner()->target_;
  lowest_target_.store(lowest, std::memory_order_seq_cst);
}

void Timeline::advance(uint64_t value) noexcept {
  value_.store(value, std::memory_order_seq_cst);
  if (lowest_target_.load(std::memory_order_seq_cst) > value) return;
  List<Waiter> reached;
  {
    std::lock_guard lock(mutex_);
    while (!waiters_.empty() && waiters_.begin()->owner()->target_ <= value) {
      Waiter* waiter = waiters_.pop_front();
      if (waiter->wake_under_lock()) {
        waiter->wake();
      } else {
        reached.push_back(waiter->link_);
      }
    }
    publish_lowest();
  }
  while (Waiter* waiter = reached.pop_front()) waiter->wake();
}

bool Timeline::park(Waiter& waiter, uint64_t target) noexcept {
  if (reached(target)) return false;
  std::lock_guard lock(mutex_);
  waiter.target_ = target;
  insert(waiter);
  if (!reached(target)) return true;
  // advance() may have looked at lowest_target_ too early to see this one.
  waiter.link_.unlink();
  publish_lowest();
  return false;
}

bool Timeline::wait(uint64_t target, const Deadline& deadline) {
  if (reached(target)) return true;
  if (deadline.poll()) return false;
  HostWaiter waiter;
  std::unique_lock lock(mutex_);
  Waiter& base = waiter;
  base.target_ = target;
  insert(base);
  if (!reached(target)) deadline.wait(waiter.changed, lock, [&] { return waiter.woken; });
  if (!waiter.woken) {
    base.link_.unlink();
    publish_lowest();
  }
  return reached(target);
}

}  // namespace anyplace::cpu_sim
