// SPDX-License-Identifier: Apache-2.0
#include "bins.h"

#include <memory>
#include <new>
#include <thread>

#include "asymmetric_fence.h"
#include "device_allocator.h"
#include "process.h"

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

void choose_fences() noexcept {
  static const bool chosen = [] {
    ThreadBins::owner_fences_ = !have_asymmetric_fence();
    return true;
  }();
  static_cast<void>(chosen);
}

void fence_all_threads() noexcept {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (have_asymmetric_fence()) static_cast<void>(heavy_fence());  // else the owners fence themselves
}

void ThreadBins::wait_until_left() const noexcept {
  // A few dozen instructions, unless the thread was interrupted in them.
  while (busy_.load(std::memory_order_acquire)) std::this_thread::yield();
}

// ---- The thread's --------------------------------------------------------------------------------------------------

constinit thread_local BinsOfThread* bins_of_thread = nullptr;

namespace {

constinit thread_local bool thread_ended = false;

struct Owner {
  std::unique_ptr<BinsOfThread> bins;

  Owner() = default;
  Owner(const Owner&) = delete;  // given back once
  Owner& operator=(const Owner&) = delete;
  ~Owner() {
    thread_ended = true;
    bins_of_thread = nullptr;
    // In a child of a fork or in a process that is exiting they are left as they are.
    if (!process_running() || bins == nullptr) return;
    for (std::size_t i = 0; i < max_binned_devices; ++i) {
      if (bins->of_device[i] != nullptr) bins->allocators[i]->thread_ends(*bins->of_device[i]);
    }
  }
};

}  // namespace

BinsOfThread* make_bins_of_thread() noexcept {
  if (bins_of_thread != nullptr || thread_ended) return bins_of_thread;
  static thread_local Owner owner;
  if (owner.bins == nullptr) owner.bins.reset(new (std::nothrow) BinsOfThread);
  bins_of_thread = owner.bins.get();
  return bins_of_thread;
}

}  // namespace anyplace::detail
