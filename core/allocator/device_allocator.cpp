// SPDX-License-Identifier: Apache-2.0
//
// Handing out and taking back; and how an allocator begins and ends.
#include "device_allocator.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "config.h"
#include "current_pool.h"
#include "deferred_free.h"
#include "device_allocator_state.h"
#include "memory_state.h"
#include "pressure.h"
#include "request.h"
#include "service.h"
#include "short_way.h"
#include "stream_state.h"
#include "table_source.h"

namespace anyplace::detail {

// ---- The source ----------------------------------------------------------------------------------------------------
// Giving back may report an error to the user's handler, under the allocator's lock: a handler that calls anyplace is
// refused, as those that backends call are.

SourceResult GuardedSource::allocate(std::uint64_t bytes, anyplace_address* address) noexcept {
  return abandoned_ ? SourceResult::out_of_memory : source_->allocate(bytes, address);
}
void GuardedSource::free(anyplace_address address, std::uint64_t bytes) noexcept {
  const CallbackScope scope;
  if (!abandoned_) source_->free(address, bytes);
}
SourceResult GuardedSource::reserve(std::uint64_t bytes, anyplace_address* address) noexcept {
  return abandoned_ ? SourceResult::out_of_memory : source_->reserve(bytes, address);
}
void GuardedSource::release(anyplace_address address, std::uint64_t bytes) noexcept {
  const CallbackScope scope;
  if (!abandoned_) source_->release(address, bytes);
}
SourceResult GuardedSource::create(std::uint64_t bytes, anyplace_physical* physical) noexcept {
  return abandoned_ ? SourceResult::out_of_memory : source_->create(bytes, physical);
}
void GuardedSource::destroy(anyplace_physical physical) noexcept {
  const CallbackScope scope;
  if (!abandoned_) source_->destroy(physical);
}
SourceResult GuardedSource::map(anyplace_address address, anyplace_physical physical) noexcept {
  return abandoned_ ? SourceResult::out_of_memory : source_->map(address, physical);
}
bool GuardedSource::unmap(anyplace_address address, std::uint64_t bytes) noexcept {
  const CallbackScope scope;
  return abandoned_ || source_->unmap(address, bytes);
}

// ---- Beginning -----------------------------------------------------------------------------------------------------
namespace {

std::atomic<std::size_t> devices_made{0};

}  // namespace

DeviceAllocator* make_device_allocator(DeviceState& device) { return new DeviceAllocator(device); }

DeviceAllocator::DeviceAllocator(DeviceState& device)
    : state_(new State(device)),
      number_(std::min(devices_made.fetch_add(1, std::memory_order_relaxed), max_binned_devices)) {
  state_->number = number_;
}

void DeviceAllocator::configure(const AllocatorConfig& config, const char* operation) {
  // The text is what says which configurations there are.
  const AllocatorConfig checked = AllocatorConfig::parse(config.to_string());
  const std::lock_guard lock(state_->mutex);
  if (mode_.load(std::memory_order_relaxed) != Mode::open) {
    fail(ErrorCode::not_permitted, state_->device.place, operation,
         "the device's allocator is in use: configure it before the first allocation");
  }
  state_->config = checked;
}

AllocatorConfig DeviceAllocator::config() const {
  {
    const std::lock_guard lock(state_->mutex);
    if (state_->config) return *state_->config;
  }
  return environment_config(state_->device, "allocator_config");
}

bool DeviceAllocator::fix_config(const char* operation) {
  const std::lock_guard lock(state_->mutex);
  if (mode_.load(std::memory_order_relaxed) == Mode::open) {
    if (!state_->config) state_->config = environment_config(state_->device, operation);
    constexpr std::uint64_t default_entries = 100'000;
    if (state_->config->history) state_->history.start(default_entries);
    if (state_->config->limit_bytes) state_->limit = std::min(state_->limit, *state_->config->limit_bytes);
    if (state_->config->max_split_bytes) {
      state_->stats.max_split_size = static_cast<std::int64_t>(*state_->config->max_split_bytes);
    }
    state_->set_bins_off();
    mode_.store(state_->config->caching ? Mode::caching : Mode::raw, std::memory_order_release);
  }
  return mode_.load(std::memory_order_relaxed) == Mode::caching;
}

Heap& DeviceAllocator::State::open_heap(const AllocatorConfig& from) {
  if (memory.heap != nullptr) return *memory.heap;
  HeapOptions options;
  options.virtual_memory = from.segments != SegmentKind::classic;
  options.limit = limit;
  options.max_split_bytes = from.max_split_bytes.value_or(UINT64_MAX);
  HeapOnSource made;
  made.source = std::make_unique<GuardedSource>(make_table_source(device));
  made.heap = std::make_unique<Heap>(*made.source, *this, stats, options);
  for (const auto& [id, pool] : pools) {
    if (pool.limit != UINT64_MAX) made.heap->set_pool_limit(id, pool.limit);
  }
  memory = std::move(made);
  return *memory.heap;
}

// ---- Handing out ---------------------------------------------------------------------------------------------------

Block* DeviceAllocator::allocate(StreamState& stream, std::uint64_t pool, std::uint64_t bytes, const char* operation) {
  DeviceState& device = state_->device;
  require_usable(device, operation);
  if (stream.device != &device) {
    fail(ErrorCode::invalid_argument, device.place, operation,
         fmt::format("the stream is of {}: memory of {} is allocated in the order of a stream of its own",
                     stream.device->place, device.place));
  }
  if (in_pressure_callback(device)) {
    fail(ErrorCode::not_permitted, device.place, operation,
         "a pressure callback is called because this device is short of memory: it may free, not allocate there");
  }
  static_cast<void>(caching(operation));  // from now on the configuration is fixed
  if (bytes > INT64_MAX) {
    std::unique_lock lock(state_->mutex);
    leave_message(0, nullptr, "no device has that much memory; is the size a negative number?");
    state_->throw_out_of_memory(lock, pool, bytes, operation);
  }
  return Request(*state_, stream, pool, bytes, operation).serve();
}

void DeviceAllocator::State::throw_out_of_memory(std::unique_lock<std::mutex>& lock, std::uint64_t pool,
                                                 std::uint64_t bytes, const char* operation) {
  const auto current = [&](StatKind kind) { return static_cast<std::uint64_t>(stats.at(kind, StatPool::all).current); };
  MemoryFigures figures;
  figures.requested = bytes;
  {
    const Revocation revocation(*this);
    ++stats.num_ooms;
    figures.cached = current(StatKind::reserved_bytes) - current(StatKind::active_bytes);
    figures.in_use = current(StatKind::allocated_bytes) + device.bytes_in_use.load(std::memory_order_relaxed);
  }
  std::uint64_t at_most = limit;
  const auto of = pools.find(pool);
  if (of != pools.end()) at_most = std::min(at_most, of->second.limit);
  if (at_most != UINT64_MAX) figures.limit = at_most;
  const bool pool_limit = of != pools.end() && of->second.limit == at_most && at_most != UINT64_MAX;
  lock.unlock();
  Error error =
      out_of_memory_error(device, figures, pool_limit ? "the memory pool's limit is reached" : nullptr, operation);
  lock.lock();
  if (history.on()) {
    const std::uint64_t free_bytes = error.memory() ? error.memory()->free.value_or(UINT64_MAX) : UINT64_MAX;
    history.add({TraceAction::oom, free_bytes, bytes, 0, 0, pool});
  }
  lock.unlock();
  throw Error(std::move(error));
}

// ---- Taking back ---------------------------------------------------------------------------------------------------

void DeviceAllocator::free(Block* block) noexcept {
  if (free_quickly(current_pool(state_->device), block)) return;
  const std::lock_guard lock(state_->mutex);
  state_->look_at_counters();
  state_->free(block);
}

void DeviceAllocator::begin_free(Block* block) noexcept {
  const std::lock_guard lock(state_->mutex);
  state_->look_at_counters();
  state_->book_free_request(block);
}

void DeviceAllocator::finish_free(Block* block) noexcept {
  const std::lock_guard lock(state_->mutex);
  state_->look_at_counters();
  state_->complete(block);
}

void DeviceAllocator::State::free(Block* block) noexcept {
  count_large(heap_of(block).key_of(*block->arena), block->requested);
  book_free_request(block);
  complete(block);
}

Heap& DeviceAllocator::State::heap_of(const Block* block) noexcept {
  for (const HeapOnSource& old : abandoned) {
    if (old.heap->find(block->address) == block) return *old.heap;
  }
  return *memory.heap;
}

void DeviceAllocator::State::give(Block* block) noexcept {
  Heap& heap = heap_of(block);
  const std::uint64_t owner = heap.key_of(*block->arena).stream;
  heap.give(block);
  work.given(owner);
  if (&heap != memory.heap.get()) static_cast<void>(heap.release_free());  // what was reset isn't kept
}

/// Of a lent block the lender mustn't have it before the borrower's work is done.
void DeviceAllocator::State::complete(Block* block) noexcept {
  const std::uint64_t borrower = block->stream;
  if (heap_of(block).key_of(*block->arena).stream != borrower) {
    work.given(borrower);
    if (!work.idle(borrower)) {
      try {
        returning.push_back({block, work.mark(borrower)});
        return;
      } catch (const std::exception&) {
        // No memory to remember it by. It stays pending for good: better than in two hands.
        return;
      }
    }
  }
  book_free_completion(block);
  give(block);
}

void DeviceAllocator::settle() noexcept {
  const std::lock_guard lock(state_->mutex);
  if (state_->memory.heap == nullptr || state_->closed) return;
  state_->look_at_counters();
  state_->settle_streams(SIZE_MAX);
}

void DeviceAllocator::State::settle_streams(std::size_t budget) noexcept {
  for (std::size_t left = std::min(returning.size(), budget); left > 0; --left) {
    Returning entry = std::move(returning.front());
    returning.pop_front();
    const bool over = entry.behind != nullptr ? work.is_complete(*entry.behind) : work.idle(entry.block->stream);
    if (!over) {
      returning.push_back(std::move(entry));  // in the room that it just left
      continue;
    }
    if (entry.behind != nullptr) give_event(std::move(entry.behind));
    book_free_completion(entry.block);
    give(entry.block);
  }
  try {
    for (const std::uint64_t stream : work.take_over()) end_arenas(stream);
  } catch (const std::exception&) {
    // No memory to list them: the next call does it.
  }
}

/// A stream's arenas go; what leads to them goes first.
void DeviceAllocator::State::end_arenas(std::uint64_t stream) noexcept {
  {
    const Revocation revocation(*this);
    for (ThreadBins* bins = all_bins; bins != nullptr; bins = bins->next) {
      bins->for_each_line([&](Line& line) {
        if (line.stream == stream) line.stream = 0;
      });
    }
  }
  if (memory.heap != nullptr) memory.heap->orphan(stream);
}

Block* DeviceAllocator::taken_at(std::uint64_t address, const char* operation) {
  const std::lock_guard lock(state_->mutex);
  return state_->taken_at(address, operation);
}

Block* DeviceAllocator::State::taken_at(std::uint64_t address, const char* operation) const {
  const auto refuse = [&](std::string text) {
    fail(ErrorCode::invalid_argument, device.place, operation, std::move(text));
  };
  const auto look_in = [&](const HeapOnSource& in) -> Block* {
    return in.heap == nullptr ? nullptr : in.heap->find(address);
  };
  Block* block = look_in(memory);
  for (const HeapOnSource& old : abandoned) {
    if (block == nullptr) block = look_in(old);
  }
  if (block != nullptr && block->out.load(std::memory_order_relaxed) == address) return block;
  const Block* const around = memory.heap == nullptr ? nullptr : memory.heap->find_around(address);
  const BlockUse use = around == nullptr ? BlockUse::none : around->use.load(std::memory_order_relaxed);
  if (block != nullptr || use == BlockUse::free || use == BlockUse::spoilt) {
    refuse(fmt::format("the memory at {:#x} is free: it was given back already", address));
  }
  if (around == nullptr) {
    refuse(fmt::format("the address {:#x} is none that the caching allocator of {} gave out", address, device.place));
  }
  refuse(fmt::format("the address {:#x} lies {} bytes inside an allocation, which begins at {:#x}", address,
                     address - around->address, around->address));
  return nullptr;
}

void DeviceAllocator::deallocate(std::uint64_t stream_id, std::uint64_t address, std::uint64_t bytes,
                                 const char* operation) {
  const std::lock_guard lock(state_->mutex);
  Block* const block = state_->taken_at(address, operation);
  if (block->requested != bytes) {
    fail(ErrorCode::invalid_argument, state_->device.place, operation,
         fmt::format("the memory at {:#x} was allocated with {} bytes, not {}", address, block->requested, bytes));
  }
  if (block->stream != stream_id) {
    fail(ErrorCode::invalid_argument, state_->device.place, operation,
         fmt::format("the memory at {:#x} was allocated on another stream: give it back there", address));
  }
  state_->look_at_counters();
  state_->free(block);
}

// ---- Ends ----------------------------------------------------------------------------------------------------------

void DeviceAllocator::stream_ends(StreamState& stream) noexcept {
  const std::lock_guard lock(state_->mutex);
  if (!state_->closed) state_->work.ends(stream);
}

void DeviceAllocator::device_resets() noexcept {
  const std::lock_guard lock(state_->mutex);
  if (state_->memory.heap == nullptr) return;
  {
    const Revocation revocation(*state_);
    for (ThreadBins* bins = state_->all_bins; bins != nullptr; bins = bins->next) {
      bins->for_each_line([](Line& line) { line.stream = 0; });
    }
  }
  static_cast<void>(state_->memory.heap->release_free());
  state_->memory.source->abandon();
  while (!state_->returning.empty()) {
    Returning entry = std::move(state_->returning.front());
    state_->returning.pop_front();
    if (entry.behind != nullptr) give_event(std::move(entry.behind));
    state_->book_free_completion(entry.block);
    state_->give(entry.block);
  }
  state_->work.drop_events();
  state_->work.forget_all();
  static_cast<void>(state_->memory.heap->release_free());
  try {
    state_->abandoned.push_back(std::move(state_->memory));
  } catch (const std::exception&) {
    return;  // then it stays in use, and gives nothing any more
  }
}

void DeviceAllocator::shut_down() noexcept {
  const std::lock_guard lock(state_->mutex);
  state_->closed = true;
  if (state_->config) state_->set_bins_off();
  if (state_->memory.heap == nullptr) return;
  { const Revocation revocation(*state_); }
  state_->settle_streams();
  // What is still handed out stays: whoever has it may still be at it.
  if (state_->stats.at(StatKind::active, StatPool::all).current == 0) {
    state_->memory.close();
  } else {
    static_cast<void>(state_->memory.heap->release_free());
  }
  state_->returning.clear();
  state_->work.drop_events();
}

}  // namespace anyplace::detail
