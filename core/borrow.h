// SPDX-License-Identifier: Apache-2.0
//
// Borrow: the short way to what a handle leads to, for the calls that are made millions of times (record, wait, query,
// synchronize, launch). A pin (slots.h) counts, which costs two locked instructions a handle and a shared cache line; a
// borrow says in a record of the calling thread's own which handles it is using, by plain stores, and takes nothing
// from anybody. The price is the closer's, who has to make every thread pass a fence (asymmetric_fence.h).
//
// The protocol, per call:
//
//   user     1  second := handle       (a plain store, release; light fence)
//            2  read the slot's `plain`; if it isn't the handle, give up: step 4, and go the long way
//            3  use the object
//            4  second := 0            (release)
//   user  1 of a call with two handles is preceded by  first := the other handle  (a plain store, release)
//   closer   1  change the slot's `plain`   (an atomic read-modify-write, sequentially consistent)
//            2  look for records that other threads have taken; if there is one, heavy fence
//            3  read every thread's second and, if that isn't 0, then first; if one is the handle, do step 3 again
//            later
//               (closing.h)
//            4  let go of the object
//   joiner   0  before a thread's first user 1: take a record (a sequentially consistent read-modify-write of `taken`,
//               or of the list's head for a new one)
//   leaver   5  after its last user 4: taken := false   (release)
//
// Why no object is used after it was let go of. Take a user that reaches step 3, so that user 2 read `plain` unchanged.
//
// Closer 2 saw its record taken. Somewhere between closer 1 and closer 3 the user's thread passes a full fence: call
// that point of its program F. Had F come before user 2, then user 2 would read what closer 1 wrote, and the user would
// give up. So F is after user 2 and hence after user 1 (the light fence keeps the compiler from having it otherwise),
// and closer 3 sees what user 1 wrote, `first` too, or what a later step of that thread wrote. If it is the handle, the
// closer comes back. If it is later: each thing that the thread writes after its use is a release or comes after one
// (user 4), so the use happened before closer 4. When the closer comes back, nothing has to be fenced again: whoever
// borrows from now on gives up, and whoever didn't was seen.
//
// Closer 2 didn't see its record taken. If that was because the thread was yet to join: closer 1, closer 2's reading,
// the joiner's step and user 2 are sequentially consistent and in this order, so user 2 sees the change and gives up.
// If it had left: its `taken := false` was read, and all its uses happened before. A record that another thread took
// meanwhile is as one just joined.
//
// The closer's own thread can be inside of a use too: in the user's code that a backend runs within one of its entries
// (a synchronize that runs host kernels itself). It sees its own record as it is.
//
// Several handles that were closed one after the other can share steps 2 and 3 (closing.h): closer 1 of each of them
// comes before the fence.
//
// A closer that finds a handle which is being tried in vain (user 2 gives up), or the `first` of an earlier call while
// the thread makes one with one handle, asks more often than it would have to, and nothing else.
//
// The same without light fences, for ThreadSanitizer: user 1 is an exchange. Then user 1, user 2, closer 1 and closer
// 3's reading of `second` have one order, being sequentially consistent. If user 2 saw `plain` unchanged then user 1 <
// user 2 < closer 1 < closer 3, and closer 3 reads what user 1 wrote or something later. Where the system has no
// membarrier no thread gets a record: all calls go the long way, which pins.
//
// Invariant: a thread has at most one Borrow at a time. Inside the user's code call_state.record is null, and nothing
// that the core does during a backend's entry borrows.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "asymmetric_fence.h"
#include "closing.h"
#include "process.h"

namespace anyplace::detail {

#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
inline constexpr bool borrows_by_exchange = true;
#else
inline constexpr bool borrows_by_exchange = false;
#endif

/// Slots that a thread keeps to make handles of one kind in: those that it gave back last. A thread that ends leaves
/// them with its record.
struct alignas(64) FreeSlots {
  static constexpr std::uint32_t most = 15;
  std::uint32_t count = 0;
  std::uint32_t indexes[most] = {};
};
inline constexpr std::size_t handle_kinds = 5;

/// What one thread is using right now. Never freed: a thread that ends leaves its record to the next one.
struct alignas(64) CallRecord {
  std::atomic<std::uint64_t> second{0};  ///< 0: the thread is in no such call
  std::atomic<std::uint64_t> first{0};
  // Room for the call that is under way, which the thread's stack would need more instructions for.
  std::int32_t done = 0;
  const std::atomic<bool>* faulted = nullptr;

  std::atomic<bool> taken{true};  ///< by a thread
  CallRecord* next = nullptr;     ///< set before others can see the record; never changes

  FreeSlots free_slots[handle_kinds];  ///< the thread's own alone; slots.h
  ClosedHandles closed;
};

/// For the length of one call of a backend's entry, with one handle or with two, of any kinds. Inlined everywhere, cold
/// branches too: else it would be an object in memory.
class Borrow {
 public:
  Borrow(CallRecord& record, std::uint64_t id) noexcept : record_(&record) { say(id); }
  Borrow(CallRecord& record, std::uint64_t first, std::uint64_t second) noexcept : record_(&record) {
    record.first.store(first, std::memory_order_release);
    say(second);
  }
  /// Goes on with one that has been handed over.
  struct HandedOver {};
  Borrow(CallRecord& record, HandedOver) noexcept : record_(&record) {}
  Borrow(const Borrow&) = delete;  // given back once
  Borrow& operator=(const Borrow&) = delete;
  [[gnu::always_inline]] ~Borrow() {
    if (record_ != nullptr) end();
  }
  /// Now instead of at the end of the scope, where it has to be before something else.
  [[gnu::always_inline]] void end() noexcept { hand_over().second.store(0, std::memory_order_release); }
  /// To a function that goes on with it, and ends it.
  [[gnu::always_inline]] CallRecord& hand_over() noexcept { return *std::exchange(record_, nullptr); }

 private:
  void say(std::uint64_t second) noexcept {
    if constexpr (borrows_by_exchange) {
      record_->second.exchange(second, std::memory_order_seq_cst);
    } else {
      record_->second.store(second, std::memory_order_release);
      light_fence();
    }
  }

  CallRecord* record_;  ///< null: ended
};

// -- The closer's, of one handle or of several at once (closing.h).
/// Step 2: whether a fence is needed.
bool others_may_borrow() noexcept;
/// Step 2: the fence. False if the system has stopped making them: then nothing may be let go of.
[[nodiscard]] inline bool fence_borrowers() noexcept { return borrows_by_exchange || heavy_fence(); }
/// The list of all records, for step 3. It only grows.
CallRecord* first_record() noexcept;

/// Gives the calling thread a record, from when on its calls go the short way; if there is no memory for one, they go
/// on without. Not in a callback, not in a forked child. Idempotent.
void join_short_calls() noexcept;

/// In the child of a fork. Locks nothing and allocates nothing.
void leave_short_calls() noexcept;

}  // namespace anyplace::detail
