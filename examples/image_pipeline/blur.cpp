// SPDX-License-Identifier: Apache-2.0
//
// The kernel (kernels/blur.cu) and its check are written apart on purpose: they share nothing.
#include "blur.h"

#include <algorithm>
#include <cstddef>

namespace image_pipeline {
namespace {

constexpr std::uint32_t weights[5] = {1, 4, 6, 4, 1};

std::uint8_t blurred(const Picture& source, std::uint32_t x, std::uint32_t y, std::uint32_t channel) {
  const std::int64_t last_x = std::int64_t{source.width} - 1, last_y = std::int64_t{source.height} - 1;
  std::uint32_t sum = 0;
  for (int dy = -2; dy <= 2; ++dy) {
    for (int dx = -2; dx <= 2; ++dx) {
      const auto from_x = static_cast<std::uint32_t>(std::clamp<std::int64_t>(std::int64_t{x} + dx, 0, last_x));
      const auto from_y = static_cast<std::uint32_t>(std::clamp<std::int64_t>(std::int64_t{y} + dy, 0, last_y));
      const std::uint8_t pixel = source.row(from_y)[std::size_t{from_x} * source.channels + channel];
      sum += weights[dx + 2] * weights[dy + 2] * pixel;
    }
  }
  return static_cast<std::uint8_t>((sum + 128) >> 8);
}

}  // namespace

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
