// SPDX-License-Identifier: Apache-2.0
// The hazard pointers of all threads, in a list that only grows.
#include "handles/hazard_pointer.h"

#include <new>

#include "anyplace/backend/thread_sanitizer.h"
#include "handles/slots.h"
#include "runtime/thread_end.h"

namespace anyplace::detail {

namespace {

/// The null handle leads to slot 0 of each kind. That slot's `plain` must not equal the null handle.
void prepare_null_slots() noexcept {
  for (auto& slots : first_slots) slots[0].plain.store(Id::closed, std::memory_order_relaxed);
}

/// The list's head. Elements are added in front and never removed, so a thread walks the list without a lock.
constinit std::atomic<ThreadHazards*> all_hazards{nullptr};

/// A thread gives its hazard pointers back when it ends. Calls that it makes after that pin.
constinit thread_local ThreadHazards* own_hazards = nullptr;
void give_hazards_back() noexcept {
  leave_fast_path();
  if (own_hazards != nullptr) own_hazards->taken.store(false, std::memory_order_release);
}
constinit thread_local ThreadEndTask hazards_end{give_hazards_back};

ThreadHazards* take_free_hazards() noexcept {
  for (ThreadHazards* hazards = all_hazards.load(std::memory_order_acquire); hazards != nullptr;
       hazards = hazards->next) {
    if (!hazards->taken.load(std::memory_order_relaxed) && !hazards->taken.exchange(true, std::memory_order_seq_cst)) {
      return hazards;
    }
  }
  return nullptr;
}

ThreadHazards* make_hazards() noexcept {
  auto* const hazards = new (std::nothrow) ThreadHazards;
  if (hazards == nullptr) return nullptr;
  hazards->next = all_hazards.load(std::memory_order_relaxed);
  while (!all_hazards.compare_exchange_weak(hazards->next, hazards, std::memory_order_seq_cst)) {
  }
  return hazards;
}

/// False in a library that wasn't compiled for ThreadSanitizer but runs under it: ThreadSanitizer can't see how users
/// and closers synchronise.
bool may_publish() noexcept {
  if (backend::unseen_by_thread_sanitizer()) return false;
  return hazards_by_exchange || have_asymmetric_fence();
}

}  // namespace

/// Whether another thread has joined. The calling thread doesn't count: it needs no fence with itself.
bool others_may_use() noexcept {
  const ThreadHazards* const own = call_state.joined;
  for (const ThreadHazards* hazards = first_hazards(); hazards != nullptr; hazards = hazards->next) {
    if (hazards != own && hazards->taken.load(std::memory_order_seq_cst)) return true;
  }
  return false;
}

ThreadHazards* first_hazards() noexcept { return all_hazards.load(std::memory_order_seq_cst); }

void join_fast_path() noexcept {
  CallState& thread = call_state;
  if ((thread.barred & CallState::not_joined) == 0 || !at_thread_end(hazards_end)) return;
  prepare_null_slots();
  if (may_publish()) {
    if (own_hazards == nullptr) own_hazards = take_free_hazards();
    if (own_hazards == nullptr) own_hazards = make_hazards();
    thread.joined = own_hazards;
  }
  thread.barred &= ~CallState::not_joined;
  if (thread.barred == 0) thread.hazards = own_hazards;
}

void leave_fast_path() noexcept {
  call_state.hazards = call_state.joined = nullptr;
  call_state.barred |= CallState::not_joined;
}

}  // namespace anyplace::detail
