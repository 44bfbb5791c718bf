// SPDX-License-Identifier: Apache-2.0
//
// Deferred release: a closed handle's object is released once no hazard pointer names the handle (hazard_pointer.h).
//
// While other threads make calls, finding that out needs a fence on all of them. A thread that seldom closes a handle
// fences at once. A thread that closes many (programs create and destroy many events) collects them in a batch and
// fences once for all of them. The polling thread releases an unfinished batch within about a millisecond. So a thread
// interrupts the others a few thousand times a second at most, and the backend's object is destroyed about a
// millisecond late at most.
//
// Invariant: while a batch isn't empty, the polling thread's sweep over all batches is due.
#pragma once

#include <cstdint>
#include <mutex>

namespace anyplace::detail {

struct ClosedHandle {
  std::uint64_t id = 0;
  void* table = nullptr;
  void (*release)(void* table, std::uint64_t id) noexcept = nullptr;
};

/// The closed handles that one thread has collected. They lie beside its hazard pointers.
struct ClosedHandles {
  static constexpr std::uint32_t most = 32;

  std::mutex mutex;  // guards count and handles; a leaf
  std::uint32_t count = 0;
  ClosedHandle handles[most];

  // -- Only the owning thread uses these.
  static constexpr int fences_at_once = 16;
  std::int64_t tick = 0;   ///< the current tick of the system's coarse clock; one lasts some milliseconds
  int fences_in_tick = 0;  ///< fences that this thread made in the current tick
};

/// Releases the handle's object once no hazard pointer names the handle: now, or a little later. If handles of its kind
/// are closed `often`, this one may wait in a batch; not in virtual time, where a clock of the host's must not decide
/// who releases it.
void release_when_unused(const ClosedHandle& closed, bool often) noexcept;

/// Releases the handles in all batches that no hazard pointer names.
void release_all_unused() noexcept;

}  // namespace anyplace::detail
