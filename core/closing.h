// SPDX-License-Identifier: Apache-2.0
//
// What is left to do for a handle that was closed: to make sure that nobody borrows it (borrow.h), and to let go of the
// object then.
//
// Where other threads make calls that takes a fence on all of them. A thread that closes a handle now and then fences
// at once. One that closes many, which events are made for, collects them, and fences once for a batch; what is left of
// a batch the polling thread takes within about a millisecond. So no thread is interrupted more than some thousand
// times a second by another one, and the backend gets to know of each end, late by a millisecond at most.
//
// Invariant: while a batch isn't empty, the sweep of the polling thread is due.
#pragma once

#include <cstdint>
#include <mutex>

namespace anyplace::detail {

struct ClosedHandle {
  std::uint64_t id = 0;
  void* table = nullptr;
  void (*let_go)(void* table, std::uint64_t id) noexcept = nullptr;
};

/// A thread's, in its record.
struct ClosedHandles {
  static constexpr std::uint32_t most = 32;

  std::mutex mutex;  // guards count and handles; a leaf
  std::uint32_t count = 0;
  ClosedHandle handles[most];

  // -- The thread's own alone.
  static constexpr int fences_at_once = 16;
  std::int64_t tick = 0;   ///< of the system's coarse clock, some milliseconds long
  int fences_in_tick = 0;  ///< how many this thread made at once
};

/// Lets go of it once nobody borrows it: now, or a little later. `often`: it is of a kind that ends often.
void let_go_when_unused(const ClosedHandle& closed, bool often) noexcept;

/// Goes through all batches now.
void let_go_of_all_unused() noexcept;

}  // namespace anyplace::detail
