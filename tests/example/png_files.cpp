// SPDX-License-Identifier: Apache-2.0
#include "png_files.h"

#include <png.h>

#include <algorithm>
#include <stdexcept>

namespace example_test {
namespace {

// Thrown through libpng, which has unwind tables on every Debian; the example itself does it by the book, with setjmp.
[[noreturn]] void on_error(png_structp, png_const_charp message) { throw std::runtime_error(message); }
void on_warning(png_structp, png_const_charp) {}

std::uint32_t channels_stored(Color color) {
  switch (color) {
    case Color::grey:
      return 1;
    case Color::grey_alpha:
      return 2;
    case Color::rgb:
      return 3;
    case Color::rgba:
      return 4;
    case Color::palette:
      return 1;
  }
  return 0;
}

int png_color(Color color) {
  switch (color) {
    case Color::grey:
      return PNG_COLOR_TYPE_GRAY;
    case Color::grey_alpha:
      return PNG_COLOR_TYPE_GRAY_ALPHA;
    case Color::rgb:
      return PNG_COLOR_TYPE_RGB;
    case Color::rgba:
      return PNG_COLOR_TYPE_RGB_ALPHA;
    case Color::palette:
      return PNG_COLOR_TYPE_PALETTE;
  }
  return 0;
}

/// One row in the file's own form: 16 bits are big-endian, fewer than 8 are packed, the first in the high bits.
std::vector<png_byte> packed_row(const Stored& picture, std::uint32_t y) {
  const std::size_t count = std::size_t{picture.width} * channels_stored(picture.color);
  std::vector<png_byte> row((count * picture.depth + 7) / 8);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint16_t sample = picture.samples[y * count + i];
    if (picture.depth == 16) {
      row[2 * i] = static_cast<png_byte>(sample >> 8);
      row[2 * i + 1] = static_cast<png_byte>(sample & 255);
    } else {
      const std::size_t bit = i * picture.depth;
      row[bit / 8] = static_cast<png_byte>(row[bit / 8] | (sample << (8 - picture.depth - bit % 8)));
    }
  }
  return row;
}

void append(png_structp png, png_bytep bytes, std::size_t count) {
  static_cast<std::string*>(png_get_io_ptr(png))->append(reinterpret_cast<const char*>(bytes), count);
}
void flush(png_structp) {}

void write_transparency(png_structp png, png_infop info, const Stored& picture) {
  if (!picture.palette_alpha.empty()) {
    png_set_tRNS(png, info, picture.palette_alpha.data(), static_cast<int>(picture.palette_alpha.size()), nullptr);
  }
  if (picture.transparent_color) {
    png_color_16 color{};
    color.gray = (*picture.transparent_color)[0];
    color.red = (*picture.transparent_color)[0];
    color.green = (*picture.transparent_color)[1];
    color.blue = (*picture.transparent_color)[2];
    png_set_tRNS(png, info, nullptr, 0, &color);
  }
}

std::uint8_t to_8_bits(std::uint32_t sample, int depth) {
  const std::uint32_t most = (1u << depth) - 1;
  return static_cast<std::uint8_t>((sample * 255 + most / 2) / most);
}

}  // namespace

Stored noise(std::uint32_t width, std::uint32_t height, Color color, int depth) {
  Stored picture{width, height, color, depth, false, {}, {}, {}, std::nullopt};
  std::uint64_t state = 0x9E3779B97F4A7C15u * (width + 1) + height;
  const auto next = [&state] {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::uint32_t>(state >> 40);
  };
  picture.samples.resize(std::size_t{width} * height * channels_stored(color));
  for (std::uint16_t& sample : picture.samples) sample = static_cast<std::uint16_t>(next() & ((1u << depth) - 1));
  if (color == Color::palette) {
    picture.palette.resize(std::size_t{1} << depth);
    for (auto& entry : picture.palette) {
      entry = {static_cast<std::uint8_t>(next()), static_cast<std::uint8_t>(next()), static_cast<std::uint8_t>(next())};
    }
  }
  return picture;
}

std::string encode(const Stored& picture) {
  std::string file;
  png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, on_error, on_warning);
  png_infop info = png_create_info_struct(png);
  png_set_write_fn(png, &file, append, flush);
  png_set_IHDR(png, info, picture.width, picture.height, picture.depth, png_color(picture.color),
               picture.interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
               PNG_FILTER_TYPE_DEFAULT);
  std::vector<png_color_struct> palette;
  for (const auto& entry : picture.palette) palette.push_back({entry[0], entry[1], entry[2]});
  if (!palette.empty()) png_set_PLTE(png, info, palette.data(), static_cast<int>(palette.size()));
  write_transparency(png, info, picture);
  png_write_info(png, info);
  const int passes = png_set_interlace_handling(png);
  for (int pass = 0; pass < passes; ++pass) {
    for (std::uint32_t y = 0; y < picture.height; ++y) png_write_row(png, packed_row(picture, y).data());
  }
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  return file;
}

Pixels expected_pixels(const Stored& picture) {
  const std::uint32_t stored = channels_stored(picture.color);
  const bool has_palette = picture.color == Color::palette;
  const bool adds_alpha = !picture.palette_alpha.empty() || picture.transparent_color.has_value();
  Pixels pixels{picture.width, picture.height, (has_palette ? 3 : stored) + (adds_alpha ? 1 : 0), {}};
  for (std::size_t at = 0; at < picture.samples.size(); at += stored) {
    if (has_palette) {
      const std::uint16_t index = picture.samples[at];
      for (const std::uint8_t value : picture.palette[index]) pixels.values.push_back(value);
      if (adds_alpha) {
        pixels.values.push_back(index < picture.palette_alpha.size() ? picture.palette_alpha[index] : 255);
      }
      continue;
    }
    bool transparent = picture.transparent_color.has_value();
    for (std::uint32_t channel = 0; channel < stored; ++channel) {
      const std::uint16_t sample = picture.samples[at + channel];
      pixels.values.push_back(to_8_bits(sample, picture.depth));
      transparent = transparent && sample == (*picture.transparent_color)[channel];
    }
    if (adds_alpha) pixels.values.push_back(transparent ? 0 : 255);
  }
  return pixels;
}

Pixels blurred(const Pixels& source) {
  constexpr std::array<int, 5> weights = {1, 4, 6, 4, 1};
  const auto width = static_cast<std::ptrdiff_t>(source.width), height = static_cast<std::ptrdiff_t>(source.height);
  const auto channels = static_cast<std::ptrdiff_t>(source.channels);
  std::vector<int> lines(source.values.size());
  for (std::ptrdiff_t y = 0; y < height; ++y) {
    for (std::ptrdiff_t x = 0; x < width; ++x) {
      for (std::ptrdiff_t c = 0; c < channels; ++c) {
        for (std::ptrdiff_t tap = -2; tap <= 2; ++tap) {
          const std::ptrdiff_t from = std::clamp<std::ptrdiff_t>(x + tap, 0, width - 1);
          lines[(y * width + x) * channels + c] += weights[tap + 2] * source.values[(y * width + from) * channels + c];
        }
      }
    }
  }
  Pixels result = source;
  for (std::ptrdiff_t y = 0; y < height; ++y) {
    for (std::ptrdiff_t i = 0; i < width * channels; ++i) {
      int sum = 128;
      for (std::ptrdiff_t tap = -2; tap <= 2; ++tap) {
        sum += weights[tap + 2] * lines[std::clamp<std::ptrdiff_t>(y + tap, 0, height - 1) * width * channels + i];
      }
      result.values[y * width * channels + i] = static_cast<std::uint8_t>(sum / 256);
    }
  }
  return result;
}

Pixels decode(const std::string& path) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  if (png_image_begin_read_from_file(&image, path.c_str()) == 0) throw std::runtime_error(path + ": " + image.message);
  if ((image.format & (PNG_FORMAT_FLAG_COLORMAP | PNG_FORMAT_FLAG_LINEAR)) != 0) {
    png_image_free(&image);
    throw std::runtime_error(path + " has a palette, or 16 bits");
  }
  Pixels pixels{image.width, image.height, PNG_IMAGE_SAMPLE_CHANNELS(image.format), {}};
  pixels.values.resize(PNG_IMAGE_SIZE(image));
  if (png_image_finish_read(&image, nullptr, pixels.values.data(), 0, nullptr) == 0) {
    throw std::runtime_error(path + ": " + image.message);
  }
  return pixels;
}

std::string chunk(const std::string& type, const std::string& data) {
  const auto big_endian = [](std::uint32_t value) {
    std::string bytes;
    for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<char>(value >> shift & 255));
    return bytes;
  };
  std::uint32_t crc = 0xFFFFFFFFu;
  for (const char byte : type + data) {
    crc ^= static_cast<std::uint8_t>(byte);
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xEDB88320u : 0);
  }
  return big_endian(static_cast<std::uint32_t>(data.size())) + type + data + big_endian(~crc);
}

std::string png_header(std::uint32_t width, std::uint32_t height) {
  std::string data;
  for (const std::uint32_t value : {width, height}) {
    for (int shift = 24; shift >= 0; shift -= 8) data.push_back(static_cast<char>(value >> shift & 255));
  }
  data += std::string("\x08\x02\x00\x00\x00", 5);
  return "\x89PNG\r\n\x1a\n" + chunk("IHDR", data);
}

}  // namespace example_test
