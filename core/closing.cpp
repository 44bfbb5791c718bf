// SPDX-License-Identifier: Apache-2.0
#include "closing.h"

#include <time.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <span>
#include <utility>

#include "borrow.h"
#include "service.h"

namespace anyplace::detail {
namespace {

using Batch = std::span<const ClosedHandle>;

/// The closer's step 3, of up to 32 handles: a bit for each that is borrowed. Every record is looked at once.
std::uint32_t borrowed_of(Batch batch) noexcept {
  std::uint32_t borrowed = 0;
  for (const CallRecord* record = first_record(); record != nullptr; record = record->next) {
    const std::uint64_t second = record->second.load(std::memory_order_seq_cst);
    if (second == 0) continue;
    const std::uint64_t first = record->first.load(std::memory_order_acquire);
    for (std::size_t i = 0; i < batch.size(); ++i) {
      if (batch[i].id == second || batch[i].id == first) borrowed |= 1u << i;
    }
  }
  return borrowed;
}

/// The closer's steps 3 and 4, behind the fence.
void let_go_or_ask_again(Batch batch) noexcept {
  const std::uint32_t borrowed = borrowed_of(batch);
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const ClosedHandle closed = batch[i];
    if ((borrowed >> i & 1) == 0) {
      closed.let_go(closed.table, closed.id);
      continue;
    }
    poll_in_service([closed] {
      if (borrowed_of({&closed, 1}) != 0) return false;
      closed.let_go(closed.table, closed.id);
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

/// Takes what is in a batch out of it. Returns how many.
std::uint32_t take_batch(ClosedHandles& from, ClosedHandle (&to)[ClosedHandles::most]) noexcept {
  const std::lock_guard lock(from.mutex);
  std::copy_n(from.handles, from.count, to);
  return std::exchange(from.count, 0);
}

/// False if there was nothing to let go of.
bool let_go_of_batch(ClosedHandles& batch) noexcept {
  ClosedHandle taken[ClosedHandles::most];
  const std::uint32_t count = take_batch(batch, taken);
  if (count == 0) return false;
  if (others_may_borrow() && !fence_borrowers()) return true;  // left alone for good: somebody may be using them
  let_go_or_ask_again({taken, count});
  return true;
}

bool let_go_of_all_batches() noexcept {
  bool any = false;
  for (CallRecord* record = first_record(); record != nullptr; record = record->next) {
    any = let_go_of_batch(record->closed) || any;
  }
  return any;
}

constinit std::atomic<bool> sweep_is_due{false};

/// On the polling thread. Whether it is over.
bool sweep() noexcept {
  if (let_go_of_all_batches()) return false;
  sweep_is_due.store(false, std::memory_order_seq_cst);
  // Whoever put something into a batch since saw that the sweep is due and left it at that, or makes it due itself.
  if (!let_go_of_all_batches()) return true;
  return sweep_is_due.exchange(true, std::memory_order_seq_cst);
}

void make_sweep_due() noexcept {
  // What is in the batch was put there under its mutex, where the sweep looks after it has cleared this.
  if (sweep_is_due.load(std::memory_order_seq_cst)) return;
  if (!sweep_is_due.exchange(true, std::memory_order_seq_cst)) poll_in_service(sweep);
}

}  // namespace

void let_go_when_unused(const ClosedHandle& closed, bool often) noexcept {
  if (!others_may_borrow()) {
    let_go_or_ask_again({&closed, 1});
    return;
  }
  CallRecord* const own = call_state.joined;
  if (!often || own == nullptr || may_fence_at_once(own->closed)) {
    if (fence_borrowers()) let_go_or_ask_again({&closed, 1});
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
    let_go_of_batch(batch);
  } else {
    make_sweep_due();
  }
}

void let_go_of_all_unused() noexcept { let_go_of_all_batches(); }

}  // namespace anyplace::detail
