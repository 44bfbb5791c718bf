// SPDX-License-Identifier: Apache-2.0
#include "handles/deferred_release.h"

#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <span>
#include <utility>

#include "handles/hazard_pointer.h"
#include "runtime/backend.h"
#include "runtime/service.h"

namespace anyplace::detail {
namespace {

using Batch = std::span<const ClosedHandle>;

/// Does step 3 of a closer (hazard_pointer.h) for up to 32 handles. Bit i is set if handle i is in use. Each thread's
/// hazard pointers are read once.
std::uint32_t used_of(Batch batch) noexcept {
  std::uint32_t used = 0;
  for (const ThreadHazards* thread = first_hazards(); thread != nullptr; thread = thread->next) {
    const std::uint64_t second = thread->second.load(std::memory_order_seq_cst);
    if (second == 0) continue;
    const std::uint64_t first = thread->first.load(std::memory_order_acquire);
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (batch[i].id == second || batch[i].id == first) used |= 1u << i;
    }
  }
  return used;
}

/// Does steps 3 and 4 of a closer (hazard_pointer.h). The caller has made the fence.
void release_or_ask_again(Batch batch) noexcept {
  const std::uint32_t used = used_of(batch);
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const ClosedHandle closed = batch[i];
    if ((used >> i & 1) == 0) {
      closed.release(closed.table, closed.id);
      continue;
    }
    poll_in_service([closed] {
      if (used_of({&closed, 1}) != 0) return false;
      closed.release(closed.table, closed.id);
      return true;
    });
  }
}

bool may_fence_at_once(ClosedHandles& own) noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  const std::int64_t tick = std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
  if (tick != own.tick) {
    own.tick = tick;
    own.fences_in_tick = 0;
  }
  return own.fences_in_tick++ < ClosedHandles::fences_at_once;
}

/// Moves the batch's handles to `to` and returns their number.
std::uint32_t take_batch(ClosedHandles& from, ClosedHandle (&to)[ClosedHandles::most]) noexcept {
  const std::lock_guard lock(from.mutex);
  std::copy_n(from.handles, from.count, to);
  return std::exchange(from.count, 0);
}

/// Releases the batch's handles. Returns false if it was empty.
bool release_batch(ClosedHandles& batch) noexcept {
  ClosedHandle taken[ClosedHandles::most];
  const std::uint32_t count = take_batch(batch, taken);
  if (count == 0) return false;
  // They are never released: without a fence, others may be using them.
  if (others_may_use() && !fence_users()) return true;
  release_or_ask_again({taken, count});
  return true;
}

bool release_all_batches() noexcept {
  bool any = false;
  for (ThreadHazards* thread = first_hazards(); thread != nullptr; thread = thread->next) {
    any = release_batch(thread->closed) || any;
  }
  return any;
}

constinit std::atomic<bool> sweep_is_due{false};

/// The polling thread's step. Returns true when nothing is left to release.
bool sweep() noexcept {
  if (release_all_batches()) return false;
  sweep_is_due.store(false, std::memory_order_seq_cst);
  // A thread that added a handle since then either saw the sweep still due, and relies on it, or makes it due itself.
  if (!release_all_batches()) return true;
  return sweep_is_due.exchange(true, std::memory_order_seq_cst);
}

void make_sweep_due() noexcept {
  // The caller added its handle under the batch's mutex. The sweep looks there again after it has cleared this flag.
  if (sweep_is_due.load(std::memory_order_seq_cst)) return;
  if (!sweep_is_due.exchange(true, std::memory_order_seq_cst)) poll_in_service(sweep);
}

}  // namespace

void release_when_unused(const ClosedHandle& closed, bool often) noexcept {
  if (!others_may_use()) {
    release_or_ask_again({&closed, 1});
    return;
  }
  ThreadHazards* const own = call_state.joined;
  if (!often || own == nullptr || any_in_virtual_time.load(std::memory_order_relaxed) ||
      may_fence_at_once(own->closed)) {
    if (fence_users()) release_or_ask_again({&closed, 1});
    return;
  }
  ClosedHandles& batch = own->closed;
  std::uint32_t count = 0;
  {
    const std::lock_guard lock(batch.mutex);
    batch.handles[batch.count] = closed;
    count = ++batch.count;
  }
  if (count == ClosedHandles::most) {
    release_batch(batch);
  } else {
    make_sweep_due();
  }
}

void release_all_unused() noexcept { release_all_batches(); }

}  // namespace anyplace::detail
