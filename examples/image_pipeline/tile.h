// SPDX-License-Identifier: Apache-2.0
//
// What the pipeline tells the kernel about a tile, and the shape of a launch. Included by both, so it keeps to what
// every compiler of kernels knows.
#pragma once

#include <stdint.h>

namespace image_pipeline {

/// How far the filter reaches, in pixels.
constexpr uint32_t halo = 2;

/// A block has block_width x block_height threads; each makes rows_per_thread pixels, one below the other.
constexpr uint32_t block_width = 64;
constexpr uint32_t block_height = 4;
constexpr uint32_t rows_per_thread = 8;

/// The pixels that a launch makes, and the pixels it has. What it has is what it makes and halo pixels around, except
/// where the picture ends; there the edge is clamped. Rows have no gaps. Passed by value, so it keeps to types that
/// look the same on every device.
struct TileShape {
  uint32_t width;  ///< of what is made
  uint32_t height;
  uint32_t source_width;
  uint32_t source_height;
  uint32_t left;  ///< where in the source the first pixel made is
  uint32_t top;
  uint32_t channels;
};

}  // namespace image_pipeline
