// SPDX-License-Identifier: Apache-2.0
//
// Commands on USM, and on any other memory of the host.
#include "allocations.h"
#include "command.h"
#include "entries.h"
#include "transfer.h"

namespace anyplace_ur {

namespace {

/// A range that begins in an allocation must end there.
void check_range(const void* memory, std::uint64_t bytes, const char* what) {
  require_pointer(memory);
  const std::uint64_t begin = reinterpret_cast<std::uintptr_t>(memory);
  const auto info = allocations().find(begin);
  if (!info.has_value()) return;
  require(bytes <= info->size - (begin - info->base), UR_RESULT_ERROR_INVALID_SIZE, what);
}

/// The bytes from the first of `rows` lines to the last.
std::uint64_t extent(std::size_t pitch, std::size_t width, std::size_t rows) {
  return rows == 0 ? 0 : std::uint64_t{pitch} * (rows - 1) + width;
}

void check_pattern(const void* pattern, std::size_t pattern_bytes, std::size_t bytes) {
  require_pointer(pattern);
  require(pattern_bytes != 0 && bytes != 0 && bytes % pattern_bytes == 0, UR_RESULT_ERROR_INVALID_SIZE,
          "what is filled is a multiple of the pattern, and neither is empty");
}

}  // namespace

ur_result_t urEnqueueUSMFill(ur_queue_handle_t queue, void* memory, size_t pattern_bytes, const void* pattern,
                             size_t size, uint32_t count, const ur_event_handle_t* waits, ur_event_handle_t* event) {
  return guarded("urEnqueueUSMFill", [&] {
    require_handle(queue);
    check_pattern(pattern, pattern_bytes, size);
    check_range(memory, size, "the fill goes beyond its allocation");
    submit(queue, UR_COMMAND_USM_FILL, {count, waits}, event,
           [&](anyplace::StreamView stream) { fill(stream, anyplace::Address(memory), pattern, pattern_bytes, size); });
  });
}

ur_result_t urEnqueueUSMMemcpy(ur_queue_handle_t queue, bool blocking, void* destination, const void* source,
                               size_t size, uint32_t count, const ur_event_handle_t* waits, ur_event_handle_t* event) {
  return guarded("urEnqueueUSMMemcpy", [&] {
    require_handle(queue);
    require(size != 0, UR_RESULT_ERROR_INVALID_SIZE, "there are no bytes to copy");
    check_range(destination, size, "the copy goes beyond its destination");
    check_range(source, size, "the copy goes beyond its source");
    submit(queue, UR_COMMAND_USM_MEMCPY, blocking, {count, waits}, event, [&](anyplace::StreamView stream) {
      stream.copy(anyplace::Address(destination), anyplace::Address(source), size);
    });
  });
}

ur_result_t urEnqueueUSMPrefetch(ur_queue_handle_t queue, const void* memory, size_t size, ur_usm_migration_flags_t,
                                 uint32_t count, const ur_event_handle_t* waits, ur_event_handle_t* event) {
  return guarded("urEnqueueUSMPrefetch", [&] {
    require_handle(queue);
    require(size != 0, UR_RESULT_ERROR_INVALID_SIZE, "there are no bytes to prefetch");
    check_range(memory, size, "the range goes beyond its allocation");
    // A hint, for which anyplace has no call: the command is done when what it waits for is.
    submit(queue, UR_COMMAND_USM_PREFETCH, {count, waits}, event, [](anyplace::StreamView) {});
  });
}

ur_result_t urEnqueueUSMAdvise(ur_queue_handle_t queue, const void* memory, size_t size, ur_usm_advice_flags_t advice,
                               ur_event_handle_t* event) {
  return guarded("urEnqueueUSMAdvise", [&] {
    require_handle(queue);
    require((advice & UR_USM_ADVICE_FLAGS_MASK) == 0, UR_RESULT_ERROR_INVALID_ENUMERATION, "there is no such advice");
    require(size != 0, UR_RESULT_ERROR_INVALID_SIZE, "there are no bytes to advise on");
    check_range(memory, size, "the range goes beyond its allocation");
    submit(queue, UR_COMMAND_USM_ADVISE, {}, event, [](anyplace::StreamView) {});  // a hint, too
  });
}

ur_result_t urEnqueueUSMFill2D(ur_queue_handle_t queue, void* memory, size_t pitch, size_t pattern_bytes,
                               const void* pattern, size_t width, size_t rows, uint32_t count,
                               const ur_event_handle_t* waits, ur_event_handle_t* event) {
  return guarded("urEnqueueUSMFill2D", [&] {
    require_handle(queue);
    require(pitch != 0 && rows != 0 && pitch >= width, UR_RESULT_ERROR_INVALID_SIZE,
            "lines have a pitch of at least their width");
    check_pattern(pattern, pattern_bytes, width * rows);
    check_range(memory, extent(pitch, width, rows), "the fill goes beyond its allocation");
    submit(queue, UR_COMMAND_USM_FILL_2D, {count, waits}, event, [&](anyplace::StreamView stream) {
      fill_2d(stream, anyplace::Address(memory), pitch, pattern, pattern_bytes, width, rows);
    });
  });
}

ur_result_t urEnqueueUSMMemcpy2D(ur_queue_handle_t queue, bool blocking, void* destination, size_t destination_pitch,
                                 const void* source, size_t source_pitch, size_t width, size_t rows, uint32_t count,
                                 const ur_event_handle_t* waits, ur_event_handle_t* event) {
  return guarded("urEnqueueUSMMemcpy2D", [&] {
    require_handle(queue);
    require(width != 0 && rows != 0 && destination_pitch >= width && source_pitch >= width,
            UR_RESULT_ERROR_INVALID_SIZE, "lines have a pitch of at least their width, and none is empty");
    check_range(destination, extent(destination_pitch, width, rows), "the copy goes beyond its destination");
    check_range(source, extent(source_pitch, width, rows), "the copy goes beyond its source");
    submit(queue, UR_COMMAND_USM_MEMCPY_2D, blocking, {count, waits}, event, [&](anyplace::StreamView stream) {
      stream.copy_2d(anyplace::Address(destination), destination_pitch, anyplace::Address(source), source_pitch, width,
                     rows);
    });
  });
}

}  // namespace anyplace_ur
