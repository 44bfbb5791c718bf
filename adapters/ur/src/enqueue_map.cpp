// SPDX-License-Identifier: Apache-2.0
//
// Mapping: a range of a buffer in the application's address space. It is pinned memory that the range is copied to and,
// if the application writes, back from; or the application's own memory, where the buffer was made with some.
#include <anyplace/stream.h>

#include "command.h"
#include "entries.h"
#include "memory.h"

namespace anyplace_ur {

namespace {

constexpr ur_map_flags_t known_flags = UR_MAP_FLAG_READ | UR_MAP_FLAG_WRITE | UR_MAP_FLAG_WRITE_INVALIDATE_REGION;

Mapping make_mapping(ur_queue_handle_t queue, ur_mem_handle_t buffer, ur_map_flags_t flags, std::size_t offset,
                     std::size_t size) {
  Mapping mapping;
  mapping.offset = buffer->offset + offset;
  mapping.size = size;
  mapping.writes = (flags & (UR_MAP_FLAG_WRITE | UR_MAP_FLAG_WRITE_INVALIDATE_REGION)) != 0;
  if (buffer->storage->host() == nullptr) mapping.memory = anyplace::HostBuffer(queue->device->device, size);
  return mapping;
}

void* pointer_of(const Mapping& mapping, const Storage& storage) {
  if (mapping.memory) return mapping.memory.data();
  return static_cast<std::byte*>(storage.host()) + mapping.offset;
}

Mapping take_mapping(ur_mem_handle_t_& memory, void* pointer) {
  const std::lock_guard lock(memory.mutex);
  const auto found = memory.mappings.find(pointer);
  require(found != memory.mappings.end(), UR_RESULT_ERROR_INVALID_VALUE, "the buffer isn't mapped at this address");
  Mapping mapping = std::move(found->second);
  memory.mappings.erase(found);
  return mapping;
}

}  // namespace

ur_result_t urEnqueueMemBufferMap(ur_queue_handle_t queue, ur_mem_handle_t buffer, bool blocking, ur_map_flags_t flags,
                                  size_t offset, size_t size, uint32_t count, const ur_event_handle_t* waits,
                                  ur_event_handle_t* event, void** mapped) {
  return guarded("urEnqueueMemBufferMap", [&] {
    require_handle(queue);
    require_handle(buffer);
    require_pointer(mapped);
    require((flags & ~known_flags) == 0, UR_RESULT_ERROR_INVALID_ENUMERATION, "there is no such flag of a mapping");
    const bool within = size != 0 && offset <= buffer->size && size <= buffer->size - offset;
    require(within, UR_RESULT_ERROR_INVALID_SIZE, "the range is empty, or not within the buffer");
    Mapping mapping = make_mapping(queue, buffer, flags, offset, size);
    Storage& storage = *buffer->storage;
    void* const pointer = pointer_of(mapping, storage);
    submit(queue, UR_COMMAND_MEM_BUFFER_MAP, blocking, {count, waits}, event, [&](anyplace::StreamView stream) {
      if ((flags & UR_MAP_FLAG_WRITE_INVALIDATE_REGION) != 0) return;
      const anyplace::Address begin = storage.for_copies(queue->device, stream, Access::read);
      const anyplace::Address from(begin.value() + mapping.offset);
      if (from != anyplace::Address(pointer)) stream.copy(anyplace::Address(pointer), from, size);
    });
    const std::lock_guard lock(buffer->mutex);
    buffer->mappings.emplace(pointer, std::move(mapping));
    *mapped = pointer;
  });
}

ur_result_t urEnqueueMemUnmap(ur_queue_handle_t queue, ur_mem_handle_t memory, void* pointer, uint32_t count,
                              const ur_event_handle_t* waits, ur_event_handle_t* event) {
  return guarded("urEnqueueMemUnmap", [&] {
    require_handle(queue);
    require_handle(memory);
    require_pointer(pointer);
    const Mapping mapping = take_mapping(*memory, pointer);
    // The mapping's memory goes at the end, and is given to nobody else before the copy is done.
    submit(queue, UR_COMMAND_MEM_UNMAP, {count, waits}, event, [&](anyplace::StreamView stream) {
      if (!mapping.writes) return;
      const anyplace::Address begin = memory->storage->for_copies(queue->device, stream, Access::write);
      const anyplace::Address to(begin.value() + mapping.offset);
      if (to != anyplace::Address(pointer)) stream.copy(to, anyplace::Address(pointer), mapping.size);
    });
  });
}

}  // namespace anyplace_ur
