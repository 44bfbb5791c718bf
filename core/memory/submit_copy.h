// SPDX-License-Identifier: Apache-2.0
//
// Submits copies whose arguments were checked to the backend, for both guards of use.h. Each function submits in the
// stream's order, also to a held stream.
#pragma once

#include <cstdint>

#include "anyplace/backend/abi.h"
#include "handles/use.h"
#include "memory/copy_checks.h"
#include "plugins/device_properties.h"
#include "streams/stream_state.h"
#include "streams/work.h"

namespace anyplace::detail {

template <class Guard>
[[gnu::always_inline]] inline void submit_bytes(const Guard& guard, std::uint32_t kind, anyplace_address destination,
                                                anyplace_address source, std::uint64_t bytes, const char* operation) {
  const auto copy = [table = guard.second().device->table, self = guard.second().device->self,
                     handle = guard.second().handle, destination, source, bytes,
                     kind] { return table->memory_copy(self, handle, destination, source, bytes, kind); };
  submit_with(guard, operation, copy, [&] {
    return CopyWork{.copy = {sizeof(anyplace_copy_2d), kind, destination, bytes, source, bytes, bytes, 1}};
  });
}

inline bool is_one_piece(const anyplace_copy_2d& copy) noexcept {
  return copy.rows == 1 || (copy.destination_pitch == copy.width && copy.source_pitch == copy.width);
}

/// Copies contiguous lines as one piece, and other lines one by one, for a device that can't copy lines. It isn't
/// inlined, so that an ordinary copy of lines has no registers to save.
template <class Guard>
[[gnu::noinline]] void submit_pieces(const Guard& guard, const anyplace_copy_2d& copy, const char* operation) {
  if (is_one_piece(copy)) {
    submit_bytes(guard, copy.kind, copy.destination, copy.source, copy.width * copy.rows, operation);
    return;
  }
  for (std::uint64_t row = 0; row < copy.rows; ++row) {
    submit_bytes(guard, copy.kind, copy.destination + row * copy.destination_pitch,
                 copy.source + row * copy.source_pitch, copy.width, operation);
  }
}

template <class Guard>
[[gnu::always_inline]] inline void submit_lines(const Guard& guard, const anyplace_copy_2d& copy,
                                                const char* operation) {
  StreamState& stream = guard.second();
  if (is_one_piece(copy) || !has_capability(*stream.device, Capability::copy_2d, operation)) [[unlikely]] {
    return submit_pieces(guard, copy, operation);
  }
  const auto submit_now = [&] {
    return stream.device->table->memory_copy_2d(stream.device->self, stream.handle, &copy);
  };
  submit_with(guard, operation, submit_now, [&] { return CopyWork{.copy = copy}; });
}

template <class Guard>
[[gnu::always_inline]] inline void submit_copy(const Guard& guard, std::uint32_t kind, anyplace_address destination,
                                               anyplace_address source, const WholeCopy& shape, const char* operation) {
  submit_bytes(guard, kind, destination, source, shape.bytes, operation);
}
template <class Guard>
[[gnu::always_inline]] inline void submit_copy(const Guard& guard, std::uint32_t kind, anyplace_address destination,
                                               anyplace_address source, const LineCopy& shape, const char* operation) {
  submit_lines(guard, shape.as_lines(kind, destination, source), operation);
}

/// Copies lines between memory of two devices; the stream belongs to either. copy.kind isn't used.
void submit_between_devices(StreamState& stream, DeviceState& to, DeviceState& from, anyplace_copy_2d copy,
                            const char* operation);

}  // namespace anyplace::detail
