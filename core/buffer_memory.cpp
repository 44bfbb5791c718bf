// SPDX-License-Identifier: Apache-2.0
//
// Which allocator a buffer's memory is from, and how it goes back there: in stream order at once where one stream used
// it, else behind events (deferred_free.h).
#include <memory>
#include <utility>

#include "allocator/current_pool.h"
#include "allocator/device_allocator.h"
#include "allocator/device_allocators.h"
#include "allocator/short_way.h"
#include "deferred_free.h"
#include "memory_state.h"

namespace anyplace::detail {

void allocate_for(BufferState& buffer, StreamState& stream, const char* operation) {
  DeviceState& device = *buffer.device;
  if (buffer.kind == ANYPLACE_MEMORY_DEVICE) {
    if (std::shared_ptr<Allocator> custom = custom_allocator(device)) {
      buffer.address = allocate_from(*custom, StreamView(stream.id), buffer.bytes, device, operation);
      buffer.custom = std::move(custom);
      return;
    }
    if (device.allocator->caching(operation)) {
      const std::uint64_t pool = current_pool(device);
      Block* block = device.allocator->allocate_quickly(stream.id, pool, buffer.bytes);
      if (block == nullptr) block = device.allocator->allocate(stream, pool, buffer.bytes, operation);
      buffer.block = block;
      buffer.address = block->address;
      return;
    }
    buffer.ordered = has_capability(device, Capability::stream_ordered_memory, operation);
  }
  buffer.address = allocate_device_memory(stream, buffer.kind, buffer.bytes, operation);
}

void free_memory_of(std::unique_ptr<BufferState> buffer) noexcept {
  DeviceState& device = *buffer->device;
  if (buffer->block == nullptr && buffer->custom == nullptr) {
    free_device_memory(std::move(buffer));
  } else if (!buffer->uses.empty()) {
    if (buffer->block != nullptr) device.allocator->begin_free(buffer->block);
    free_later(std::move(buffer));
  } else if (buffer->block != nullptr) {
    device.allocator->free(buffer->block);
  } else {
    give_to(*buffer->custom, StreamView(buffer->home->id), buffer->address, buffer->bytes, device);
  }
}

}  // namespace anyplace::detail
