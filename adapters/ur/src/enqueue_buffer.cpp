// SPDX-License-Identifier: Apache-2.0
//
// Commands on buffers: reading, writing, copying, filling; whole ranges and regions in three dimensions.
#include "command.h"
#include "entries.h"
#include "memory.h"
#include "transfer.h"

namespace anyplace_ur {

namespace {

void check_range(ur_mem_handle_t buffer, std::size_t offset, std::size_t size) {
  require(size != 0, UR_RESULT_ERROR_INVALID_SIZE, "the range is empty");
  require(offset <= buffer->size && size <= buffer->size - offset, UR_RESULT_ERROR_INVALID_SIZE,
          "the range isn't within the buffer");
}

void check_context(ur_queue_handle_t queue, ur_mem_handle_t buffer) {
  require(queue->context.get() == buffer->context.get(), UR_RESULT_ERROR_INVALID_CONTEXT,
          "queue and buffer are of different contexts");
}

anyplace::Address begin_of(ur_queue_handle_t queue, ur_mem_handle_t buffer, anyplace::StreamView stream,
                           Access access) {
  const anyplace::Address begin = buffer->storage->for_copies(queue->device, stream, access);
  return anyplace::Address(begin.value() + buffer->offset);
}

anyplace::Address address_in(ur_queue_handle_t queue, ur_mem_handle_t buffer, anyplace::StreamView stream,
                             Access access, std::size_t offset) {
  return anyplace::Address(begin_of(queue, buffer, stream, access).value() + offset);
}

/// Throws if the region, its pitches and the side's size don't go together. The size of the host's side isn't known.
void check_region(const ur_rect_region_t& region, const ur_rect_offset_t& origin, std::size_t row_pitch,
                  std::size_t slice_pitch, std::size_t size) {
  require(region.width != 0 && region.height != 0 && region.depth != 0, UR_RESULT_ERROR_INVALID_SIZE,
          "the region is empty");
  require(row_pitch == 0 || row_pitch >= region.width, UR_RESULT_ERROR_INVALID_SIZE,
          "a row's pitch is less than the region's width");
  const std::size_t row = row_pitch == 0 ? region.width : row_pitch;
  require(slice_pitch == 0 || slice_pitch >= row * region.height, UR_RESULT_ERROR_INVALID_SIZE,
          "a slice's pitch is less than the region's rows");
  const std::size_t slice = slice_pitch == 0 ? row * region.height : slice_pitch;
  const std::size_t last =
      (origin.z + region.depth - 1) * slice + (origin.y + region.height - 1) * row + origin.x + region.width;
  require(last <= size, UR_RESULT_ERROR_INVALID_SIZE, "the region isn't within the buffer");
}

constexpr std::size_t any_size = ~std::size_t{0};

}  // namespace

ur_result_t urEnqueueMemBufferRead(ur_queue_handle_t queue, ur_mem_handle_t buffer, bool blocking, size_t offset,
                                   size_t size, void* destination, uint32_t count, const ur_event_handle_t* waits,
                                   ur_event_handle_t* event) {
  return guarded("urEnqueueMemBufferRead", [&] {
    require_handle(queue);
    require_handle(buffer);
    require_pointer(destination);
    check_context(queue, buffer);
    check_range(buffer, offset, size);
    submit(queue, UR_COMMAND_MEM_BUFFER_READ, blocking, {count, waits}, event, [&](anyplace::StreamView stream) {
      stream.copy(anyplace::Address(destination), address_in(queue, buffer, stream, Access::read, offset), size);
    });
  });
}

ur_result_t urEnqueueMemBufferWrite(ur_queue_handle_t queue, ur_mem_handle_t buffer, bool blocking, size_t offset,
                                    size_t size, const void* source, uint32_t count, const ur_event_handle_t* waits,
                                    ur_event_handle_t* event) {
  return guarded("urEnqueueMemBufferWrite", [&] {
    require_handle(queue);
    require_handle(buffer);
    require_pointer(source);
    check_context(queue, buffer);
    check_range(buffer, offset, size);
    submit(queue, UR_COMMAND_MEM_BUFFER_WRITE, blocking, {count, waits}, event, [&](anyplace::StreamView stream) {
      stream.copy(address_in(queue, buffer, stream, Access::write, offset), anyplace::Address(source), size);
    });
  });
}

ur_result_t urEnqueueMemBufferReadRect(ur_queue_handle_t queue, ur_mem_handle_t buffer, bool blocking,
                                       ur_rect_offset_t buffer_origin, ur_rect_offset_t host_origin,
                                       ur_rect_region_t region, size_t buffer_row_pitch, size_t buffer_slice_pitch,
                                       size_t host_row_pitch, size_t host_slice_pitch, void* destination,
                                       uint32_t count, const ur_event_handle_t* waits, ur_event_handle_t* event) {
  return guarded("urEnqueueMemBufferReadRect", [&] {
    require_handle(queue);
    require_handle(buffer);
    require_pointer(destination);
    check_context(queue, buffer);
    check_region(region, buffer_origin, buffer_row_pitch, buffer_slice_pitch, buffer->size);
    check_region(region, host_origin, host_row_pitch, host_slice_pitch, any_size);
    submit(queue, UR_COMMAND_MEM_BUFFER_READ_RECT, blocking, {count, waits}, event, [&](anyplace::StreamView stream) {
      copy_rect(stream, {anyplace::Address(destination), host_origin, host_row_pitch, host_slice_pitch},
                {begin_of(queue, buffer, stream, Access::read), buffer_origin, buffer_row_pitch, buffer_slice_pitch},
                region);
    });
  });
}

ur_result_t urEnqueueMemBufferWriteRect(ur_queue_handle_t queue, ur_mem_handle_t buffer, bool blocking,
                                        ur_rect_offset_t buffer_origin, ur_rect_offset_t host_origin,
                                        ur_rect_region_t region, size_t buffer_row_pitch, size_t buffer_slice_pitch,
                                        size_t host_row_pitch, size_t host_slice_pitch, void* source, uint32_t count,
                                        const ur_event_handle_t* waits, ur_event_handle_t* event) {
  return guarded("urEnqueueMemBufferWriteRect", [&] {
    require_handle(queue);
    require_handle(buffer);
    require_pointer(source);
    check_context(queue, buffer);
    check_region(region, buffer_origin, buffer_row_pitch, buffer_slice_pitch, buffer->size);
    check_region(region, host_origin, host_row_pitch, host_slice_pitch, any_size);
    submit(queue, UR_COMMAND_MEM_BUFFER_WRITE_RECT, blocking, {count, waits}, event, [&](anyplace::StreamView stream) {
      copy_rect(stream,
                {begin_of(queue, buffer, stream, Access::write), buffer_origin, buffer_row_pitch, buffer_slice_pitch},
                {anyplace::Address(source), host_origin, host_row_pitch, host_slice_pitch}, region);
    });
  });
}

ur_result_t urEnqueueMemBufferCopy(ur_queue_handle_t queue, ur_mem_handle_t source, ur_mem_handle_t destination,
                                   size_t source_offset, size_t destination_offset, size_t size, uint32_t count,
                                   const ur_event_handle_t* waits, ur_event_handle_t* event) {
  return guarded("urEnqueueMemBufferCopy", [&] {
    require_handle(queue);
    require_handle(source);
    require_handle(destination);
    check_context(queue, source);
    check_context(queue, destination);
    check_range(source, source_offset, size);
    check_range(destination, destination_offset, size);
    submit(queue, UR_COMMAND_MEM_BUFFER_COPY, {count, waits}, event, [&](anyplace::StreamView stream) {
      const anyplace::Address from = address_in(queue, source, stream, Access::read, source_offset);
      stream.copy(address_in(queue, destination, stream, Access::write, destination_offset), from, size);
    });
  });
}

ur_result_t urEnqueueMemBufferCopyRect(ur_queue_handle_t queue, ur_mem_handle_t source, ur_mem_handle_t destination,
                                       ur_rect_offset_t source_origin, ur_rect_offset_t destination_origin,
                                       ur_rect_region_t region, size_t source_row_pitch, size_t source_slice_pitch,
                                       size_t destination_row_pitch, size_t destination_slice_pitch, uint32_t count,
                                       const ur_event_handle_t* waits, ur_event_handle_t* event) {
  return guarded("urEnqueueMemBufferCopyRect", [&] {
    require_handle(queue);
    require_handle(source);
    require_handle(destination);
    check_context(queue, source);
    check_context(queue, destination);
    check_region(region, source_origin, source_row_pitch, source_slice_pitch, source->size);
    check_region(region, destination_origin, destination_row_pitch, destination_slice_pitch, destination->size);
    submit(queue, UR_COMMAND_MEM_BUFFER_COPY_RECT, {count, waits}, event, [&](anyplace::StreamView stream) {
      const anyplace::Address from = begin_of(queue, source, stream, Access::read);
      copy_rect(stream,
                {begin_of(queue, destination, stream, Access::write), destination_origin, destination_row_pitch,
                 destination_slice_pitch},
                {from, source_origin, source_row_pitch, source_slice_pitch}, region);
    });
  });
}

ur_result_t urEnqueueMemBufferFill(ur_queue_handle_t queue, ur_mem_handle_t buffer, const void* pattern,
                                   size_t pattern_bytes, size_t offset, size_t size, uint32_t count,
                                   const ur_event_handle_t* waits, ur_event_handle_t* event) {
  return guarded("urEnqueueMemBufferFill", [&] {
    require_handle(queue);
    require_handle(buffer);
    require_pointer(pattern);
    check_context(queue, buffer);
    require(pattern_bytes != 0 && size % pattern_bytes == 0 && offset % pattern_bytes == 0,
            UR_RESULT_ERROR_INVALID_SIZE, "offset and size are multiples of the pattern");
    check_range(buffer, offset, size);
    submit(queue, UR_COMMAND_MEM_BUFFER_FILL, {count, waits}, event, [&](anyplace::StreamView stream) {
      fill(stream, address_in(queue, buffer, stream, Access::write, offset), pattern, pattern_bytes, size);
    });
  });
}

}  // namespace anyplace_ur
