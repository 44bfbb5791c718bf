// SPDX-License-Identifier: Apache-2.0
#include "transfers.h"

#include <anyplace/anyplace.h>
#include <c10/util/Exception.h>

#include <cstring>

#include "errors.h"
#include "streams.h"

namespace anyplace_torch {
namespace {

/// Up to this size a source that isn't pinned is copied into pinned memory first, and nobody waits for the stream.
constexpr std::uint64_t kStagedBytes = 256 << 10;

void submit(anyplace::StreamView stream, bool has_copy_2d, void* destination, const void* source, const Rows& rows) {
  if (rows.count == 1) {
    stream.copy(destination, source, rows.width);
    return;
  }
  if (has_copy_2d) {
    stream.copy_2d(destination, rows.destination_pitch, source, rows.source_pitch, rows.width, rows.count);
    return;
  }
  for (std::uint64_t line = 0; line < rows.count; ++line) {
    stream.copy(static_cast<char*>(destination) + line * rows.destination_pitch,
                static_cast<const char*>(source) + line * rows.source_pitch, rows.width);
  }
}

/// True if it went by way of pinned memory.
bool staged(anyplace::StreamView stream, c10::DeviceIndex index, void* destination, const void* source,
            const Rows& rows) {
  if (rows.count != 1 || rows.width > kStagedBytes || !place(index).has_pinned_memory) return false;
  const anyplace::HostBuffer stage(place(index).device, rows.width);  // may go at once: anyplace waits for the copy
  std::memcpy(stage.data(), source, rows.width);
  stream.copy(destination, stage.data(), rows.width);
  return true;
}

}  // namespace

void upload(c10::DeviceIndex index, void* destination, const void* source, const Rows& rows, bool wait) {
  call([&] {
    const anyplace::StreamView stream = current_view(index);
    if (wait && staged(stream, index, destination, source, rows)) return;
    submit(stream, place(index).has_copy_2d, destination, source, rows);
    if (wait) stream.synchronize();
  });
}

void download(c10::DeviceIndex index, void* destination, const void* source, const Rows& rows, bool wait) {
  call([&] {
    const anyplace::StreamView stream = current_view(index);
    submit(stream, place(index).has_copy_2d, destination, source, rows);
    if (wait) stream.synchronize();
  });
}

void copy_device_to_device(const DeviceRoute& route, void* destination, const void* source, const Rows& rows) {
  call([&] {
    const bool has_copy_2d = place(route.destination).has_copy_2d && place(route.source).has_copy_2d;
    submit(route.stream, has_copy_2d, destination, source, rows);
  });
}

void fill(c10::DeviceIndex index, void* destination, const void* pattern, std::uint64_t pattern_bytes,
          std::uint64_t bytes) {
  call([&] { current_view(index).fill(destination, pattern, pattern_bytes, bytes); });
}

}  // namespace anyplace_torch
