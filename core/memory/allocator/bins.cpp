// SPDX-License-Identifier: Apache-2.0
#include "memory/allocator/bins.h"

#include <atomic>
#include <thread>

#include "runtime/asymmetric_fence.h"

namespace anyplace::detail {

constinit Block no_block;
constinit Line no_line;

SizeBins::List* SizeBins::make(std::uint64_t size) noexcept {
  const std::size_t first = first_of(size);
  List* empty = nullptr;
  for (std::size_t i = 0; i < tries; ++i) {
    List& list = lists_[(first + i) % count];
    if (list.size == size) return &list;
    if (empty == nullptr && list.head == nullptr) empty = &list;
  }
  if (empty == nullptr) return nullptr;
  empty->size = size;
  empty->last = &no_block;
  return empty;
}

void SizeBins::forget() noexcept {
  for (std::size_t i = 0; i < count; ++i) lists_[i] = {0, nullptr, &no_block, std::uint64_t{1} << i};
}

// ---- Fences --------------------------------------------------------------------------------------------------------

namespace {

std::atomic<bool> fence_refused{false};

}  // namespace

bool owners_have_to_fence() noexcept {
  return !have_asymmetric_fence() || fence_refused.load(std::memory_order_relaxed);
}

bool fence_all_threads() noexcept {
  if (!fence_refused.load(std::memory_order_relaxed) && heavy_fence()) return true;
  fence_refused.store(true, std::memory_order_relaxed);
  return false;
}

void ThreadBins::wait_until_left() const noexcept {
  // The owner uses its bins for a few dozen instructions only, unless it is preempted there.
  while (busy_.load(std::memory_order_acquire)) std::this_thread::yield();
}

constinit thread_local BinsOfThread* bins_of_thread = nullptr;

}  // namespace anyplace::detail
