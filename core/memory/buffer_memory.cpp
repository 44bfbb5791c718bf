// SPDX-License-Identifier: Apache-2.0
//
// Chooses the allocator of a buffer's memory, and gives the memory back to it: at once, in the stream's order, if only
// one stream used the memory, otherwise behind events (deferred_free.h).
#include <memory>
#include <utility>

#include "memory/allocator/current_pool.h"
#include "memory/allocator/device_allocator.h"
#include "memory/allocator/device_allocators.h"
#include "memory/allocator/fast_path.h"
#include "memory/deferred_free.h"
#include "memory/memory_state.h"
#include "plugins/device_properties.h"

namespace anyplace::detail {
namespace {

/// The least alignment of a Buffer's memory, wherever it comes from; a device may have a larger one.
constexpr std::uint64_t least_alignment = 256;

void take_back_block(std::unique_ptr<BufferState> buffer) noexcept {
  buffer->device->allocator->finish_free(buffer->block);
}
void take_back_custom(std::unique_ptr<BufferState> buffer) noexcept {
  give_to(*buffer->custom, StreamView(buffer->home->id), buffer->allocation(), buffer->allocated(), *buffer->device);
}

void use_block(BufferState& buffer, Block* block) noexcept {
  buffer.block = block;
  buffer.take_back = take_back_block;
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

/// Allocates as allocate_for() does, with the device's own alignment.
void allocate_unaligned(BufferState& buffer, StreamState& stream, const char* operation) {
  DeviceState& device = *buffer.device;
  const std::uint64_t bytes = buffer.allocated();
  if (buffer.shareable) {
    buffer.address = allocate_device_memory(stream, ANYPLACE_MEMORY_SHAREABLE, bytes, operation);
    return;
  }
  if (buffer.kind == ANYPLACE_MEMORY_DEVICE) {
    if (std::shared_ptr<Allocator> custom = custom_allocator(device)) {
      buffer.address = allocate_from(*custom, StreamView(stream.id), bytes, device, operation);
      buffer.custom = std::move(custom);
      buffer.take_back = take_back_custom;
      return;
    }
    if (device.allocator->caching(operation)) {
      const std::uint64_t pool = current_pool(device);
      Block* block = device.allocator->allocate_quickly(stream.id, pool, bytes);
      if (block == nullptr) block = device.allocator->allocate(stream, pool, bytes, operation);
      return use_block(buffer, block);
    }
    buffer.ordered = has_capability(device, Capability::stream_ordered_memory, operation);
  }
  buffer.address = allocate_device_memory(stream, buffer.kind, bytes, operation);
}

}  // namespace

void allocate_for(BufferState& buffer, StreamState& stream, std::uint64_t alignment, const char* operation) {
  plan_alignment(buffer, alignment);
  allocate_unaligned(buffer, stream, operation);
  align(buffer, alignment);
}

bool allocate_cached_for(BufferState& buffer, StreamState& stream, std::uint64_t alignment, const char* operation) {
  DeviceState& device = *buffer.device;
  if (buffer.kind != ANYPLACE_MEMORY_DEVICE || buffer.shareable || custom_allocator(device) != nullptr) return false;
  if (!device.allocator->caching(operation)) return false;
  plan_alignment(buffer, alignment);
  const std::uint64_t pool = current_pool(device);
  const std::uint64_t bytes = buffer.allocated();
  Block* block = device.allocator->allocate_quickly(stream.id, pool, bytes);
  if (block == nullptr) block = device.allocator->allocate_cached(stream, pool, bytes, operation);
  if (block == nullptr) return false;
  use_block(buffer, block);
  align(buffer, alignment);
  return true;
}

void free_memory_of(std::unique_ptr<BufferState> buffer) noexcept {
  DeviceState& device = *buffer->device;
  if (buffer->imported) {
    free_imported(std::move(buffer));
  } else if (buffer->block == nullptr && buffer->custom == nullptr) {
    free_device_memory(std::move(buffer));
  } else if (!buffer->uses.empty()) {
    if (buffer->block != nullptr) device.allocator->begin_free(buffer->block);
    free_later(std::move(buffer));
  } else if (buffer->block != nullptr) {
    device.allocator->free(buffer->block);
  } else {
    take_back_custom(std::move(buffer));
  }
}

}  // namespace anyplace::detail
