// SPDX-License-Identifier: Apache-2.0
//
// Picture: pixels in host memory, 8 bits a channel, rows from the top without gaps. What the rest of the example passes
// around; how it comes from and goes to a file is png_io.h's business.
#pragma once

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

}  // namespace image_pipeline
