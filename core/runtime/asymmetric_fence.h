// SPDX-License-Identifier: Apache-2.0
//
// An asymmetric fence: a fence between two sides of which one passes often and the other seldom. Each side writes,
// fences, and reads what the other side writes; then at least one of them sees the other's write
// (handles/hazard_pointer.h and memory/allocator/bins.h use it). The frequent side has light_fence(), which only keeps
// the compiler from reordering. The rare side has heavy_fence(), which makes every running thread of the process pass a
// full fence, by the system call membarrier. That takes 70 ns where no other thread of the process runs, and 2 us where
// other cores run some.
//
// Why that orders. The kernel has each running thread of the process execute a full fence between heavy_fence()'s begin
// and end; one that doesn't run then passes one when it is next scheduled, before its next instruction. Take the point
// of a thread's program where it passed it: what the thread wrote before it is seen by a thread that reads after
// heavy_fence(), and what it reads after it is what was written before heavy_fence() or something later. A light fence
// lies before that point or after it.
#pragma once

#include <atomic>

namespace anyplace::detail {

/// Registers the process with membarrier, for good. False where the system has no membarrier, or the environment says
/// ANYPLACE_MEMBARRIER=0: then nobody may rely on light_fence(). Idempotent; the answer never changes.
bool have_asymmetric_fence() noexcept;

inline void light_fence() noexcept { std::atomic_signal_fence(std::memory_order_seq_cst); }

/// Called only where have_asymmetric_fence() is true. False if the system refuses it now (a filter of system calls that
/// was set later can do that): then no thread was fenced.
[[nodiscard]] bool heavy_fence() noexcept;

}  // namespace anyplace::detail
