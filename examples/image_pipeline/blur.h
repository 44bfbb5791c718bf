// SPDX-License-Identifier: Apache-2.0
//
// The blur, and nothing about devices: an integer 5 x 5 binomial filter, (1 4 6 4 1) in both directions, each channel
// by itself, edges clamped, (sum + 128) >> 8. Once as the kernel of one tile, once as the plain loop that checks it.
#pragma once

#include <cstdint>
#include <optional>

#include "anyplace/kernel.h"
#include "picture.h"

namespace image_pipeline {

/// How far the filter reaches, in pixels.
inline constexpr std::uint32_t kHalo = 2;

/// What the kernel is told about a tile: the pixels it makes, and the pixels it has. What it has is what it makes and
/// kHalo pixels around, except where the picture ends; there the edge is clamped. Rows have no gaps. Passed by value,
/// so it keeps to types that look the same on every device.
struct TileShape {
  std::uint32_t width = 0;  ///< of what is made
  std::uint32_t height = 0;
  std::uint32_t source_width = 0;
  std::uint32_t source_height = 0;
  std::uint32_t left = 0;  ///< where in the source the first pixel made is
  std::uint32_t top = 0;
  std::uint32_t channels = 0;
};

/// The kernel: a block makes the pixels that its threads stand for, one each. Needs blur_shared_bytes of shared memory.
void blur_block(const anyplace::Block& block, const std::uint8_t* source, std::uint8_t* target, TileShape tile);

std::uint64_t blur_shared_bytes(std::uint32_t block_width, std::uint32_t channels);

struct Mismatch {
  std::uint32_t x = 0;
  std::uint32_t y = 0;
  std::uint32_t channel = 0;
  int expected = 0;
  int found = 0;
};

/// Blurs `source` on the host, a pixel at a time, and compares: the first byte of `result` that is another, or nothing.
std::optional<Mismatch> check_on_host(const Picture& source, const Picture& result);

}  // namespace image_pipeline
