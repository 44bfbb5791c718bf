// SPDX-License-Identifier: Apache-2.0
// The records of all threads, in a list that only grows.
#include "borrow.h"

#include <new>

#include "anyplace/backend/thread_sanitizer.h"
#include "event_state.h"
#include "kernel_state.h"
#include "memory_state.h"
#include "stream_state.h"
#include "thread_end.h"

namespace anyplace::detail {

constinit FirstSlots first_slots;

namespace {

/// The head. Records are put in front and never taken out, so whoever walks the list needs no lock.
constinit std::atomic<CallRecord*> all_records{nullptr};

/// Gives the record back when the thread ends. Calls made later go the long way.
constinit thread_local CallRecord* own_record = nullptr;
void give_record_back() noexcept {
  leave_short_calls();
  if (own_record != nullptr) own_record->taken.store(false, std::memory_order_release);
}
constinit thread_local ThreadEndTask record_end{give_record_back};

CallRecord* take_free_record() noexcept {
  for (CallRecord* record = all_records.load(std::memory_order_acquire); record != nullptr; record = record->next) {
    if (!record->taken.load(std::memory_order_relaxed) && !record->taken.exchange(true, std::memory_order_seq_cst)) {
      return record;
    }
  }
  return nullptr;
}

CallRecord* make_record() noexcept {
  auto* const record = new (std::nothrow) CallRecord;
  if (record == nullptr) return nullptr;
  record->next = all_records.load(std::memory_order_relaxed);
  while (!all_records.compare_exchange_weak(record->next, record, std::memory_order_seq_cst)) {
  }
  return record;
}

/// Under ThreadSanitizer, unless this was compiled for it: it can't see how borrowers and closers agree.
bool may_borrow() noexcept {
  if (backend::unseen_by_thread_sanitizer()) return false;
  return borrows_by_exchange || have_asymmetric_fence();
}

}  // namespace

/// What this thread itself does needs no fence.
bool others_may_borrow() noexcept {
  const CallRecord* const own = call_state.joined;
  for (const CallRecord* record = first_record(); record != nullptr; record = record->next) {
    if (record != own && record->taken.load(std::memory_order_seq_cst)) return true;
  }
  return false;
}

CallRecord* first_record() noexcept { return all_records.load(std::memory_order_seq_cst); }

void join_short_calls() noexcept {
  CallState& thread = call_state;
  if ((thread.barred & CallState::not_joined) == 0 || !at_thread_end(record_end)) return;
  streams().prepare_short_way();
  events().prepare_short_way();
  kernels().prepare_short_way();
  buffers().prepare_short_way();
  if (may_borrow()) {
    if (own_record == nullptr) own_record = take_free_record();
    if (own_record == nullptr) own_record = make_record();
    thread.joined = own_record;
  }
  thread.barred &= ~CallState::not_joined;
  if (thread.barred == 0) thread.record = own_record;
}

void leave_short_calls() noexcept {
  call_state.record = call_state.joined = nullptr;
  call_state.barred |= CallState::not_joined;
}

}  // namespace anyplace::detail
