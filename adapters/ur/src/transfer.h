// SPDX-License-Identifier: Apache-2.0
//
// Transfers: copies and fills of what UR allows and anyplace's streams don't have as one call.
#pragma once

#include <cstddef>
#include <cstdint>

#include <anyplace/stream.h>
#include <unified-runtime/ur_api.h>

namespace anyplace_ur {

/// One side of a copy of a region in three dimensions. Pitches of 0 stand for no gap.
struct RectSide {
  anyplace::Address address;
  ur_rect_offset_t origin;
  std::size_t row_pitch;
  std::size_t slice_pitch;
};

/// Copies slice by slice.
void copy_rect(anyplace::StreamView stream, const RectSide& destination, const RectSide& source,
               const ur_rect_region_t& region);

/// Fills with a pattern of any size; `bytes` is a multiple of it.
void fill(anyplace::StreamView stream, anyplace::Address destination, const void* pattern, std::size_t pattern_bytes,
          std::size_t bytes);
/// The same for `rows` lines of `width` bytes. A pattern that is no part of a line goes on in the next.
void fill_2d(anyplace::StreamView stream, anyplace::Address destination, std::size_t pitch, const void* pattern,
             std::size_t pattern_bytes, std::size_t width, std::size_t rows);

}  // namespace anyplace_ur
