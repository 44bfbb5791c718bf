// SPDX-License-Identifier: Apache-2.0
//
// The short way through a thread's bins, and the bins' life: how a thread gets them, how the allocator takes them back.
#include <new>

#include "current_pool.h"
#include "device_allocator_state.h"
#include "stream_state.h"

namespace anyplace::detail {
namespace {

/// Whether the handle is open, its device works, the process goes on, and nothing is held back on the stream (slots.h);
/// and whether the thread may call at all (borrow.h).
inline bool may_go_quickly(std::uint64_t stream_id) noexcept {
  return call_state.record != nullptr && SlotTable<StreamState>::borrow(stream_id).is(stream_id);
}

/// Into the bin of the thread's line. False if there is none for it.
inline bool put(ThreadBins& bins, Line& line, Block& block) noexcept {
  const std::uint64_t requested = block.requested;
  if (line.arenas[block.small ? 1 : 0] != block.arena) return false;
  if (!line.bins[block.small ? 1 : 0].push(rounded_size(requested), &block)) return false;
  block.use.store(BlockUse::binned, std::memory_order_relaxed);
  bins.counters.freed(block.small, block.bytes, requested);
  return true;
}

}  // namespace

Block* DeviceAllocator::allocate_quickly(std::uint64_t stream_id, std::uint64_t pool, std::uint64_t bytes) noexcept {
  ThreadBins* const bins = own_bins(number_);
  if (bins == nullptr || !may_go_quickly(stream_id) || !bins->enter()) [[unlikely]]
    return nullptr;
  Block* block = nullptr;
  if (Line* const line = bins->find(stream_id, pool)) [[likely]] {
    const std::uint64_t size = rounded_size(bytes);
    const bool small = bytes <= small_limit;
    block = line->bins[small ? 1 : 0].pop(size);
    if (block != nullptr) [[likely]] {
      block->requested = bytes;
      block->use.store(BlockUse::taken, std::memory_order_relaxed);
      bins->counters.allocated(small, block->bytes, bytes);
    }
  }
  bins->leave();
  return block;
}

bool DeviceAllocator::free_quickly(std::uint64_t stream_id, std::uint64_t pool, std::uint64_t address,
                                   std::uint64_t bytes) noexcept {
  ThreadBins* const bins = own_bins(number_);
  if (bins == nullptr || !may_go_quickly(stream_id) || !bins->enter()) [[unlikely]]
    return false;
  bool done = false;
  if (Line* const line = bins->find(stream_id, pool)) [[likely]] {
    Block* const block = line->heap->find(address);
    if (block != nullptr && block->use.load(std::memory_order_relaxed) == BlockUse::taken && block->requested == bytes)
      [[likely]] {
      done = put(*bins, *line, *block);
    }
  }
  bins->leave();
  return done;
}

bool DeviceAllocator::free_quickly(Block* block) noexcept {
  ThreadBins* const bins = own_bins(number_);
  const std::uint64_t stream_id = block->stream;
  if (bins == nullptr || !may_go_quickly(stream_id) || !bins->enter()) [[unlikely]]
    return false;
  // The pool isn't known here without following the arena; the line of the common one is tried.
  Line* const line = bins->find(stream_id, 0);
  const bool done = line != nullptr && put(*bins, *line, *block);
  bins->leave();
  return done;
}

std::uint64_t DeviceAllocator::allocate_at(std::uint64_t stream_id, std::uint64_t pool, std::uint64_t bytes,
                                           const char* operation) {
  if (const Block* const block = allocate_quickly(stream_id, pool, bytes)) [[likely]]
    return block->address;
  enter_long_way(operation);
  const Pin<StreamState> stream = streams().pin(stream_id, operation);
  return bytes == 0 ? 0 : allocate(*stream, pool, bytes, operation)->address;
}

void DeviceAllocator::free_at(std::uint64_t stream_id, std::uint64_t address, std::uint64_t bytes,
                              const char* operation) {
  if (free_quickly(stream_id, current_pool(state_->device), address, bytes)) [[likely]]
    return;
  enter_long_way(operation);
  if (address != 0 || bytes != 0) deallocate(stream_id, address, bytes, operation);
}

// ---- The bins' life ------------------------------------------------------------------------------------------------

ThreadBins* DeviceAllocator::State::bins_here() noexcept {
  if (ThreadBins* const bins = own_bins(number)) return bins;
  if (number >= max_binned_devices || !config->bins || closed) return nullptr;
  BinsOfThread* const table = make_bins_of_thread();
  if (table == nullptr) return nullptr;
  ThreadBins* bins = all_bins;
  while (bins != nullptr && bins->taken) bins = bins->next;
  if (bins == nullptr) {
    choose_fences();
    bins = new (std::nothrow) ThreadBins;
    if (bins == nullptr) return nullptr;
    if (bins_off) bins->bar(ThreadBins::off);
    bins->next = all_bins;
    all_bins = bins;
  }
  bins->taken = true;
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
  bins.taken = false;
}

void DeviceAllocator::State::drain(Line& line, bool small) noexcept {
  line.bins[small ? 1 : 0].drain([&](Block* block) { give(block); });
}

void DeviceAllocator::State::drain(Line& line) noexcept {
  drain(line, false);
  drain(line, true);
}

void DeviceAllocator::State::file_line(ArenaKey key, const Arena& arena) noexcept {
  ThreadBins* const bins = bins_here();
  if (bins == nullptr || bins->barred()) return;
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

Revocation::Revocation(DeviceAllocator::State& state) noexcept : state_(state) {
  ThreadBins* const own = own_bins(state.number);
  bool others = false;
  for (ThreadBins* bins = state.all_bins; bins != nullptr; bins = bins->next) {
    bins->bar(ThreadBins::revoking);
    others = others || (bins->taken && bins != own);
  }
  if (others) {
    fence_all_threads();
    for (ThreadBins* bins = state.all_bins; bins != nullptr; bins = bins->next) bins->wait_until_left();
  }
  state.look_at_counters();
  for (ThreadBins* bins = state.all_bins; bins != nullptr; bins = bins->next) {
    bins->counters.move_to(state.stats);
    bins->for_each_line([&](Line& line) {
      found_any_ = found_any_ || !line.bins[0].empty() || !line.bins[1].empty();
      state.drain(line);
    });
  }
}

Revocation::~Revocation() {
  for (ThreadBins* bins = state_.all_bins; bins != nullptr; bins = bins->next) bins->unbar(ThreadBins::revoking);
}

}  // namespace anyplace::detail
