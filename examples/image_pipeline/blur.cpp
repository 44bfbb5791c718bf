// SPDX-License-Identifier: Apache-2.0
//
// The kernel and its check are written apart on purpose: they share the weights and nothing else.
#include "blur.h"

#include <algorithm>
#include <cstddef>

namespace image_pipeline {
namespace {

constexpr std::uint32_t kWeights[5] = {1, 4, 6, 4, 1};

std::uint8_t blurred(const Picture& source, std::uint32_t x, std::uint32_t y, std::uint32_t channel) {
  const std::int64_t last_x = std::int64_t{source.width} - 1, last_y = std::int64_t{source.height} - 1;
  std::uint32_t sum = 0;
  for (int dy = -2; dy <= 2; ++dy) {
    for (int dx = -2; dx <= 2; ++dx) {
      const auto from_x = static_cast<std::uint32_t>(std::clamp<std::int64_t>(std::int64_t{x} + dx, 0, last_x));
      const auto from_y = static_cast<std::uint32_t>(std::clamp<std::int64_t>(std::int64_t{y} + dy, 0, last_y));
      const std::uint8_t pixel = source.row(from_y)[std::size_t{from_x} * source.channels + channel];
      sum += kWeights[dx + 2] * kWeights[dy + 2] * pixel;
    }
  }
  return static_cast<std::uint8_t>((sum + 128) >> 8);
}

/// Where the filter's tap lies that belongs to `at`, without going below 0 or past the end.
std::uint32_t tap_position(std::uint32_t at, std::uint32_t tap, std::uint32_t size) {
  return std::min(std::max(at + tap, kHalo) - kHalo, size - 1);
}

}  // namespace

std::uint64_t blur_shared_bytes(std::uint32_t block_width, std::uint32_t channels) {
  return (std::uint64_t{block_width} + 2 * kHalo) * channels * sizeof(std::uint16_t);
}

// Row by row, each in two passes: down the columns into shared memory, then along the row. Both sums fit 16 bits
// (16 * 16 * 255 + 128), and the second pass is one straight loop, which compilers turn into vector code.
void blur_block(const anyplace::Block& block, const std::uint8_t* source, std::uint8_t* target, TileShape tile) {
  const std::uint32_t left = block.index().x * block.size().x, top = block.index().y * block.size().y;
  const std::uint32_t width = std::min(block.size().x, tile.width - left);
  const std::uint32_t bottom = top + std::min(block.size().y, tile.height - top);
  const std::uint32_t channels = tile.channels;
  const std::size_t row_bytes = std::size_t{tile.source_width} * channels;
  auto* const line = reinterpret_cast<std::uint16_t*>(block.shared().data());
  for (std::uint32_t y = top; y < bottom; ++y) {
    const std::uint8_t* rows[5];
    for (std::uint32_t tap = 0; tap < 5; ++tap) {
      rows[tap] = source + tap_position(tile.top + y, tap, tile.source_height) * row_bytes;
    }
    for (std::uint32_t column = 0; column < width + 2 * kHalo; ++column) {
      const std::size_t from = std::size_t{tap_position(tile.left + left, column, tile.source_width)} * channels;
      for (std::uint32_t channel = 0; channel < channels; ++channel) {
        std::uint32_t sum = 0;
        for (std::uint32_t tap = 0; tap < 5; ++tap) sum += kWeights[tap] * rows[tap][from + channel];
        line[column * channels + channel] = static_cast<std::uint16_t>(sum);
      }
    }
    std::uint8_t* const out = target + (std::size_t{y} * tile.width + left) * channels;
    for (std::uint32_t i = 0; i < width * channels; ++i) {
      const std::uint32_t sum = line[i] + 4u * line[i + channels] + 6u * line[i + 2 * channels] +
                                4u * line[i + 3 * channels] + line[i + 4 * channels];
      out[i] = static_cast<std::uint8_t>((sum + 128) >> 8);
    }
  }
}

std::optional<Mismatch> check_on_host(const Picture& source, const Picture& result) {
  for (std::uint32_t y = 0; y < source.height; ++y) {
    for (std::uint32_t x = 0; x < source.width; ++x) {
      for (std::uint32_t channel = 0; channel < source.channels; ++channel) {
        const int expected = blurred(source, x, y, channel);
        const int found = result.row(y)[std::size_t{x} * result.channels + channel];
        if (expected != found) return Mismatch{x, y, channel, expected, found};
      }
    }
  }
  return std::nullopt;
}

}  // namespace image_pipeline
