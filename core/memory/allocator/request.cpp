// SPDX-License-Identifier: Apache-2.0
#include "memory/allocator/request.h"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>
#include <vector>

#include "memory/buffer_sharing.h"
#include "memory/deferred_free.h"
#include "memory/event_pool.h"
#include "memory/host_pool.h"
#include "memory/memory_state.h"
#include "memory/pressure.h"
#include "runtime/layer_notes.h"
#include "streams/stream_state.h"

namespace anyplace::detail {

Request::Request(DeviceAllocator::State& state, StreamState& stream, std::uint64_t pool, std::uint64_t bytes,
                 const char* operation)
    : state_(state),
      device_(state.device),
      stream_(stream),
      key_{stream.id, pool, false},
      bytes_(bytes),
      size_(rounded_size(bytes)),
      operation_(operation),
      lock_(state.mutex) {}

void Request::begin() {
  if (state_.closed) fail(ErrorCode::shut_down, device_.place, operation_, "");
  key_.small = bytes_ <= small_arena_limit(state_.open_heap(*state_.config));
  if (!is_alive()) {
    fail(ErrorCode::invalid_handle, device_.place, operation_,
         "the memory pool does not exist: it ended\nkeep the MemoryPool as long as it is allocated from");
  }
  state_.work.add(stream_);
  state_.look_at_counters();
  state_.count_large(key_, bytes_);
}

Block* Request::end(Block* block) {
  if (refused_) static_cast<void>(take_message());  // a later attempt succeeded
  state_.count_allocation(block, bytes_);
  if (block->stream == state_.memory.heap->key_of(*block->arena).stream) state_.file_line(key_, *block->arena);
  return block;
}

Block* Request::at_hand() {
  Block* block = take(Reach::cached);
  if (block == nullptr && drain_own()) block = take(Reach::cached);
  if (block == nullptr && !is_possible()) fail_for_good();
  if (block == nullptr) block = from_finished();
  if (block == nullptr) block = from_bins();
  if (block == nullptr) block = from_idle_lender();
  return block;
}

Block* Request::serve_cached() {
  begin();
  Block* const block = at_hand();
  return block == nullptr ? nullptr : end(block);
}

Block* Request::serve() {
  begin();
  Block* block = at_hand();
  if (block == nullptr) block = take(Reach::grow);
  if (block == nullptr) block = take(Reach::scavenge);
  if (block == nullptr) block = from_busy_lender();
  if (block == nullptr) block = after_releasing();
  if (block == nullptr) block = after_waiting();
  if (block == nullptr) block = from_pinned();
  if (block == nullptr) block = after_pressure();
  if (block == nullptr) fail_for_good();
  return end(block);
}

// ---- The steps -----------------------------------------------------------------------------------------------------

/// Each step may have released the lock, and the pool may have ended meanwhile. So the arena is looked up again.
Block* Request::take(Reach reach) {
  if (!is_alive()) return nullptr;
  Heap& heap = *state_.memory.heap;
  Block* const block = heap.take(heap.arena(key_), size_, reach);
  refused_ = refused_ || heap.last_result() != SourceResult::done;
  if (block != nullptr) {
    block->stream = key_.stream;
    return block;
  }
  if (reach == Reach::cached) return nullptr;
  const bool failed = heap.last_result() == SourceResult::failed;
  if (segments_instead(reach)) return take(reach);
  if (failed) fail_backend();
  return nullptr;
}

/// Replaces the heap if the driver says that it has virtual memory but fails at the first use of it. Returns true if
/// the heap was replaced.
bool Request::segments_instead(Reach reach) {
  if (!state_.memory.heap->virtual_memory_fails(reach) || device_.lost.load(std::memory_order_relaxed)) return false;
  state_.give_up_virtual_memory(operation_);
  key_.small = bytes_ <= small_arena_limit(state_.open_heap(*state_.config));
  return true;
}

bool Request::drain_own() {
  ThreadBins* const bins = own_bins(state_.number);
  Line* const line = bins == nullptr ? nullptr : bins->find(key_.stream, key_.pool);
  if (line == nullptr || line->bins[key_.small ? 1 : 0].empty()) return false;
  state_.drain(*line, key_.small);
  return true;
}

/// Checks the deferred frees, which is only worth while here, where no memory is at hand.
Block* Request::from_finished() {
  lock_.unlock();
  reap_deferred_frees(device_);
  lock_.lock();
  state_.settle_streams();
  return take(Reach::cached);
}

Block* Request::from_bins() {
  bool found_any = false;
  {
    const Revocation revocation(state_);
    found_any = revocation.found_any();
  }
  return found_any ? take(Reach::cached) : nullptr;
}

Block* Request::borrow(Arena& lender) {
  Block* const block = state_.memory.heap->take(lender, size_, Reach::cached);
  if (block != nullptr) block->stream = key_.stream;
  return block;
}

/// Used only with classic segments. With virtual memory the heap moves pages, which then belong to the stream for good.
Block* Request::from_idle_lender() {
  if (!state_.config->cross_stream_reuse || !is_alive()) return nullptr;
  Heap& heap = *state_.memory.heap;
  if (heap.uses_virtual_memory()) return nullptr;
  Arena* const lender = heap.find_lender(heap.arena(key_), size_);
  if (lender == nullptr || !state_.idle(heap.key_of(*lender))) return nullptr;
  return borrow(*lender);
}

Block* Request::from_busy_lender() {
  if (!state_.config->cross_stream_reuse || !is_alive()) return nullptr;
  Heap& heap = *state_.memory.heap;
  Arena* const lender = heap.find_lender(heap.arena(key_), size_);
  if (lender == nullptr) return nullptr;
  const ArenaKey of = heap.key_of(*lender);
  if (!state_.idle(of) && !state_.work.make_wait(stream_, of.stream)) return nullptr;
  return borrow(*lender);
}

Block* Request::after_releasing() {
  ++state_.stats.num_alloc_retries;
  if (!is_alive() || state_.memory.heap->release_free() == 0) return nullptr;
  return take(Reach::scavenge);
}

/// Returns false if the request can never be served: it is larger than the device, or than a limit and all that is
/// reserved. Then nothing is given back for it, and no callback is called.
bool Request::is_possible() {
  const Heap& heap = *state_.memory.heap;
  const std::uint64_t least = heap.least_growth(key_.small, size_);
  if (least > state_.limit && size_ > heap.reserved_bytes()) return false;
  if (key_.pool != 0) {
    const auto pool = state_.pools.find(key_.pool);
    const bool limited = pool != state_.pools.end() && least > pool->second.limit;
    if (limited && size_ > heap.reserved_bytes(key_.pool)) return false;
  }
  return state_.device_has(size_);
}

/// Waiting can't help a request that is larger than a limit.
bool Request::waiting_could_help() const {
  std::uint64_t most = state_.limit;
  const auto pool = state_.pools.find(key_.pool);
  if (pool != state_.pools.end()) most = std::min(most, pool->second.limit);
  return size_ <= most;
}

Block* Request::after_waiting() {
  if (!waiting_could_help() && !keeps_shared_buffers(device_)) return nullptr;
  ++state_.stats.num_sync_all_streams;
  wait_for_streams();
  state_.settle_streams();
  { const Revocation revocation(state_); }
  Block* block = take(Reach::scavenge);
  if (block != nullptr || !is_alive() || state_.memory.heap->release_free() == 0) return block;
  return take(Reach::scavenge);
}

/// Waits until no work uses the memory that was freed so far. The lock is released meanwhile.
void Request::wait_for_streams() {
  const CoreCalls scope;
  lock_.unlock();
  static_cast<void>(wait_for_let_go(device_));
  lock_.lock();
  std::vector<std::unique_ptr<EventState>> marks = state_.work.busy();
  const std::vector<std::uint64_t> ended = state_.work.busy_ended();
  lock_.unlock();
  try {
    for (const std::unique_ptr<EventState>& mark : marks) {
      static_cast<void>(synchronize(*mark, ANYPLACE_FOREVER, operation_));
    }
    if (!ended.empty()) static_cast<void>(synchronize(device_, ANYPLACE_FOREVER, operation_));
  } catch (...) {
    lock_.lock();
    require_usable(device_, operation_);
    throw;
  }
  for (std::unique_ptr<EventState>& mark : marks) give_event(std::move(mark));
  lock_.lock();
  state_.work.were_idle(ended);
}

/// On integrated devices pinned memory is the device's own, so giving back the cached part of it helps.
Block* Request::from_pinned() {
  if (device_.host_pool->stats().cached_bytes == 0) return nullptr;
  device_.host_pool->release();
  return take(Reach::scavenge);
}

Block* Request::after_pressure() {
  Block* block = nullptr;
  ThreadBins* const bins = own_bins(state_.number);
  // Memory that a callback frees is for this request, so it doesn't go into the thread's bins. A callback must not
  // allocate from them either.
  if (bins != nullptr) bins->bar(ThreadBins::private_to_callback);
  lock_.unlock();
  std::exception_ptr failure;
  const auto retry = [&] {
    reap_deferred_frees(device_);
    lock_.lock();
    try {
      state_.settle_streams();
      { const Revocation revocation(state_); }
      block = take(Reach::scavenge);
      if (block == nullptr) block = from_busy_lender();
    } catch (...) {
      failure = std::current_exception();
    }
    if (block == nullptr && failure == nullptr) lock_.unlock();
    return block != nullptr || failure != nullptr;
  };
  if (!pressure_of(device_).relieve(bytes_, retry)) lock_.lock();
  if (bins != nullptr) bins->unbar(ThreadBins::private_to_callback);
  if (failure != nullptr) std::rethrow_exception(failure);
  return block;
}

// ---- Failing -------------------------------------------------------------------------------------------------------

bool Request::is_alive() const {
  return state_.memory.heap != nullptr && (key_.pool == 0 || state_.pools.count(key_.pool) != 0);
}

void Request::fail_backend() {
  const anyplace_status status = state_.memory.source->last_status();
  lock_.unlock();
  require_usable(device_, operation_);  // throws with the vendor's reason from the call that first reported the loss
  raise(status, device_, operation_);
}

void Request::fail_for_good() { state_.throw_out_of_memory(lock_, key_.pool, bytes_, operation_); }

}  // namespace anyplace::detail
