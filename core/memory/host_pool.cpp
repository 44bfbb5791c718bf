// SPDX-License-Identifier: Apache-2.0
#include "memory/host_pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <new>
#include <utility>
#include <vector>

#include "anyplace/allocator.h"
#include "memory/allocator/device_allocator.h"
#include "memory/capture_frees.h"
#include "memory/deferred_free.h"
#include "memory/host_ranges.h"
#include "memory/memory_state.h"
#include "runtime/call.h"
#include "runtime/layer_notes.h"
#include "runtime/service.h"
#include "streams/capture.h"
#include "streams/captured.h"

namespace anyplace {

namespace detail {
namespace {

constexpr const char* free_operation = "~HostBuffer";

/// The smallest class is a page of the host, because vendors pin whole pages anyway.
constexpr std::uint64_t least_bytes = 4096;

std::uint64_t step_of(std::uint64_t bytes) noexcept { return std::bit_floor(bytes) / 8; }

}  // namespace

// ---- Sizes ---------------------------------------------------------------------------------------------------------

std::uint64_t HostPool::rounded(std::uint64_t bytes) noexcept {
  bytes = std::max(bytes, least_bytes);
  const std::uint64_t step = step_of(bytes);
  return (bytes + step - 1) / step * step;
}

std::size_t HostPool::class_of(std::uint64_t bytes) noexcept {
  const std::uint64_t size = rounded(bytes);
  const auto exponent = static_cast<std::size_t>(std::bit_width(size) - 1);
  return exponent * 8 + static_cast<std::size_t>(size / step_of(size) - 8);
}

// ---- Counting, under the lock --------------------------------------------------------------------------------------

void HostPool::count_out(std::uint64_t requested) noexcept {
  ++stats_.allocations;
  ++stats_.total_allocations;
  stats_.allocated_bytes += requested;
  stats_.peak_allocated_bytes = std::max(stats_.peak_allocated_bytes, stats_.allocated_bytes);
  stats_.peak_reserved_bytes = std::max(stats_.peak_reserved_bytes, stats_.reserved_bytes);
}

bool HostPool::reserve(std::uint64_t bytes, std::optional<std::uint64_t> limit) noexcept {
  const std::lock_guard lock(mutex_);
  const std::uint64_t at_most = limit.value_or(UINT64_MAX);
  if (bytes > at_most || stats_.reserved_bytes > at_most - bytes) return false;
  stats_.reserved_bytes += bytes;
  return true;
}

void HostPool::unreserve(std::uint64_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  stats_.reserved_bytes -= bytes;
}

// ---- Allocating ----------------------------------------------------------------------------------------------------

anyplace_address HostPool::allocate(std::uint64_t bytes, const char* operation) {
  reap_without_waiting(device_);  // what waited may be free by now
  const AllocatorConfig config = device_.allocator->config();
  if (bytes > most_bytes) {
    leave_message(0, nullptr, "no host has that much memory\nis the size a negative number?");
    refuse(bytes, config.pinned_limit_bytes, operation);
  }
  if (config.caching) {
    if (const anyplace_address kept = take_kept(class_of(bytes), bytes)) return kept;
  }
  refuse_unsafe_call(device_, operation);
  return allocate_new(bytes, config, operation);
}

anyplace_address HostPool::allocate_new(std::uint64_t bytes, const AllocatorConfig& config, const char* operation) {
  auto block = std::make_unique<HostBlock>(device_);
  block->requested = bytes;
  block->bytes = bytes;
  if (config.caching) {
    block->size_class = class_of(bytes);
    block->bytes = rounded(bytes);
  }
  make_service_room(operation);  // its end may be handed over to the service thread
  const anyplace_status status = pin_block(*block, config.pinned_limit_bytes);
  if (status != ANYPLACE_STATUS_OK || block->address == 0) give_service_room();
  if (status == ANYPLACE_STATUS_OUT_OF_MEMORY) refuse(bytes, config.pinned_limit_bytes, operation);
  check(status, device_, operation);
  if (block->address == 0) {
    unreserve(block->bytes);
    fail(ErrorCode::backend_failed, device_.place, operation,
         fmt::format("the backend said it allocated {} bytes of pinned memory, and gave address 0", bytes));
  }
  return hand_out(std::move(block));
}

anyplace_address HostPool::take_kept(std::size_t size_class, std::uint64_t requested) {
  const std::lock_guard lock(mutex_);
  Chain& kept = kept_[size_class];
  if (kept == nullptr) return 0;
  const anyplace_address address = kept->address;
  std::unique_ptr<HostBlock>& out = out_[address];
  out = std::move(kept);
  kept = std::move(out->next);
  out->requested = requested;
  out->handed_out.store(requested, std::memory_order_relaxed);
  stats_.cached_bytes -= out->bytes;
  count_out(requested);
  return address;
}

anyplace_address HostPool::hand_out(std::unique_ptr<HostBlock> block) {
  const anyplace_address address = block->address;
  const std::uint64_t requested = block->requested;
  try {
    host_ranges().add(*block);
    block->handed_out.store(requested, std::memory_order_relaxed);
    const std::lock_guard lock(mutex_);
    ++stats_.device_allocations;
    out_[address] = std::move(block);
    count_out(requested);
  } catch (...) {
    static_cast<void>(give_back(std::move(block)));
    throw;
  }
  return address;
}

/// Allocates from the device. If that fails, deferred frees are waited for and kept memory goes back to the device;
/// then the request is tried without rounding it up.
anyplace_status HostPool::pin_block(HostBlock& block, std::optional<std::uint64_t> limit) {
  anyplace_status status = ask_device(block, limit);
  if (status != ANYPLACE_STATUS_OUT_OF_MEMORY) return status;
  const bool waited = wait_for_let_go(device_);
  if (waited || stats().cached_bytes != 0) {
    release();
    status = ask_device(block, limit);
  }
  if (status != ANYPLACE_STATUS_OUT_OF_MEMORY || block.bytes == block.requested) return status;
  block.bytes = block.requested;
  block.size_class = no_class;
  return ask_device(block, limit);
}

anyplace_status HostPool::ask_device(HostBlock& block, std::optional<std::uint64_t> limit) {
  if (!reserve(block.bytes, limit)) {
    leave_message(0, nullptr, "it would be over pinned_limit_mb, the limit of pinned memory");
    return ANYPLACE_STATUS_OUT_OF_MEMORY;
  }
  static_cast<void>(take_message());                    // of an earlier attempt
  device_.used.store(true, std::memory_order_relaxed);  // makes the exit look at the device
  const anyplace_status status =
      device_.table->memory_allocate(device_.self, device_.index, ANYPLACE_MEMORY_PINNED, block.bytes, &block.address);
  if (status != ANYPLACE_STATUS_OK) unreserve(block.bytes);
  return status;
}

void HostPool::refuse(std::uint64_t bytes, std::optional<std::uint64_t> limit, const char* operation) {
  const Error plain = make_error(ANYPLACE_STATUS_OUT_OF_MEMORY, device_, operation);
  const HostMemoryStats now = stats();
  MemoryFigures figures;
  figures.requested = bytes;
  figures.in_use = now.allocated_bytes;
  figures.cached = now.cached_bytes;
  figures.limit = limit;
  throw with_figures(plain, figures);
}

// ---- Freeing -------------------------------------------------------------------------------------------------------
namespace {

/// Tells layers that the owner of the memory has let go of it.
void note_given_back(const HostBlock& block, bool is_kept) noexcept {
  if (!layers_listen() || !process_running()) return;
  anyplace_layer_memory memory = pinned_memory(block.address, block.requested);
  memory.is_kept = is_kept ? 1 : 0;
  std::vector<std::uint64_t> users;
  try {
    if (block.later != nullptr) {
      for (const Pin<StreamState>& use : block.later->uses) users.push_back(use->id);
    }
  } catch (const std::bad_alloc&) {  // the layer hears of fewer
  }
  memory.users = users.data();
  memory.user_count = static_cast<std::uint32_t>(users.size());
  note_memory_returned(block.device, memory);
}

}  // namespace

void HostPool::free(anyplace_address address) noexcept {
  Chain block = take_out(address);
  if (block == nullptr) return;
  if (!any_capture()) return free_block(std::move(block));
  count_pending(*block, true);
  std::unique_ptr<BufferState> kept = std::move(block->later);
  kept->address = block->address;
  kept->bytes = block->bytes;
  kept->origin = PinnedMemory{block.release()};
  anyplace_layer_memory memory = pinned_memory(kept->address, kept->bytes);
  memory.is_kept = 1;
  if (!keep_for_capture(kept)) return free_kept_back(std::move(kept));
  note_memory_returned(device_, memory);
}

void HostPool::free_kept_back(std::unique_ptr<BufferState> kept) noexcept {
  Chain block = block_of(*kept);
  kept->address = 0;
  kept->bytes = 0;
  block->later = std::move(kept);
  count_pending(*block, false);
  free_block(std::move(block));
}

/// Takes the block out of what waited with its uses.
HostPool::Chain HostPool::block_of(BufferState& waited) noexcept {
  Chain block(std::get<PinnedMemory>(waited.origin).block);
  waited.origin = WrappedMemory{};
  return block;
}

/// Nobody has it any more, but work may use it.
void HostPool::free_block(Chain block) noexcept {
  note_given_back(*block, false);
  if (block->later->uses.empty()) {
    keep(std::move(block));
    return;
  }
  host_ranges().forget_uses(*block);
  if (in_callback()) {  // no stream can be queried here
    count_pending(*block, true);
    post_release([this, waiting = block.release()] {
      count_pending(*waiting, false);
      free_behind_work(Chain(waiting));
    });
    return;
  }
  free_behind_work(std::move(block));
}

void HostPool::count_pending(const HostBlock& block, bool begins) noexcept {
  const std::lock_guard lock(mutex_);
  stats_.pending_bytes = begins ? stats_.pending_bytes + block.bytes : stats_.pending_bytes - block.bytes;
}

bool HostPool::hold(anyplace_address address) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = out_.find(address);
  if (found == out_.end()) return false;
  ++found->second->holds;
  return true;
}

void HostPool::drop_hold(anyplace_address address) noexcept {
  Chain block;
  {
    const std::lock_guard lock(mutex_);
    const auto found = out_.find(address);
    if (--found->second->holds != 0 || !found->second->let_go) return;
    block = std::move(found->second);
    out_.erase(found);
    block->let_go = false;
    stats_.pending_bytes -= block->bytes;
  }
  free_block(std::move(block));
}

HostPool::Chain HostPool::take_out(anyplace_address address) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = out_.find(address);
  if (found == out_.end()) return nullptr;
  HostBlock& let_go = *found->second;
  let_go.handed_out.store(0, std::memory_order_relaxed);
  --stats_.allocations;
  stats_.allocated_bytes -= let_go.requested;
  if (let_go.holds != 0) {
    let_go.let_go = true;
    note_given_back(let_go, true);
    stats_.pending_bytes += let_go.bytes;
    return nullptr;
  }
  Chain block = std::move(found->second);
  out_.erase(found);
  return block;
}

/// Must not be called inside callbacks.
void HostPool::free_behind_work(Chain block) noexcept {
  BufferState& uses = *block->later;
  drop_idle_uses(uses);
  if (uses.uses.empty()) {
    keep(std::move(block));
    return;
  }
  count_pending(*block, true);
  std::unique_ptr<BufferState> waiting = std::move(block->later);
  waiting->origin = PinnedMemory{block.release()};
  free_later(std::move(waiting));
}

void HostPool::take_back(std::unique_ptr<BufferState> waited) noexcept {
  Chain block = block_of(*waited);
  waited->unmarked = false;
  waited->sweep_at = first_sweep_at;
  block->later = std::move(waited);
  count_pending(*block, false);
  keep(std::move(block));
}

void PinnedMemory::free(std::unique_ptr<BufferState> buffer) noexcept {
  HostPool& pool = *buffer->device->host_pool;
  pool.free_kept_back(std::move(buffer));
}
void PinnedMemory::give_back(std::unique_ptr<BufferState> buffer) noexcept {
  HostPool& pool = *buffer->device->host_pool;
  pool.take_back(std::move(buffer));
}

/// For the next HostBuffer, or for the device where it isn't to be kept. No work uses it.
void HostPool::keep(Chain block) noexcept {
  {
    const std::lock_guard lock(mutex_);
    if (block->size_class != no_class && !closed_ && !device_.lost.load(std::memory_order_relaxed)) {
      stats_.cached_bytes += block->bytes;
      Chain& kept = kept_[block->size_class];
      block->next = std::move(kept);
      kept = std::move(block);
      return;
    }
  }
  static_cast<void>(give_back(std::move(block)));
}

HostPool::Chain HostPool::give_back(Chain blocks,
                                    std::optional<std::chrono::steady_clock::time_point> deadline) noexcept {
  while (blocks != nullptr) {
    if (deadline && std::chrono::steady_clock::now() >= *deadline) break;
    const Chain block = std::move(blocks);
    blocks = std::move(block->next);
    host_ranges().remove(*block);
    give_service_room();
    {
      const std::lock_guard lock(mutex_);
      stats_.reserved_bytes -= block->bytes;
      ++stats_.device_frees;
    }
    if (in_callback()) {
      // The vendor's free may wait for the callback that runs this code, and must not block the service thread.
      std::unique_ptr<BufferState> later = std::move(block->later);
      later->address = block->address;
      later->origin = RawMemory{};
      free_later(std::move(later));
      continue;
    }
    const anyplace_status status =
        device_.table->memory_free(device_.self, device_.index, ANYPLACE_MEMORY_PINNED, block->address);
    check_given_back(status, device_, free_operation);
  }
  return blocks;
}

HostPool::Chain HostPool::take_all_kept() noexcept {
  Chain all;
  const std::lock_guard lock(mutex_);
  for (Chain& kept : kept_) {
    while (kept != nullptr) {
      Chain rest = std::move(kept->next);
      kept->next = std::move(all);
      all = std::move(kept);
      kept = std::move(rest);
    }
  }
  stats_.cached_bytes = 0;
  return all;
}

void HostPool::release() noexcept { static_cast<void>(give_back(take_all_kept())); }

void HostPool::close(std::chrono::steady_clock::time_point deadline) noexcept {
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
  }
  Chain left = give_back(take_all_kept(), deadline);
  const std::lock_guard lock(mutex_);
  left_ = std::move(left);
}

// ---- Statistics and the device's hooks -----------------------------------------------------------------------------

HostMemoryStats HostPool::stats() const {
  const std::lock_guard lock(mutex_);
  return stats_;
}

void HostPool::reset_peak() noexcept {
  const std::lock_guard lock(mutex_);
  stats_.peak_allocated_bytes = stats_.allocated_bytes;
  stats_.peak_reserved_bytes = stats_.reserved_bytes;
}

void HostPool::reset_accumulated() noexcept {
  const std::lock_guard lock(mutex_);
  stats_.total_allocations = 0;
  stats_.device_allocations = 0;
  stats_.device_frees = 0;
}

HostPool* make_host_pool(DeviceState& device) { return new HostPool(device); }

void release_host_pool(DeviceState& device) noexcept { device.host_pool->release(); }

}  // namespace detail

HostMemoryStats host_memory_stats(const Device& device) {
  detail::enter("host_memory_stats");
  return device.state()->host_pool->stats();
}

}  // namespace anyplace
