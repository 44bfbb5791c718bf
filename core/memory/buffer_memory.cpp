// SPDX-License-Identifier: Apache-2.0
//
// Chooses the allocator of a buffer's memory, and gives the memory back to it: at once, in the stream's order, if only
// one stream used the memory, otherwise behind events (deferred_free.h).
#include <memory>
#include <utility>

#include "memory/allocator/device_allocator.h"
#include "memory/current_pool.h"
#include "memory/deferred_free.h"
#include "memory/device_allocators.h"
#include "memory/memory_state.h"
#include "plugins/device_properties.h"

namespace anyplace::detail {
namespace {

void use_block(BufferState& buffer, Block* block) noexcept {
  buffer.origin = CachedMemory{block};
  buffer.address = block->address;
}

/// Makes room for an alignment beyond what the device gives, before the memory is allocated.
void plan_alignment(BufferState& buffer, std::uint64_t alignment) noexcept {
  buffer.slack = alignment > least_alignment ? alignment - least_alignment : 0;
  // A size beyond 64 bits becomes the largest one, which no device has.
  if (buffer.bytes > UINT64_MAX - buffer.slack) buffer.slack = UINT64_MAX - buffer.bytes;
}
void align(BufferState& buffer, std::uint64_t alignment) noexcept {
  if (buffer.slack == 0) return;
  buffer.lead = (0 - buffer.address) & (alignment - 1);
  buffer.address += buffer.lead;
}

/// Does what allocate_for() does, but with no more alignment than the device gives.
void allocate_unaligned(BufferState& buffer, StreamState& stream, bool shareable, const char* operation) {
  DeviceState& device = *buffer.device;
  const std::uint64_t bytes = buffer.allocated();
  RawMemory raw;
  const std::uint32_t kind = shareable ? std::uint32_t{ANYPLACE_MEMORY_SHAREABLE} : buffer.kind;
  if (kind == ANYPLACE_MEMORY_DEVICE) {
    if (std::shared_ptr<Allocator> custom = custom_allocator(device)) {
      buffer.address = allocate_from(*custom, StreamView(stream.id), bytes, device, operation);
      buffer.origin = CustomMemory{std::move(custom)};
      return;
    }
    if (device.allocator->caching(operation)) {
      return use_block(buffer, device.allocator->allocate(stream, current_pool(device), bytes, operation));
    }
    raw.ordered = has_capability(device, Capability::stream_ordered_memory, operation);
  }
  buffer.address = allocate_device_memory(stream, kind, bytes, operation);
  buffer.origin = raw;
}

}  // namespace

void allocate_for(BufferState& buffer, StreamState& stream, const BufferOptions& options, const char* operation) {
  plan_alignment(buffer, options.alignment);
  allocate_unaligned(buffer, stream, options.shareable, operation);
  align(buffer, options.alignment);
}

bool allocate_cached_for(BufferState& buffer, StreamState& stream, const BufferOptions& options,
                         const char* operation) {
  DeviceState& device = *buffer.device;
  if (buffer.kind != ANYPLACE_MEMORY_DEVICE || options.shareable || custom_allocator(device) != nullptr) return false;
  if (!device.allocator->caching(operation)) return false;
  plan_alignment(buffer, options.alignment);
  Block* const block = device.allocator->allocate_cached(stream, current_pool(device), buffer.allocated(), operation);
  if (block == nullptr) return false;
  use_block(buffer, block);
  align(buffer, options.alignment);
  return true;
}

// ---- The ends ------------------------------------------------------------------------------------------------------

void WrappedMemory::free(std::unique_ptr<BufferState> /*buffer*/) noexcept {}
void WrappedMemory::give_back(std::unique_ptr<BufferState> /*buffer*/) noexcept {}

void CachedMemory::free(std::unique_ptr<BufferState> buffer) noexcept {
  Block* const block = std::get<CachedMemory>(buffer->origin).block;
  DeviceAllocator& allocator = *buffer->device->allocator;
  if (buffer->uses.empty()) return allocator.free(block);
  allocator.begin_free(block);
  free_later(std::move(buffer));
}
void CachedMemory::give_back(std::unique_ptr<BufferState> buffer) noexcept {
  buffer->device->allocator->finish_free(std::get<CachedMemory>(buffer->origin).block);
}

void CustomMemory::free(std::unique_ptr<BufferState> buffer) noexcept {
  if (buffer->uses.empty()) return give_back(std::move(buffer));
  free_later(std::move(buffer));
}
void CustomMemory::give_back(std::unique_ptr<BufferState> buffer) noexcept {
  give_to(*std::get<CustomMemory>(buffer->origin).allocator, StreamView(buffer->home->id), buffer->allocation(),
          buffer->allocated(), *buffer->device);
}

}  // namespace anyplace::detail
