// SPDX-License-Identifier: Apache-2.0
#include "bins.h"

#include <atomic>
#include <memory>
#include <new>
#include <thread>
#include <utility>

#include "anyplace/backend/thread_sanitizer.h"
#include "asymmetric_fence.h"
#include "device_allocator.h"
#include "process.h"
#include "thread_end.h"

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
  // A few dozen instructions, unless the thread was interrupted in them.
  while (busy_.load(std::memory_order_acquire)) std::this_thread::yield();
}

// ---- The thread's --------------------------------------------------------------------------------------------------

constinit thread_local BinsOfThread* bins_of_thread = nullptr;

namespace {

void give_bins_back() noexcept {
  const std::unique_ptr<BinsOfThread> bins(std::exchange(bins_of_thread, nullptr));
  // In a child of a fork or in a process that is exiting they are left as they are.
  if (!process_running() || bins == nullptr) return;
  for (std::size_t i = 0; i < max_binned_devices; ++i) {
    if (bins->of_device[i] != nullptr) bins->allocators[i]->thread_ends(*bins->of_device[i]);
  }
}
constinit thread_local ThreadEndTask bins_end{give_bins_back};

}  // namespace

BinsOfThread* make_bins_of_thread() noexcept {
  // ThreadSanitizer can't see from outside how owners and revokers agree.
  if (bins_of_thread == nullptr && !backend::unseen_by_thread_sanitizer() && at_thread_end(bins_end)) {
    bins_of_thread = new (std::nothrow) BinsOfThread;
  }
  return bins_of_thread;
}

}  // namespace anyplace::detail
