// SPDX-License-Identifier: Apache-2.0
#include "loops.h"

#include <anyplace/anyplace.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include "image_pipeline/tile.h"
#include "speed_kernels.h"

namespace bench {
namespace {

/// Two inputs at most and a result, there and here; a stream, and the kernel.
template <class T>
class Data {
 public:
  Data(const std::string& place, const char* kernel, std::size_t elements)
      : device_(place),
        stream_(device_),
        module_(device_, speed_kernels),
        kernel_(module_.kernel(kernel)),
        values(elements),
        result(elements),
        there_(stream_, elements * sizeof(T)),
        made_(stream_, elements * sizeof(T)) {
    for (std::size_t i = 0; i < elements; ++i) values[i] = static_cast<T>(i * 2654435761U >> 24);
    stream_.copy(there_, anyplace::ConstHostSpan(values));
    stream_.synchronize();
  }
  std::vector<T> computed() {
    std::vector<T> back(result.size());
    stream_.copy(anyplace::HostSpan(back), made_);
    stream_.synchronize();
    return back;
  }

 private:
  anyplace::Device device_;
  anyplace::Stream stream_;
  anyplace::Module module_;
  anyplace::KernelView kernel_;

 public:
  std::vector<T> values;
  std::vector<T> result;

 protected:
  const anyplace::Stream& stream() const { return stream_; }
  anyplace::KernelView kernel() const { return kernel_; }
  const anyplace::Buffer& there() const { return there_; }
  const anyplace::Buffer& made() const { return made_; }

 private:
  anyplace::Buffer there_;
  anyplace::Buffer made_;
};

class Matrix final : public Loop, private Data<float> {
 public:
  explicit Matrix(const std::string& place) : Data(place, "multiply", std::size_t{size} * size) {}
  const char* name() const override { return "matrix"; }

  void run_kernel() override {
    stream().launch(kernel(), {{size / tile, size / tile}, {tile, tile}}, there(), there(), made(), size);
    stream().synchronize();
  }
  void run_plainly() override {
    for (int row = 0; row < size; row += tile) {
      for (int column = 0; column < size; column += tile) multiply_tile(row, column);
    }
  }
  bool agrees() override {
    run_kernel();
    run_plainly();
    const std::vector<float> ours = computed();
    return std::equal(ours.begin(), ours.end(), result.begin(),
                      [](float a, float b) { return std::abs(a - b) <= 1e-4F * std::abs(b); });
  }

 private:
  static constexpr int size = 512;
  static constexpr int tile = 16;

  void multiply_tile(int row, int column) {
    float of_a[tile][tile];
    float of_b[tile][tile];
    float sums[tile][tile] = {};
    for (int step = 0; step < size; step += tile) {
      for (int y = 0; y < tile; ++y) {
        std::memcpy(of_a[y], &values[static_cast<std::size_t>((row + y) * size + step)], sizeof(of_a[y]));
        std::memcpy(of_b[y], &values[static_cast<std::size_t>((step + y) * size + column)], sizeof(of_b[y]));
      }
      for (int y = 0; y < tile; ++y) {
        for (int k = 0; k < tile; ++k) {
          for (int x = 0; x < tile; ++x) sums[y][x] += of_a[y][k] * of_b[k][x];
        }
      }
    }
    for (int y = 0; y < tile; ++y) {
      std::memcpy(&result[static_cast<std::size_t>((row + y) * size + column)], sums[y], sizeof(sums[y]));
    }
  }
};

class Sums final : public Loop, private Data<float> {
 public:
  explicit Sums(const std::string& place) : Data(place, "sum_blocks", std::size_t{blocks} * block) {}
  const char* name() const override { return "block_sums"; }

  void run_kernel() override {
    stream().launch(kernel(), {blocks, block}, there(), made());
    stream().synchronize();
  }
  void run_plainly() override {
    for (std::uint32_t i = 0; i < blocks; ++i) {
      float own[block];
      std::memcpy(own, &values[std::size_t{i} * block], sizeof(own));
      for (std::uint32_t half = block / 2; half > 0; half /= 2) {
        for (std::uint32_t x = 0; x < half; ++x) own[x] += own[x + half];
      }
      result[i] = own[0];
    }
  }
  bool agrees() override {
    run_kernel();
    run_plainly();
    const std::vector<float> ours = computed();
    return std::equal(ours.begin(), ours.begin() + blocks, result.begin());
  }

 private:
  static constexpr std::uint32_t blocks = 4096;
  static constexpr std::uint32_t block = 256;
};

class Saxpy final : public Loop, private Data<float> {
 public:
  explicit Saxpy(const std::string& place) : Data(place, "saxpy", std::size_t{2} * count) {}
  const char* name() const override { return "saxpy"; }

  void run_kernel() override {
    stream().launch(kernel(), {count / block, block}, there(), made(), factor, count);
    stream().synchronize();
  }
  void run_plainly() override { add(values.data(), values.data() + count, result.data()); }
  bool agrees() override {
    run_kernel();
    run_plainly();
    const std::vector<float> ours = computed();
    return std::equal(ours.begin(), ours.begin() + count, result.begin(),
                      [](float a, float b) { return std::abs(a - b) <= 1e-6F * std::abs(b); });  // one may be fused
  }

 private:
  static constexpr std::uint32_t count = 1U << 20;
  static constexpr std::uint32_t block = 256;
  static constexpr float factor = 3;

  static void add(const float* __restrict__ x, const float* __restrict__ y, float* __restrict__ z) {
    for (std::uint32_t i = 0; i < count; ++i) z[i] = factor * x[i] + y[i];
  }
};

using image_pipeline::block_height;
using image_pipeline::block_width;
using image_pipeline::halo;
using image_pipeline::rows_per_thread;
using image_pipeline::TileShape;

std::uint32_t tap_position(std::uint32_t at, std::uint32_t tap, std::uint32_t size) {
  const std::uint32_t from = at + tap < halo ? 0 : at + tap - halo;
  return from < size ? from : size - 1;
}

/// What image_pipeline's kernel does for the pixel of one thread, as a function.
void blur_column(const std::uint8_t* __restrict__ source, std::uint8_t* __restrict__ target, const TileShape& tile,
                 std::uint32_t x, std::uint32_t top) {
  const std::uint32_t bottom = std::min(top + rows_per_thread, tile.height);
  const std::uint32_t row_bytes = tile.source_width * tile.channels;
  std::uint32_t columns[5];
  for (std::uint32_t tap = 0; tap < 5; ++tap) {
    columns[tap] = tap_position(tile.left + x, tap, tile.source_width) * tile.channels;
  }
  for (std::uint32_t channel = 0; channel < tile.channels; ++channel) {
    std::uint32_t sums[5] = {};
    for (std::uint32_t row = 0; row < bottom - top + 4; ++row) {
      const std::uint8_t* const from =
          source + tap_position(tile.top + top, row, tile.source_height) * row_bytes + channel;
      for (std::uint32_t i = 0; i < 4; ++i) sums[i] = sums[i + 1];
      sums[4] =
          from[columns[0]] + 4U * from[columns[1]] + 6U * from[columns[2]] + 4U * from[columns[3]] + from[columns[4]];
      if (row < 4) continue;
      const std::uint32_t sum = sums[0] + 4U * sums[1] + 6U * sums[2] + 4U * sums[3] + sums[4];
      target[((top + row - 4) * tile.width + x) * tile.channels + channel] =
          static_cast<std::uint8_t>((sum + 128U) >> 8);
    }
  }
}

class Blur final : public Loop, private Data<std::uint8_t> {
 public:
  explicit Blur(const std::string& place) : Data(place, "blur", std::size_t{side} * side * 3) {}
  const char* name() const override { return "blur"; }

  void run_kernel() override {
    const anyplace::Dim3 grid{side / block_width, side / (block_height * rows_per_thread)};
    stream().launch(kernel(), {grid, {block_width, block_height}}, there(), made(), shape);
    stream().synchronize();
  }
  void run_plainly() override {
    const std::uint32_t threads = std::max(1U, std::thread::hardware_concurrency());
    std::vector<std::thread> others;
    for (std::uint32_t i = 1; i < threads; ++i) others.emplace_back([this, i, threads] { blur_part(i, threads); });
    blur_part(0, threads);
    for (std::thread& other : others) other.join();
  }
  bool agrees() override {
    run_kernel();
    run_plainly();
    return computed() == result;
  }

 private:
  static constexpr std::uint32_t side = 2048;
  static constexpr TileShape shape{side, side, side, side, 0, 0, 3};

  void blur_part(std::uint32_t part, std::uint32_t parts) {
    const std::uint32_t strips = side / rows_per_thread;
    for (std::uint32_t strip = part * strips / parts; strip < (part + 1) * strips / parts; ++strip) {
      for (std::uint32_t x = 0; x < side; ++x) {
        blur_column(values.data(), result.data(), shape, x, strip * rows_per_thread);
      }
    }
  }
};

}  // namespace

std::unique_ptr<Loop> make_matrix(const std::string& place) { return std::make_unique<Matrix>(place); }
std::unique_ptr<Loop> make_sums(const std::string& place) { return std::make_unique<Sums>(place); }
std::unique_ptr<Loop> make_saxpy(const std::string& place) { return std::make_unique<Saxpy>(place); }
std::unique_ptr<Loop> make_blur(const std::string& place) { return std::make_unique<Blur>(place); }

}  // namespace bench
