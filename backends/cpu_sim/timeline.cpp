// SPDX-License-Identifier: Apache-2.0
#include "timeline.h"

#include <mutex>

#include "parker.h"

namespace anyplace::cpu_sim {
namespace {

/// A thread of the host's that waits. It lives on that thread's stack until it has taken the token, or has been taken
/// off the list before one was given.
class HostWaiter final : public Waiter {
 public:
  Parker parker;

 private:
  void wake(Stream*&) noexcept override { parker.unpark(); }
};

}  // namespace

void Timeline::insert(Waiter& waiter) noexcept {
  // From the back: targets mostly rise.
  Link<Waiter>* position = waiters_.end();
  while (position->previous() != waiters_.end() && position->previous()->owner()->target_ > waiter.target_) {
    position = position->previous();
  }
  waiter.link_.insert_before(*position);
}

uint64_t Timeline::lowest() noexcept { return waiters_.empty() ? UINT64_MAX : waiters_.begin()->owner()->target_; }

void Timeline::wake_reached(uint64_t value, Stream*& next) noexcept {
  List<Waiter> reached;
  {
    std::lock_guard lock(lock_);
    while (!waiters_.empty() && waiters_.begin()->owner()->target_ <= value) {
      reached.push_back(waiters_.pop_front()->link_);
    }
    // Raising it needs no order: who sees the old one looks once more than it has to.
    lowest_target_.store(lowest(), std::memory_order_relaxed);
  }
  while (Waiter* waiter = reached.pop_front()) waiter->wake(next);
}

bool Timeline::park(Waiter& waiter, uint64_t target) noexcept {
  if (reached(target)) return false;
  std::lock_guard lock(lock_);
  waiter.target_ = target;
  insert(waiter);
  lowest_target_.store(lowest(), std::memory_order_seq_cst);
  if (value_.load(std::memory_order_seq_cst) < target) return true;
  backend::acquire_from_sanitizer(this);
  // advance() may have looked at lowest_target_ too early to see this one.
  waiter.link_.unlink();
  lowest_target_.store(lowest(), std::memory_order_relaxed);
  return false;
}

/// False if it is too late: the waiter was, or is being, woken.
bool Timeline::withdraw(Waiter& waiter) noexcept {
  std::lock_guard lock(lock_);
  for (Link<Waiter>* link = waiters_.begin(); link != waiters_.end(); link = link->next()) {
    if (link != &waiter.link_) continue;
    link->unlink();
    lowest_target_.store(lowest(), std::memory_order_relaxed);
    return true;
  }
  return false;
}

bool Timeline::wait(uint64_t target, const Deadline& deadline) noexcept {
  if (reached(target)) return true;
  if (deadline.poll()) return false;
  HostWaiter waiter;
  if (!park(waiter, target)) return true;
  if (!waiter.parker.park(deadline)) {
    if (withdraw(waiter)) return reached(target);
    waiter.parker.park(Deadline::never());  // the token is on its way, and the waiter is its giver's until it has come
  }
  backend::acquire_from_sanitizer(this);
  return true;
}

}  // namespace anyplace::cpu_sim
