// SPDX-License-Identifier: Apache-2.0
//
// Picture: pixels in host memory, 8 bits a channel, rows from the top without gaps. What the rest of the example passes
// around; how it comes from and goes to a file is png_io.h's business.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace image_pipeline {

struct Picture {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::uint32_t channels = 0;  ///< 1 grey, 2 grey and alpha, 3 RGB, 4 RGBA
  std::vector<std::uint8_t> pixels;

  std::size_t row_bytes() const { return std::size_t{width} * channels; }
  const std::uint8_t* row(std::uint32_t y) const { return pixels.data() + y * row_bytes(); }
  std::uint8_t* row(std::uint32_t y) { return pixels.data() + y * row_bytes(); }
};

/// The upper left corner, at most `size` pixels wide and high.
inline Picture corner_of(const Picture& picture, std::uint32_t size) {
  Picture corner;
  corner.width = std::min(picture.width, size);
  corner.height = std::min(picture.height, size);
  corner.channels = picture.channels;
  corner.pixels.resize(corner.row_bytes() * corner.height);
  for (std::uint32_t y = 0; y < corner.height; ++y) {
    std::copy_n(picture.row(y), corner.row_bytes(), corner.row(y));
  }
  return corner;
}

}  // namespace image_pipeline
