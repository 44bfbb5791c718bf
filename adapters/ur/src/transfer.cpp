// SPDX-License-Identifier: Apache-2.0
#include "transfer.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace anyplace_ur {

namespace {

constexpr std::size_t max_pattern = 128;  ///< bytes that a stream's fill takes

struct Pitches {
  std::size_t row;
  std::size_t slice;
};

Pitches pitches_of(const RectSide& side, const ur_rect_region_t& region) {
  const std::size_t row = side.row_pitch == 0 ? region.width : side.row_pitch;
  return {row, side.slice_pitch == 0 ? row * region.height : side.slice_pitch};
}

std::uint64_t begin_of(const RectSide& side, const Pitches& pitches, std::uint64_t slice) {
  return side.address.value() + (side.origin.z + slice) * pitches.slice + side.origin.y * pitches.row + side.origin.x;
}

/// The pattern in memory that stays until the copies from it are done, also when the buffer is gone.
anyplace::HostBuffer keep(anyplace::StreamView stream, const void* pattern, std::size_t bytes) {
  anyplace::HostBuffer kept(stream.device(), bytes);
  std::memcpy(kept.data(), pattern, bytes);
  return kept;
}

bool is_fill(std::size_t pattern_bytes) { return std::has_single_bit(pattern_bytes) && pattern_bytes <= max_pattern; }

}  // namespace

void copy_rect(anyplace::StreamView stream, const RectSide& destination, const RectSide& source,
               const ur_rect_region_t& region) {
  const Pitches to = pitches_of(destination, region);
  const Pitches from = pitches_of(source, region);
  for (std::uint64_t slice = 0; slice < region.depth; ++slice) {
    stream.copy_2d(anyplace::Address(begin_of(destination, to, slice)), to.row,
                   anyplace::Address(begin_of(source, from, slice)), from.row, region.width, region.height);
  }
}

void fill(anyplace::StreamView stream, anyplace::Address destination, const void* pattern, std::size_t pattern_bytes,
          std::size_t bytes) {
  if (is_fill(pattern_bytes)) return stream.fill(destination, pattern, pattern_bytes, bytes);
  // Once from the host, then what is there is copied to its double size.
  const anyplace::HostBuffer kept = keep(stream, pattern, pattern_bytes);
  stream.copy(destination, anyplace::Address(kept.data()), pattern_bytes);
  for (std::size_t done = pattern_bytes; done < bytes;) {
    const std::size_t piece = std::min(done, bytes - done);
    stream.copy(anyplace::Address(destination.value() + done), destination, piece);
    done += piece;
  }
}

void fill_2d(anyplace::StreamView stream, anyplace::Address destination, std::size_t pitch, const void* pattern,
             std::size_t pattern_bytes, std::size_t width, std::size_t rows) {
  const bool whole_lines = width % pattern_bytes == 0;
  if (whole_lines && is_fill(pattern_bytes)) {
    return stream.fill_2d(destination, pitch, pattern, pattern_bytes, width, rows);
  }
  if (whole_lines) {
    for (std::size_t row = 0; row < rows; ++row) {
      fill(stream, anyplace::Address(destination.value() + row * pitch), pattern, pattern_bytes, width);
    }
    return;
  }
  // The pattern goes on from line to line.
  const anyplace::HostBuffer kept = keep(stream, pattern, pattern_bytes);
  for (std::size_t done = 0; done < width * rows;) {
    const std::size_t in_line = done % width;
    const std::size_t in_pattern = done % pattern_bytes;
    const std::size_t piece = std::min(width - in_line, pattern_bytes - in_pattern);
    stream.copy(anyplace::Address(destination.value() + done / width * pitch + in_line),
                anyplace::Address(kept.data() + in_pattern), piece);
    done += piece;
  }
}

}  // namespace anyplace_ur
