// SPDX-License-Identifier: Apache-2.0
//
// Hazard pointers: a call keeps the objects of its handles alive without a locked instruction. A pin (slots.h) is
// counted, which costs two locked instructions for each handle, on a cache line that threads share. A hazard pointer is
// published by plain stores to memory that only the calling thread writes. The thread that closes a handle pays: it
// makes every thread pass a fence (asymmetric_fence.h). The technique is Michael's (2004), with the fence of Folly's
// hazptr.
//
// The protocol. A user is a thread in a call; a closer ends a handle.
//
//   user     1  second := handle       (a plain store, release; light fence)
//            2  read the slot's `plain`; if it isn't the handle, give up: step 4, and pin instead
//            3  use the object
//            4  second := 0            (release)
//   user  1 of a call with two handles is preceded by  first := the other handle  (a plain store, release)
//   closer   1  change the slot's `plain`   (an atomic read-modify-write, sequentially consistent)
//            2  look for threads that have joined; if there is one, heavy fence
//            3  read every thread's second and, if that isn't 0, then first; if one is the handle, do step 3 again
//               later (deferred_release.h)
//            4  release the object
//   joiner   0  before a thread's first user 1: take a ThreadHazards (a sequentially consistent read-modify-write of
//               `taken`, or of the list's head for a new one)
//   leaver   5  after its last user 4: taken := false   (release)
//
// Why no object is used after its release. Take a user that reaches step 3, so that user 2 read `plain` unchanged.
//
// Suppose that closer 2 saw the user's thread joined. Somewhere between closer 1 and closer 3 that thread passes a full
// fence: call that point of its program F. Had F come before user 2, then user 2 would read what closer 1 wrote, and
// the user would give up. So F is after user 2 and hence after user 1 (the light fence keeps the compiler from having
// it otherwise), and closer 3 sees what user 1 wrote, `first` too, or what a later step of that thread wrote. If it is
// the handle, the closer comes back. If it is later: each thing that the thread writes after its use is a release or
// comes after one (user 4), so the use happened before closer 4. When the closer comes back, nothing has to be fenced
// again: a user that publishes the handle from now on gives up, and one that published it earlier was seen.
//
// Suppose that closer 2 didn't see it joined. If the thread was yet to join: closer 1, closer 2's reading, the joiner's
// step and user 2 are sequentially consistent and in this order, so user 2 sees the change and gives up. If it had
// left: its `taken := false` was read, and all its uses happened before. A ThreadHazards that another thread took
// meanwhile is as one just joined.
//
// The closer's own thread can be inside of a use too: in the user's code that a backend runs within one of its entries
// (a synchronize that runs host kernels itself). It sees its own hazard pointers as they are.
//
// Several handles that were closed one after the other can share steps 2 and 3 (deferred_release.h): closer 1 of each
// of them comes before the fence.
//
// A closer can find the handle though nobody uses its object: a user has published it and is about to give up (user 2),
// or `first` is still that of an earlier call while the thread makes a call with one handle. The closer then asks again
// once more than needed, which does no harm.
//
// ThreadSanitizer doesn't know light fences: for it user 1 is an exchange. Then user 1, user 2, closer 1 and closer 3's
// reading of `second` have one order, being sequentially consistent. If user 2 saw `plain` unchanged then user 1 <
// user 2 < closer 1 < closer 3, and closer 3 reads what user 1 wrote or something later. Where the system has no
// membarrier no thread joins: all calls pin.
//
// Invariant: a thread has at most one call with hazard pointers at a time. Inside the user's code call_state.hazards is
// null, and nothing that the core does during a backend's entry publishes any.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "handles/deferred_release.h"
#include "runtime/asymmetric_fence.h"
#include "runtime/process.h"

namespace anyplace::detail {

#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
inline constexpr bool hazards_by_exchange = true;
#else
inline constexpr bool hazards_by_exchange = false;
#endif

/// Free slots of one kind that a thread keeps for its next handles: those that it freed last. When the thread ends, the
/// next thread that takes its ThreadHazards gets them.
struct alignas(64) FreeSlots {
  static constexpr std::uint32_t most = 15;
  std::uint32_t count = 0;
  std::uint32_t indexes[most] = {};
};
inline constexpr std::size_t handle_kinds = 5;

/// The handles that one thread is using right now. Never freed: when the thread ends, another thread takes the object
/// over.
struct alignas(64) ThreadHazards {
  std::atomic<std::uint64_t> second{0};  ///< 0: the thread is in no call with hazard pointers
  std::atomic<std::uint64_t> first{0};

  std::atomic<bool> taken{true};  ///< a thread has this object
  ThreadHazards* next = nullptr;  ///< set before others can see it; never changes

  FreeSlots free_slots[handle_kinds];  ///< only the owning thread uses them (slots.h)
  ClosedHandles closed;

  // -- The user's steps.
  [[gnu::always_inline]] void publish(std::uint64_t id) noexcept {
    if constexpr (hazards_by_exchange) {
      second.exchange(id, std::memory_order_seq_cst);
    } else {
      second.store(id, std::memory_order_release);
      light_fence();
    }
  }
  [[gnu::always_inline]] void publish(std::uint64_t first_id, std::uint64_t second_id) noexcept {
    first.store(first_id, std::memory_order_release);
    publish(second_id);
  }
  [[gnu::always_inline]] void clear() noexcept { second.store(0, std::memory_order_release); }
};

// -- The closer's steps, of one handle or of several at once (deferred_release.h).
/// Step 2: whether a fence is needed.
bool others_may_use() noexcept;
/// Step 2: the fence. False if the system has stopped making them: then nothing may be released.
[[nodiscard]] inline bool fence_users() noexcept { return hazards_by_exchange || heavy_fence(); }
/// The list of all threads' hazard pointers, for step 3. It only grows.
ThreadHazards* first_hazards() noexcept;

/// Gives the calling thread its hazard pointers; from then on its calls take the fast path. If there is no memory for
/// them, its calls go on pinning. Not called in a callback or in a forked child. Idempotent.
void join_fast_path() noexcept;

/// Takes the calling thread off the fast path: when it ends, and in the child of a fork. Locks nothing and allocates
/// nothing.
void leave_fast_path() noexcept;

}  // namespace anyplace::detail
