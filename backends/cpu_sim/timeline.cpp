// SPDX-License-Identifier: Apache-2.0
#include "timeline.h"

#include <mutex>

#include "parker.h"

namespace anyplace::cpu_sim {
namespace {

/// A HostWaiter is a host thread that waits. The object lives on that thread's stack until the thread has taken the
/// token, or has removed the object from the list before a token was given.
class HostWaiter final : public Waiter {
 public:
  Parker parker;

 private:
  void wake(Stream*&) noexcept override { parker.unpark(); }
};

}  // namespace

void Timeline::insert(Waiter& waiter) noexcept {
  // The search begins at the back, because targets mostly rise.
  Link<Waiter>* position = waiters_.end();
  while (position->previous() != waiters_.end() && position->previous()->owner()->target_ > waiter.target_) {
    position = position->previous();
  }
  waiter.link_.insert_before(*position);
}

std::uint64_t Timeline::lowest() noexcept { return waiters_.empty() ? UINT64_MAX : waiters_.begin()->owner()->target_; }

void Timeline::wake_reached(std::uint64_t value, Stream*& next) noexcept {
  List<Waiter> reached;
  {
    std::lock_guard lock(lock_);
    while (!waiters_.empty() && waiters_.begin()->owner()->target_ <= value) {
      reached.push_back(waiters_.pop_front()->link_);
    }
    // Raising it needs no order: a thread that sees the old value only looks once more than needed.
    lowest_target_.store(lowest(), std::memory_order_relaxed);
  }
  while (Waiter* waiter = reached.pop_front()) waiter->wake(next);
}

bool Timeline::park(Waiter& waiter, std::uint64_t target) noexcept {
  if (reached(target)) return false;
  std::lock_guard lock(lock_);
  waiter.target_ = target;
  insert(waiter);
  lowest_target_.store(lowest(), std::memory_order_seq_cst);
  if (value_.load(std::memory_order_seq_cst) < target) return true;
  backend::acquire_from_sanitizer(this);
  // advance() may have read lowest_target_ too early to see this waiter.
  waiter.link_.unlink();
  lowest_target_.store(lowest(), std::memory_order_relaxed);
  return false;
}

/// Removes the waiter from the list. Returns false if the waiter was woken or is being woken.
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

bool Timeline::wait(std::uint64_t target, const Deadline& deadline) noexcept {
  if (reached(target)) return true;
  if (deadline.poll()) return false;
  HostWaiter waiter;
  if (!park(waiter, target)) return true;
  if (!waiter.parker.park(deadline)) {
    if (withdraw(waiter)) return reached(target);
    waiter.parker.park(Deadline::never());  // The token's giver uses the waiter until it has given it.
  }
  backend::acquire_from_sanitizer(this);
  return true;
}

}  // namespace anyplace::cpu_sim
