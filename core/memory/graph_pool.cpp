// SPDX-License-Identifier: Apache-2.0
#include "memory/graph_pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "memory/allocator/device_allocator.h"
#include "memory/capture_frees.h"
#include "memory/current_pool.h"
#include "memory/deferred_free.h"
#include "memory/device_allocators.h"
#include "memory/found_address.h"
#include "memory/host_pool.h"
#include "memory/host_ranges.h"

namespace anyplace::detail {

// ---- The pool's life -----------------------------------------------------------------------------------------------

GraphPoolState::GraphPoolState(DeviceState& of)
    : device(&of),
      resets(of.resets.load(std::memory_order_acquire)),
      memory_pool(of.allocator->make_pool(std::nullopt)) {}

GraphPoolState::~GraphPoolState() {
  if (!backends_callable()) return;
  for (const std::shared_ptr<GraphRegion>& region : regions) BufferState::dispose(region->memory.release());
  if (in_callback()) {
    post_release([device = device, id = memory_pool] { device->allocator->end_pool(id); });
  } else {
    device->allocator->end_pool(memory_pool);
  }
}

namespace {

/// While it lives, the calling thread allocates from that pool of the device's allocator.
class PoolScopeGuard {
 public:
  explicit PoolScopeGuard(const GraphPoolState& pool) noexcept : scope_{pool.device, pool.memory_pool, pool_scopes} {
    pool_scopes = &scope_;
  }
  PoolScopeGuard(const PoolScopeGuard&) = delete;  // it is bound to its scope
  PoolScopeGuard& operator=(const PoolScopeGuard&) = delete;
  ~PoolScopeGuard() { pool_scopes = scope_.outer; }

 private:
  PoolScope scope_;
};

/// The capture's pool for the stream's device; null if there is none yet. Throws if the capture is invalidated.
std::shared_ptr<GraphPoolState> find_pool(const Capture& capture, const StreamState& stream, const char* operation) {
  std::unique_lock lock(captures().mutex);
  if (capture.state == Capture::State::invalidated) {
    const std::string reason = capture.reason;
    lock.unlock();
    fail(ErrorCode::capture_invalidated, stream.device->place, operation,
         "the capture was invalidated by " + reason + "\ncall end_capture() and capture again\nsee docs/graphs.md");
  }
  for (const auto& [device, pool] : capture.pools) {
    if (device == stream.device) return pool;
  }
  return nullptr;
}

std::shared_ptr<GraphPoolState> pool_of(Capture& capture, const StreamState& stream, const char* operation) {
  if (std::shared_ptr<GraphPoolState> pool = find_pool(capture, stream, operation)) return pool;
  auto made = std::make_shared<GraphPoolState>(*stream.device);
  {
    const std::lock_guard lock(captures().mutex);
    const auto is_its = [&](const auto& entry) { return entry.first == stream.device; };
    if (std::none_of(capture.pools.begin(), capture.pools.end(), is_its)) {
      capture.pools.emplace_back(stream.device, made);
      return made;
    }
  }
  return find_pool(capture, stream, operation);
}

/// Compares without lock() of the weak pointer, which could make the caller its last owner.
bool is_same(const std::weak_ptr<const Capture>& one, const std::shared_ptr<Capture>& other) noexcept {
  return !one.owner_before(other) && !other.owner_before(one);
}

/// Which nodes the stream's next node comes after. They are found at the first question. captures().mutex is held.
class Before {
 public:
  Before(const std::shared_ptr<Capture>& capture, const StreamState& stream) : capture_(capture), stream_(stream) {}

  /// Whether all earlier uses of the region by Buffers, in this capture, come before the stream's next node. The
  /// stream's own uses do.
  bool has_uses_of(const GraphRegion& region) {
    return std::all_of(region.uses.begin(), region.uses.end(), [&](const RegionUse& use) {
      return use.stream_id == stream_.id || !is_same(use.capture, capture_) || has(use.front);
    });
  }

 private:
  bool has(const std::vector<std::uint32_t>& nodes) {
    if (reached_.empty()) reached_ = reached(capture_->list, stream_.front);
    return std::all_of(nodes.begin(), nodes.end(), [&](std::uint32_t node) { return reached_[node]; });
  }

  const std::shared_ptr<Capture>& capture_;
  const StreamState& stream_;
  std::vector<bool> reached_;
};

/// A free region that fits without much waste, or null.
std::shared_ptr<GraphRegion> take_region(const GraphPoolState& pool, const std::shared_ptr<Capture>& capture,
                                         const StreamState& stream, std::uint64_t bytes) {
  reap_without_waiting(*pool.device);  // regions whose work was pending may be free by now
  const std::lock_guard lock(captures().mutex);
  if (stream.capture != capture) return nullptr;  // the capture has just ended
  Before before(capture, stream);
  std::shared_ptr<GraphRegion> best;
  for (const std::shared_ptr<GraphRegion>& region : pool.regions) {
    const std::uint64_t there = region->memory->bytes;
    const bool fits = there >= bytes && there - bytes <= bytes / 8;
    if (region->taken || region->spoiled || !fits || !before.has_uses_of(*region)) continue;
    if (best == nullptr || there < best->memory->bytes) best = region;
  }
  if (best != nullptr) best->taken = true;
  return best;
}

std::shared_ptr<GraphRegion> make_region(GraphPoolState& pool, StreamState& stream, std::uint64_t bytes,
                                         std::uint64_t alignment, const char* operation) {
  auto region = std::make_shared<GraphRegion>();
  region->memory = std::make_unique<BufferState>();
  BufferState& memory = *region->memory;
  memory.device = stream.device;
  memory.bytes = bytes;
  region->taken = true;
  Pin<StreamState> home = streams().pin_again(stream.id, operation);
  {
    const std::lock_guard lock(captures().mutex);
    pool.regions.push_back(region);
  }
  try {
    const PoolScopeGuard scope(pool);
    allocate_for(memory, stream, {.alignment = alignment}, operation);
  } catch (...) {
    const std::lock_guard lock(captures().mutex);
    std::erase(pool.regions, region);
    throw;
  }
  memory.home = std::move(home);
  return region;
}

std::shared_ptr<Capture> capture_of(const StreamState& stream) {
  const std::lock_guard lock(captures().mutex);
  return stream.capture;
}

}  // namespace

// ---- Buffers inside a capture --------------------------------------------------------------------------------------

bool allocate_in_capture(BufferState& buffer, StreamState& stream, const BufferOptions& options,
                         const char* operation) {
  const std::shared_ptr<Capture> capture = capture_of(stream);
  if (capture == nullptr) {
    if (allocate_cached_for(buffer, stream, options, operation)) return true;
    refuse_unsafe_call(*stream.device, operation);
    return false;
  }
  DeviceState& device = *stream.device;
  if (buffer.kind != ANYPLACE_MEMORY_DEVICE) {
    refuse_unsafe_call(device, operation);
    fail(ErrorCode::capturing, device.place, operation,
         "managed memory can't be allocated on a stream that is being captured\nallocate it before begin_capture(), or "
         "on another stream with CaptureMode::relaxed\nsee docs/graphs.md");
  }
  if (options.shareable) {
    fail(ErrorCode::capturing, device.place, operation,
         "memory for other processes can't be allocated on a stream that is being captured\nallocate it before "
         "begin_capture()\nsee docs/graphs.md");
  }
  if (custom_allocator(device) != nullptr || !device.allocator->caching(operation)) {
    fail(
        ErrorCode::capturing, device.place, operation,
        "without the caching allocator nothing can be allocated on a stream that is being captured\nallocate it before "
        "begin_capture()\nsee docs/graphs.md");
  }
  const std::shared_ptr<GraphPoolState> pool = pool_of(*capture, stream, operation);
  const bool plain = options.alignment <= least_alignment;
  std::shared_ptr<GraphRegion> region = plain ? take_region(*pool, capture, stream, buffer.bytes) : nullptr;
  if (region == nullptr) region = make_region(*pool, stream, buffer.bytes, options.alignment, operation);
  {
    const std::lock_guard lock(captures().mutex);
    region->pool = pool;
    region->capture = capture;
  }
  buffer.address = region->memory->address;
  buffer.origin = RegionMemory{std::move(region)};
  return true;
}

namespace {

GraphRegion& region_of(const BufferState& buffer) noexcept { return *std::get<RegionMemory>(buffer.origin).region; }

/// Notes where the buffer's streams are in their captures, in place of what earlier Buffers left that comes before.
/// Under captures().mutex. Throws bad_alloc.
void note_uses(const BufferState& buffer) {
  GraphRegion& region = region_of(buffer);
  const auto note = [&](const StreamState& stream) {
    if (stream.capture != nullptr) region.uses.push_back({stream.capture, stream.id, stream.front});
  };
  const std::shared_ptr<Capture>& own = buffer.home->capture;
  std::erase_if(region.uses, [&](const RegionUse& use) { return use.capture.expired() || is_same(use.capture, own); });
  note(*buffer.home);
  for (const Pin<StreamState>& use : buffer.uses) note(*use);
}

/// Removes the streams that used the buffer only in its own capture, whose nodes are noted. Returns their pins.
/// captures().mutex is held.
std::vector<Pin<StreamState>> take_captured_uses(BufferState& buffer) {
  std::vector<Pin<StreamState>> captured;
  captured.reserve(buffer.uses.size() + 1);
  const auto is_other = [&](const Pin<StreamState>& use) { return !is_same(region_of(buffer).capture, use->capture); };
  const auto first = std::partition(buffer.uses.begin(), buffer.uses.end(), is_other);
  std::move(first, buffer.uses.end(), std::back_inserter(captured));
  buffer.uses.erase(first, buffer.uses.end());
  if (!is_other(buffer.home)) captured.push_back(std::move(buffer.home));
  return captured;
}

}  // namespace

void RegionMemory::free(std::unique_ptr<BufferState> buffer) noexcept {
  std::vector<Pin<StreamState>> captured;  // dropped after the lock
  try {
    const std::lock_guard lock(captures().mutex);
    note_uses(*buffer);
    captured = take_captured_uses(*buffer);
  } catch (const std::bad_alloc&) {
    region_of(*buffer).spoiled = true;
  }
  if ((buffer->home || !buffer->uses.empty()) && backends_callable()) return free_later(std::move(buffer));
  give_back(std::move(buffer));
}

/// No work outside of captures uses the region any more.
void RegionMemory::give_back(std::unique_ptr<BufferState> buffer) noexcept {
  std::shared_ptr<GraphPoolState> pool;  // destroyed after the lock
  const std::shared_ptr<GraphRegion> region = std::move(std::get<RegionMemory>(buffer->origin).region);
  const std::lock_guard lock(captures().mutex);
  region->taken = false;
  pool = std::move(region->pool);
}

// ---- Buffers from outside the capture ------------------------------------------------------------------------------

HeldBuffer::~HeldBuffer() {
  if (freed_ != nullptr) BufferState::dispose(freed_);
  if (host_ != 0 && backends_callable()) device_->host_pool->drop_hold(host_);
}

std::shared_ptr<HeldBuffer> hold_host_buffer(anyplace_address address) {
  FoundAddress found;
  if (!host_ranges().find(address, found)) return nullptr;
  auto held = std::make_shared<HeldBuffer>(*found.device);
  if (found.device->host_pool->hold(found.allocation)) held->host_ = found.allocation;
  return held;
}

std::vector<std::shared_ptr<HeldBuffer>> hold_buffers(const std::vector<anyplace_address>& addresses,
                                                      BufferState* freed) {
  std::vector<anyplace_address> sorted = addresses;
  std::vector<std::shared_ptr<HeldBuffer>> held;
  const auto is_used = [&](const BufferState& buffer) {
    const auto at = std::lower_bound(sorted.begin(), sorted.end(), buffer.address);
    return at != sorted.end() && *at - buffer.address < buffer.bytes;
  };
  try {
    std::sort(sorted.begin(), sorted.end());
    const auto fits = [&](const BufferState& buffer) {
      return !is_from<RegionMemory>(buffer.origin) && is_used(buffer);
    };
    for (const std::uint64_t id : buffers().open_handles(fits)) {
      if (Pin<BufferState> pinned = buffers().try_pin(id)) {
        held.push_back(std::make_shared<HeldBuffer>(std::move(pinned)));
      }
    }
    anyplace_address last = 0;  // the last one held, so that a large buffer that many nodes use is held once
    for (const anyplace_address address : sorted) {
      FoundAddress found;
      if (!host_ranges().find(address, found) || std::exchange(last, found.allocation) == found.allocation) continue;
      if (std::shared_ptr<HeldBuffer> host = hold_host_buffer(address)) held.push_back(std::move(host));
    }
    while (freed != nullptr) {
      std::unique_ptr<BufferState> buffer(freed);
      freed = std::exchange(buffer->next, nullptr);
      if (is_used(*buffer)) {
        held.push_back(std::make_shared<HeldBuffer>(std::move(buffer)));
      } else {
        BufferState::dispose(buffer.release());
      }
    }
  } catch (...) {
    dispose_list(freed);
    throw;
  }
  return held;
}

}  // namespace anyplace::detail
