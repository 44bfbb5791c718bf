// SPDX-License-Identifier: Apache-2.0
//
// How a thread gets bins, and how the allocator takes them back.
#include <memory>
#include <new>
#include <utility>

#include "anyplace/backend/thread_sanitizer.h"
#include "memory/allocator/device_allocator_state.h"
#include "memory/allocator/fast_path.h"
#include "runtime/layer_notes.h"
#include "runtime/process.h"
#include "runtime/thread_end.h"

namespace anyplace::detail {

bool DeviceAllocator::free_in_line(ThreadBins& bins, Line& line, std::uint64_t address, std::uint64_t bytes) noexcept {
  Block* const block = line.heap->find_near(address);
  bool done = false;
  if (block != nullptr && block->out.load(std::memory_order_relaxed) == address && block->requested == bytes &&
      block->stream == line.stream) {
    SizeBins::List* const list = line.bins[line.side_of(bytes)].find_or_make(rounded_size(bytes));
    done = list != nullptr && put_into(bins, line, *list, block);
  }
  bins.leave();
  return done;
}

ThreadBins* DeviceAllocator::State::bins_here() noexcept {
  if (ThreadBins* const bins = own_bins(number)) return bins;
  // Layers hear of memory on the slow path alone.
  if (number == max_binned_devices || !config->bins || closed || layers_listen()) return nullptr;
  BinsOfThread* const table = make_bins_of_thread();
  if (table == nullptr) return nullptr;
  ThreadBins* bins = all_bins;
  while (bins != nullptr && bins->taken) bins = bins->next;
  if (bins == nullptr) {
    bins = new (std::nothrow) ThreadBins;
    if (bins == nullptr) return nullptr;
    if (bins_off) bins->bar(ThreadBins::off);
    bins->next = all_bins;
    all_bins = bins;
  }
  bins->taken = true;
  bins->owner_fences = owners_have_to_fence();
  table->of_device[number] = bins;
  table->allocators[number] = device.allocator;
  return bins;
}

void DeviceAllocator::thread_ends(ThreadBins& bins) noexcept {
  const std::lock_guard lock(state_->mutex);
  state_->look_at_counters();
  bins.counters.move_to(state_->stats);
  bins.for_each_line([&](Line& line) {
    state_->drain(line);
    line.stream = 0;
  });
  bins.unbar(ThreadBins::unfenced);
  bins.taken = false;
}

/// Called by the owner after a fence was refused. It does with its bins what other threads couldn't do meanwhile.
void DeviceAllocator::State::reclaim(ThreadBins& own) noexcept {
  own.for_each_line([&](Line& line) {
    drain(line);
    line.stream = 0;
  });
  own.owner_fences = true;
  own.unbar(ThreadBins::unfenced);
}

bool DeviceAllocator::State::any_unfenced() const noexcept {
  for (const ThreadBins* bins = all_bins; bins != nullptr; bins = bins->next) {
    if (bins->is_unfenced()) return true;
  }
  return false;
}

void DeviceAllocator::State::drain(Line& line, bool small) noexcept {
  line.bins[small ? 1 : 0].drain([&](Block* block) { give(block); });
}

void DeviceAllocator::State::drain(Line& line) noexcept {
  drain(line, false);
  drain(line, true);
}

void DeviceAllocator::State::count_large(const ArenaKey& key, std::uint64_t requested) noexcept {
  if (key.small) return;
  ThreadBins* const bins = own_bins(number);
  Line* const line = bins == nullptr ? nullptr : bins->find(key.stream, key.pool);
  if (line != nullptr && !line->count_large(rounded_size(requested))) drain(*line, false);
}

void DeviceAllocator::State::file_line(ArenaKey key, const Arena& arena) noexcept {
  ThreadBins* const bins = bins_here();
  if (bins == nullptr || bins->barred()) return;
  // Oversize blocks are counted where the heap hands them out.
  if (!key.small && stats.max_split_size >= 0) return;
  Line* line = bins->find(key.stream, key.pool);
  if (line == nullptr) line = bins->make(key.stream, key.pool, *memory.heap, [&](Line& old) { drain(old); });
  if (line != nullptr) line->arenas[key.small ? 1 : 0] = &arena;
}

void DeviceAllocator::State::set_bins_off() noexcept {
  const bool off = !config->bins || history.on() || closed;
  if (off == bins_off) return;
  bins_off = off;
  for (ThreadBins* bins = all_bins; bins != nullptr; bins = bins->next) {
    if (off) {
      bins->bar(ThreadBins::off);
    } else {
      bins->unbar(ThreadBins::off);
    }
  }
}

Revocation::Revocation(DeviceAllocator::State& state, Bins contents) noexcept : state_(state) {
  const ThreadBins* const own = own_bins(state.number);
  const auto needs_fence = [own](const ThreadBins& bins) {
    return bins.taken && &bins != own && !bins.owner_fences && !bins.is_unfenced();
  };
  bool any = false;
  for (ThreadBins* bins = state.all_bins; bins != nullptr; bins = bins->next) {
    bins->bar(ThreadBins::revoking);
    any = any || needs_fence(*bins);
  }
  std::atomic_thread_fence(std::memory_order_seq_cst);
  const bool refused = any && !fence_all_threads();
  for (ThreadBins* bins = state.all_bins; bins != nullptr; bins = bins->next) {
    if (refused && needs_fence(*bins)) bins->bar(ThreadBins::unfenced);
    if (bins != own && !bins->is_unfenced()) bins->wait_until_left();
  }
  state.look_at_counters();
  for (ThreadBins* bins = state.all_bins; bins != nullptr; bins = bins->next) {
    if (bins->is_unfenced()) continue;
    bins->counters.move_to(state.stats);
    if (contents == Bins::left_alone) continue;
    bins->for_each_line([&](Line& line) {
      found_any_ = found_any_ || !line.bins[0].empty() || !line.bins[1].empty();
      state.drain(line);
    });
  }
}

Revocation::~Revocation() {
  for (ThreadBins* bins = state_.all_bins; bins != nullptr; bins = bins->next) bins->unbar(ThreadBins::revoking);
}

// ---- The thread's bins ---------------------------------------------------------------------------------------------

namespace {

void give_bins_back() noexcept {
  const std::unique_ptr<BinsOfThread> bins(std::exchange(bins_of_thread, nullptr));
  // In a child of a fork, or while the process is exiting, the bins stay as they are.
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
