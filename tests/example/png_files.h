// SPDX-License-Identifier: Apache-2.0
//
// PNG files of every kind for the tests, what they must be decoded to, and the blur that they must become; all of it
// written apart from the example's own code.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace example_test {

enum class Color { grey, grey_alpha, rgb, rgba, palette };

/// What a PNG file stores: samples, row by row, each of `depth` bits.
struct Stored {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  Color color = Color::rgb;
  int depth = 8;
  bool interlaced = false;
  std::vector<std::uint16_t> samples;
  std::vector<std::array<std::uint8_t, 3>> palette;
  std::vector<std::uint8_t> palette_alpha;                        ///< of the first entries; empty: none
  std::optional<std::array<std::uint16_t, 3>> transparent_color;  ///< of grey (the first number) and RGB
};

/// Pixels with 8 bits a channel.
struct Pixels {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::uint32_t channels = 0;
  std::vector<std::uint8_t> values;

  friend bool operator==(const Pixels&, const Pixels&) = default;
};

/// Noise, the same for the same arguments, which uses the full range of the samples.
Stored noise(std::uint32_t width, std::uint32_t height, Color color, int depth = 8);

/// The bytes of the file. Throws what libpng says.
std::string encode(const Stored& picture);

/// What the file's pixels are with 8 bits a channel.
Pixels expected_pixels(const Stored& picture);

/// The 5 x 5 binomial blur, one direction after the other.
Pixels blurred(const Pixels& source);

/// The pixels of an 8-bit file without a palette. Throws if it is none.
Pixels decode(const std::string& path);

/// A chunk with its length and its checksum.
std::string chunk(const std::string& type, const std::string& data);
/// Signature and header of an RGB file; whatever is said of its size.
std::string png_header(std::uint32_t width, std::uint32_t height);

}  // namespace example_test
