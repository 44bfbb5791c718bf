// SPDX-License-Identifier: Apache-2.0
//
// How a device's allocator hands out and takes back memory, how it begins and how it ends.
#include "memory/allocator/device_allocator.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "memory/allocator/config.h"
#include "memory/allocator/device_allocator_state.h"
#include "memory/allocator/fast_path.h"
#include "memory/allocator/request.h"
#include "memory/allocator/table_source.h"
#include "memory/current_pool.h"
#include "memory/event_pool.h"
#include "memory/memory_state.h"
#include "memory/pressure.h"
#include "runtime/service.h"
#include "streams/stream_state.h"

namespace anyplace::detail {

// ---- The source ----------------------------------------------------------------------------------------------------
// Giving memory back may report an error to the user's handler under the allocator's lock. So calls of anyplace from
// that handler are refused, as they are from handlers that backends call.

SourceResult GuardedSource::allocate(std::uint64_t bytes, anyplace_address* address) noexcept {
  return abandoned_ ? SourceResult::out_of_memory : source_->allocate(bytes, address);
}
void GuardedSource::free(anyplace_address address, std::uint64_t bytes) noexcept {
  const CallbackScope scope;
  if (!is_abandoned()) source_->free(address, bytes);
}
SourceResult GuardedSource::reserve(std::uint64_t bytes, anyplace_address* address) noexcept {
  return abandoned_ ? SourceResult::out_of_memory : source_->reserve(bytes, address);
}
void GuardedSource::release(anyplace_address address, std::uint64_t bytes) noexcept {
  const CallbackScope scope;
  if (!is_abandoned()) source_->release(address, bytes);
}
SourceResult GuardedSource::create(std::uint64_t bytes, anyplace_physical* physical) noexcept {
  return abandoned_ ? SourceResult::out_of_memory : source_->create(bytes, physical);
}
void GuardedSource::destroy(anyplace_physical physical) noexcept {
  const CallbackScope scope;
  if (!is_abandoned()) source_->destroy(physical);
}
SourceResult GuardedSource::map_all(anyplace_address address, const anyplace_physical* physicals, std::uint64_t count,
                                    std::uint64_t* mapped) noexcept {
  *mapped = 0;
  return abandoned_ ? SourceResult::out_of_memory : source_->map_all(address, physicals, count, mapped);
}
bool GuardedSource::unmap(anyplace_address address, std::uint64_t bytes) noexcept {
  const CallbackScope scope;
  return is_abandoned() || source_->unmap(address, bytes);
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
  // Converting it to text and back checks the values as those of the environment are checked.
  const AllocatorConfig checked = AllocatorConfig::parse(config.to_string());
  const std::lock_guard lock(state_->mutex);
  if (mode_.load(std::memory_order_relaxed) != Mode::open) {
    fail(ErrorCode::not_permitted, state_->device.place, operation,
         "the device's allocator is in use\nconfigure it before the first allocation");
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
  options.virtual_memory = from.segments != SegmentKind::classic && !segments_only;
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

void DeviceAllocator::State::give_up_virtual_memory(const char* operation) {
  const CallbackScope scope;  // a handler may run, as for GuardedSource
  const Error reason = error_of(memory.source->last_status(), take_message(), device.place, operation);
  segments_only = true;
  memory.close();
  ErrorDetails details;
  details.code = reason.code();
  details.place = device.place;
  details.operation = "the allocator";
  details.text = fmt::format(
      "virtual memory fails at its first use ({}): memory comes in segments of fixed size from now on, which "
      "may waste more of it; {}=segments:classic asks for that from the start",
      reason.vendor_text().empty() ? reason.text() : reason.vendor_text(), allocator_variable);
  details.vendor_code = reason.vendor_code();
  details.vendor_name = reason.vendor_name();
  report(Error(std::move(details)));
}

// ---- Handing out ---------------------------------------------------------------------------------------------------

Request DeviceAllocator::request(StreamState& stream, std::uint64_t pool, std::uint64_t bytes, const char* operation) {
  DeviceState& device = state_->device;
  require_usable(device, operation);
  if (stream.device != &device) {
    fail(ErrorCode::invalid_argument, device.place, operation,
         fmt::format("the stream is of {}\nmemory of {} is allocated in the order of a stream of its own",
                     stream.device->place, device.place));
  }
  if (in_pressure_callback(device)) {
    fail(ErrorCode::not_permitted, device.place, operation,
         "a pressure callback is called because this device is short of memory\nit may free, not allocate there");
  }
  static_cast<void>(caching(operation));  // from now on the configuration is fixed
  if (bytes > most_bytes) {
    std::unique_lock lock(state_->mutex);
    leave_message(0, nullptr, more_than_most_bytes);
    state_->throw_out_of_memory(lock, pool, bytes, operation);
  }
  return Request(*state_, stream, pool, bytes, operation);
}

Block* DeviceAllocator::allocate(StreamState& stream, std::uint64_t pool, std::uint64_t bytes, const char* operation) {
  if (Block* const block = allocate_quickly(stream.id, pool, bytes)) return block;
  return request(stream, pool, bytes, operation).serve();
}

Block* DeviceAllocator::allocate_cached(StreamState& stream, std::uint64_t pool, std::uint64_t bytes,
                                        const char* operation) {
  if (Block* const block = allocate_quickly(stream.id, pool, bytes)) return block;
  return request(stream, pool, bytes, operation).serve_cached();
}

bool DeviceAllocator::State::device_has(std::uint64_t bytes) noexcept {
  if (bytes <= known_total) return true;
  anyplace_memory_info info{};
  info.struct_size = sizeof(info);
  info.total_bytes = info.free_bytes = ANYPLACE_UNKNOWN;
  if (device.table->device_memory(device.self, device.index, &info) != ANYPLACE_STATUS_OK) {
    static_cast<void>(take_message());  // the request that follows gives the reason
    return true;
  }
  static_assert(ANYPLACE_UNKNOWN == UINT64_MAX);
  known_total = info.total_bytes;
  return bytes <= known_total;
}

std::string DeviceAllocator::State::hopeless(std::uint64_t pool, std::uint64_t bytes) const {
  if (memory.heap == nullptr) return {};
  const std::uint64_t size = rounded_size(bytes);
  if (known_total != 0 && size > known_total) return fmt::format("the device has {} bytes in all", known_total);
  const std::uint64_t least = memory.heap->least_growth(bytes <= small_arena_limit(*memory.heap), size);
  const auto exceeded = [&](const char* name, std::uint64_t at_most, const char* remedy) {
    return fmt::format(
        "{} of {} bytes is less than what such a request takes from the device, {} bytes at a time; raise {}", name,
        at_most, least, remedy);
  };
  const auto of = pools.find(pool);
  if (of != pools.end() && least > of->second.limit) {
    return exceeded("the memory pool's limit", of->second.limit, "MemoryPoolOptions::limit_bytes");
  }
  if (least > limit) {
    return exceeded("the limit", limit,
                    "limit_mb of ANYPLACE_ALLOCATOR, AllocatorConfig::limit_bytes or the fraction that "
                    "set_per_process_memory_fraction was given");
  }
  return {};
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
  std::string why = hopeless(pool, bytes);
  if (why.empty() && of != pools.end() && of->second.limit == at_most && at_most != UINT64_MAX) {
    why = "the memory pool's limit is reached";
  }
  if (memory.heap != nullptr && memory.heap->uses_virtual_memory()) {
    // The backend's message is about the one page that it refused. It had given pages before, which were returned
    // since.
    const Message message = take_message();
    leave_message(message.vendor_code, message.vendor_name.c_str(), "");
  }
  lock.unlock();
  Error error = out_of_memory_error(device, figures, why.empty() ? nullptr : why.c_str(), operation);
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
  state_->count_free_request(block);
}

void DeviceAllocator::finish_free(Block* block) noexcept {
  const std::lock_guard lock(state_->mutex);
  state_->look_at_counters();
  state_->complete(block);
}

void DeviceAllocator::State::free(Block* block) noexcept {
  count_large(heap_of(block).key_of(*block->arena), block->requested);
  count_free_request(block);
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
  // The memory of a heap that was reset isn't kept.
  if (&heap != memory.heap.get()) static_cast<void>(heap.release_free());
}

/// A lent block goes back to its lender only when the borrower's work is done.
void DeviceAllocator::State::complete(Block* block) noexcept {
  const std::uint64_t borrower = block->stream;
  if (heap_of(block).key_of(*block->arena).stream != borrower) {
    work.given(borrower);
    if (!work.idle(borrower)) {
      try {
        returning.push_back({block, work.mark(borrower)});
        return;
      } catch (const std::exception&) {
        // The host has no memory for the list entry. The block stays pending for good, so that no two streams get it.
        return;
      }
    }
  }
  count_free_completion(block);
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
      returning.push_back(std::move(entry));  // the room that it just left suffices
      continue;
    }
    if (entry.behind != nullptr) give_event(std::move(entry.behind));
    count_free_completion(entry.block);
    give(entry.block);
  }
  try {
    for (const std::uint64_t stream : work.take_over()) end_arenas(stream);
  } catch (const std::exception&) {
    // The host has no memory for the list, so the next call tries again.
  }
}

/// Ends a stream's arenas, after it has emptied the bins of those arenas.
void DeviceAllocator::State::end_arenas(std::uint64_t stream) noexcept {
  end_lines([stream](const Line& line) { return line.stream == stream; });
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

bool DeviceAllocator::find_allocation(std::uint64_t address, std::uint64_t* begin,
                                      std::uint64_t* bytes) const noexcept {
  const bool near_any = address >= state_->lowest.load(std::memory_order_relaxed) &&
                        address < state_->end.load(std::memory_order_relaxed);
  if (!near_any) return false;
  const std::lock_guard lock(state_->mutex);
  const auto look_in = [&](const HeapOnSource& in) {
    const Block* const block = in.heap == nullptr ? nullptr : in.heap->find_taken_around(address);
    // A block in a thread's bin counts as taken, but nobody has it.
    if (block == nullptr || block->out.load(std::memory_order_relaxed) != block->address) return false;
    *begin = block->address;
    *bytes = block->requested.load(std::memory_order_relaxed);
    return address - block->address < *bytes;
  };
  return look_in(state_->memory) || std::any_of(state_->abandoned.begin(), state_->abandoned.end(), look_in);
}

void DeviceAllocator::deallocate(std::uint64_t stream_id, std::uint64_t address, std::uint64_t bytes,
                                 const char* operation) {
  const std::lock_guard lock(state_->mutex);
  Block* const block = state_->taken_at(address, operation);
  const std::uint64_t requested = block->requested.load(std::memory_order_relaxed);
  if (requested != bytes) {
    fail(ErrorCode::invalid_argument, state_->device.place, operation,
         fmt::format("the memory at {:#x} was allocated with {} bytes, not {}", address, requested, bytes));
  }
  if (block->stream != stream_id) {
    fail(ErrorCode::invalid_argument, state_->device.place, operation,
         fmt::format("the memory at {:#x} was allocated on another stream\ngive it back there", address));
  }
  state_->look_at_counters();
  state_->free(block);
}

// ---- Ending --------------------------------------------------------------------------------------------------------

void DeviceAllocator::stream_ends(StreamState& stream) noexcept {
  const std::lock_guard lock(state_->mutex);
  if (!state_->closed) state_->work.ends(stream);
}

void DeviceAllocator::device_resets() noexcept {
  const std::lock_guard lock(state_->mutex);
  if (state_->memory.heap == nullptr) return;
  state_->end_lines([](const Line&) { return true; });
  static_cast<void>(state_->memory.heap->release_free());
  state_->memory.source->abandon();
  while (!state_->returning.empty()) {
    Returning entry = std::move(state_->returning.front());
    state_->returning.pop_front();
    if (entry.behind != nullptr) give_event(std::move(entry.behind));
    state_->count_free_completion(entry.block);
    state_->give(entry.block);
  }
  state_->work.drop_events();
  state_->work.forget_all();
  static_cast<void>(state_->memory.heap->release_free());
  try {
    state_->abandoned.push_back(std::move(state_->memory));
  } catch (const std::exception&) {
    return;  // the heap stays in use then, but gives nothing any more
  }
}

void DeviceAllocator::shut_down(std::chrono::steady_clock::time_point deadline, bool synchronized) noexcept {
  const std::lock_guard lock(state_->mutex);
  state_->closed = true;
  if (state_->config) state_->set_bins_off();
  if (state_->memory.heap == nullptr) return;
  { const Revocation revocation(*state_); }
  state_->settle_streams();
  state_->memory.source->abandon_at(deadline);
  // These stay allocated: memory that is still handed out, since its owner may be using it; memory that work left
  // behind uses; and memory in bins that can't be taken from their thread.
  const bool none_out = state_->stats.at(StatKind::active, StatPool::all).current == 0 && !state_->any_unfenced();
  if (none_out && state_->work.all_idle(synchronized)) {
    state_->memory.close();
  } else {
    static_cast<void>(state_->memory.heap->release_free());
  }
  state_->returning.clear();
  state_->work.drop_events();
}

}  // namespace anyplace::detail
