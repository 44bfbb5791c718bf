// SPDX-License-Identifier: Apache-2.0
//
// Borrow: the short way to what a handle leads to, for the calls that are made millions of times (record, wait, query,
// launch). A pin (slots.h) counts, which costs two locked instructions a handle and a shared cache line; a borrow says
// in a record of the calling thread's own which handles it is using, and takes nothing from anybody.
//
// The protocol, per call:
//
//   user     1  second := handle       (an exchange: nothing after it is read before it is visible)
//            2  read the slot's `plain`; if it isn't the handle, give up and go the long way
//            3  use the object
//            4  second := 0            (release)
//   user  1 of a call with two handles is preceded by  first := the other handle  (release)
//   closer   1  change the slot's `plain`  (an atomic read-modify-write)
//            2  read every thread's second and, if that isn't 0, then first; if one is the handle, ask again later
//               (close() in slots.h)
//            3  let go of the object
//
// Why no object is used after it was let go of. All of user 1, user 2, closer 1 and closer 2 (of `second`) are
// sequentially consistent, so they have one order. If user 2 saw `plain` unchanged, then user 1 < user 2 < closer 1 <
// closer 2, and closer 2 reads from `second` what user 1 wrote or something later: the handle, and the closer waits; or
// what a later step of that thread wrote, and since each such write is a release, the use (user 3) happened before
// closer 3. With two handles, `first` is written before the exchange of `second` and so is visible to whoever saw that;
// the closer reads it after `second`. A closer that finds a handle which is being tried in vain (user 2 gives up), or
// the `first` of an earlier call while the thread makes one with one handle, asks more often than it would have to, and
// nothing else.
//
// Invariant: a thread has at most one Borrow at a time. Inside the user's code call_state.record is null, and nothing
// that the core does during a backend's entry borrows.
#pragma once

#include <atomic>
#include <cstdint>

#include "process.h"

namespace anyplace::detail {

/// What one thread is using right now. Never freed: a thread that ends leaves its record to the next one.
struct alignas(64) CallRecord {
  std::atomic<std::uint64_t> second{0};  ///< 0: the thread is in no such call
  std::atomic<std::uint64_t> first{0};
  // Room for the call that is under way, which the thread's stack would need more instructions for.
  std::int32_t done = 0;
  const std::atomic<bool>* faulted = nullptr;

  std::atomic<bool> taken{true};  ///< by a thread
  CallRecord* next = nullptr;     ///< set before others can see the record; never changes
};

/// For the length of one call of a backend's entry, with one handle or with two, of any kinds.
class Borrow {
 public:
  Borrow(CallRecord& record, std::uint64_t id) noexcept : record_(record) {
    record.second.exchange(id, std::memory_order_seq_cst);
  }
  Borrow(CallRecord& record, std::uint64_t first, std::uint64_t second) noexcept : record_(record) {
    record.first.store(first, std::memory_order_release);
    record.second.exchange(second, std::memory_order_seq_cst);
  }
  Borrow(const Borrow&) = delete;  // given back once
  Borrow& operator=(const Borrow&) = delete;
  ~Borrow() { record_.second.store(0, std::memory_order_release); }

 private:
  CallRecord& record_;
};

/// The closer's step 2.
bool is_borrowed(std::uint64_t id) noexcept;

/// Gives the calling thread a record, from when on its calls go the short way; if there is no memory for one, they go
/// on without. Not in a callback, not in a forked child. Idempotent.
void join_short_calls() noexcept;

/// In the child of a fork. Locks nothing and allocates nothing.
void leave_short_calls() noexcept;

}  // namespace anyplace::detail
