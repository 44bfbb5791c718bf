// SPDX-License-Identifier: Apache-2.0
//
// A fence between two sides of which one passes often and the other seldom. Each side writes, fences, and reads what
// the other one writes; then at least one of them sees the other (borrow.h and allocator/bins.h say what for). The side
// that passes often has light_fence(), which only keeps the compiler from reordering; the other one has heavy_fence(),
// which makes every thread of the process that runs pass a full fence, by the system call membarrier: alone 70 ns, 2 us
// where other cores run threads of the process.
//
// Why that orders. The kernel has each running thread of the process execute a full fence between heavy_fence()'s begin
// and end; one that doesn't run then passes one when it is next scheduled, before its next instruction. Take the point
// of a thread's program where it passed it: what the thread wrote before it is seen by whoever reads after
// heavy_fence(), and what it reads after it is what was written before heavy_fence() or something later. A light fence
// is on one side of that point or on the other.
#pragma once

#include <atomic>

namespace anyplace::detail {

/// Registers the process for it, which is for good. False where the system has no membarrier, or the environment says
/// ANYPLACE_MEMBARRIER=0: then nobody may rely on light_fence(). Idempotent; the answer never changes.
bool have_asymmetric_fence() noexcept;

inline void light_fence() noexcept { std::atomic_signal_fence(std::memory_order_seq_cst); }

/// Only where have_asymmetric_fence(). False if the system refuses it now, as a filter of system calls that was set
/// later can have it do: then nobody was fenced.
[[nodiscard]] bool heavy_fence() noexcept;

}  // namespace anyplace::detail
