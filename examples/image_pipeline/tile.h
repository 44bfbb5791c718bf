// SPDX-License-Identifier: Apache-2.0
//
// What the pipeline tells the kernel about a tile, and the shape of a launch. Included by both, so it keeps to what
// every compiler of kernels knows.
#pragma once

#include <stdint.h>

namespace image_pipeline {

/// How far the filter reaches, in pixels.
constexpr uint32_t kHalo = 2;

/// A block has kBlockWidth x kBlockHeight threads; each makes kRowsPerThread pixels, one below the other.
constexpr uint32_t kBlockWidth = 64;
constexpr uint32_t kBlockHeight = 4;
constexpr uint32_t kRowsPerThread = 8;

/// The pixels that a launch makes, and the pixels it has. What it has is what it makes and kHalo pixels around, except
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
