// SPDX-License-Identifier: Apache-2.0
// Kernels of one source (device_code.cu) on a device: cpu_sim, or what ANYPLACE_TEST_PLACE names. Tagged [place] are
// the cases that run there, and [leaves] those in which threads leave before a barrier, which SPIR-V can't.
#include <anyplace/anyplace.h>

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdlib>
#include <numeric>
#include <span>
#include <vector>

#include "kernels/device_code_types.h"
#include "support/sanitized.h"
#include "test_device_code.h"

namespace device_code_test {

using namespace anyplace;

namespace {

std::string place() {
  const char* const named = std::getenv("ANYPLACE_TEST_PLACE");
  return named == nullptr || *named == '\0' ? "cpu_sim:0" : named;
}

/// A stream on the device with the kernels, and memory that is host vectors on the way in and out.
class Run {
 public:
  template <class... Args>
  void operator()(const char* name, Dim3 grid, Dim3 block, std::uint64_t shared_bytes, const Args&... args) const {
    stream.launch(module.kernel(name), {grid, block, shared_bytes}, args...);
  }
  template <class T>
  Buffer upload(const std::vector<T>& values) const {
    Buffer buffer(stream, values.size() * sizeof(T));
    stream.copy(buffer, values);
    stream.synchronize();  // `values` may be gone soon
    return buffer;
  }
  template <class T>
  Buffer zeros(std::size_t count) const {
    Buffer buffer(stream, count * sizeof(T));
    stream.memset8(buffer, 0);
    return buffer;
  }
  template <class T>
  std::vector<T> download(const Buffer& buffer) const {
    std::vector<T> values(buffer.size_bytes() / sizeof(T));
    stream.copy(values, buffer);
    stream.synchronize();
    return values;
  }

  Device device{place()};
  Stream stream{device};
  Module module{device, KernelImages(test_device_code.name(), images())};

 private:
  /// Those of the format that ANYPLACE_TEST_FORMAT names; all without it.
  static std::span<const KernelImage> images() {
    const char* const format = std::getenv("ANYPLACE_TEST_FORMAT");
    const std::span<const KernelImage> all = test_device_code.images();
    if (format == nullptr) return all;
    const auto one =
        std::find_if(all.begin(), all.end(), [&](const KernelImage& image) { return image.format == format; });
    return one == all.end() ? all.first(0) : std::span(&*one, 1);
  }
};

std::vector<std::uint32_t> numbers(std::size_t count) {
  std::vector<std::uint32_t> values(count);
  std::iota(values.begin(), values.end(), 1u);
  return values;
}

/// The sum of each part of `part` values.
std::vector<std::uint32_t> sums_of_parts(const std::vector<std::uint32_t>& values, std::size_t part) {
  std::vector<std::uint32_t> sums;
  for (std::size_t i = 0; i < values.size(); i += part) {
    const auto from = values.begin() + static_cast<std::ptrdiff_t>(i);
    sums.push_back(std::accumulate(from, from + static_cast<std::ptrdiff_t>(part), 0u));
  }
  return sums;
}

}  // namespace

TEST_CASE("Each thread knows its place in three dimensions", "[place]") {
  const Run run;
  const Dim3 grid{3, 4, 2}, block{5, 2, 3};
  const Buffer out = run.zeros<std::uint32_t>(12ull * 3 * 4 * 2 * 5 * 2 * 3);
  run("indices", grid, block, 0, out);
  const auto seen = run.download<std::uint32_t>(out);
  const std::uint32_t width = 15, height = 8, depth = 6;
  for (std::uint32_t z = 0; z < depth; ++z) {
    for (std::uint32_t y = 0; y < height; ++y) {
      for (std::uint32_t x = 0; x < width; ++x) {
        const auto own = std::span(seen).subspan(12 * ((std::size_t{z} * height + y) * width + x), 12);
        const std::vector<std::uint32_t> expected{x / 5, y / 2, z / 3, x % 5, y % 2, z % 3, 3, 4, 2, 5, 2, 3};
        if (!std::equal(own.begin(), own.end(), expected.begin())) {
          FAIL("thread " << x << " " << y << " " << z);
        }
      }
    }
  }
  CHECK(seen.size() == 12ull * width * height * depth);
}

TEST_CASE("A kernel may take nothing and do nothing", "[place]") {
  const Run run;
  run("nothing", {7}, {33}, 0);
  CHECK_NOTHROW(run.stream.synchronize());
}

TEST_CASE("Every thread of a large grid runs once", "[place]") {
  const Run run;
  const Buffer count = run.zeros<std::uint64_t>(1);
  run("count_threads", {200000}, {1}, 0, count);
  run("count_threads", {100, 20, 5}, {8, 4, 2}, 0, count);
  run("count_threads", {1}, {256}, 0, count);
  CHECK(run.download<std::uint64_t>(count)[0] == 200000 + 100 * 20 * 5 * 64 + 256);
}

// A sanitizer takes a while for each thread's stack, and sees in a quarter of the threads what it sees in all of them.
constexpr std::uint32_t most_threads = test::sanitized ? 256 : 1024;

TEST_CASE("A static shared array is one for each block", "[place]") {
  const Run run;
  const std::uint32_t blocks = test::sanitized ? 8 : 64;
  const auto values = numbers(256 * blocks);
  const Buffer from = run.upload(values);
  const Buffer sums = run.zeros<std::uint32_t>(blocks);
  run("sum_static", {blocks}, {256}, 0, sums, from);
  CHECK(run.download<std::uint32_t>(sums) == sums_of_parts(values, 256));
}

TEST_CASE("Dynamic shared memory is as large as the launch says", "[place]") {
  const Run run;
  for (const std::uint32_t threads : {1u, 2u, 64u, most_threads}) {
    const auto values = numbers(threads * 8);
    const Buffer from = run.upload(values);
    for (const char* const kernel : {"sum_dynamic", "sum_extern", "sum_extern_of_the_file", "sum_extern_in_a_header"}) {
      const Buffer sums = run.zeros<std::uint32_t>(8);
      INFO(kernel);
      run(kernel, {8}, {threads}, threads * 4, sums, from);
      CHECK(run.download<std::uint32_t>(sums) == sums_of_parts(values, threads));
    }
  }
}

TEST_CASE("A tile of two dimensions is turned through shared memory", "[place]") {
  const Run run;
  constexpr std::uint32_t size = 64;
  std::vector<float> values(size * size);
  std::iota(values.begin(), values.end(), 0.0f);
  const Buffer from = run.upload(values);
  const Buffer to = run.zeros<float>(values.size());
  run("transpose", {size / 16, size / 16}, {16, 16}, 0, to, from, size);
  const auto turned = run.download<float>(to);
  for (std::uint32_t y = 0; y < size; ++y) {
    for (std::uint32_t x = 0; x < size; ++x) REQUIRE(turned[x * size + y] == values[y * size + x]);
  }
}

TEST_CASE("Barriers hold every thread at every round", "[place]") {
  const Run run;
  constexpr std::uint32_t threads = 96, blocks = 5, rounds = 40;
  const auto values = numbers(threads * blocks);
  const Buffer data = run.upload(values);
  run("rotate", {blocks}, {threads}, threads * 4, data, rounds);
  const auto rotated = run.download<std::uint32_t>(data);
  for (std::uint32_t i = 0; i < threads * blocks; ++i) {
    const std::uint32_t block = i / threads;
    REQUIRE(rotated[i] == values[block * threads + (i % threads + rounds) % threads]);
  }
}

TEST_CASE("Threads that left early are not waited for", "[place][leaves]") {
  const Run run;
  for (const std::uint32_t staying : {1u, 2u, 31u, 63u, 64u}) {
    const Buffer sums = run.zeros<std::uint32_t>(9);
    run("leave_early", {9}, {64}, 0, sums, staying);
    CHECK(run.download<std::uint32_t>(sums) == std::vector<std::uint32_t>(9, staying * (staying + 1) / 2));
  }
}

TEST_CASE("Threads may leave one by one between barriers", "[place][leaves]") {
  const Run run;
  constexpr std::uint32_t threads = 32;
  const Buffer seen = run.zeros<std::uint32_t>(threads * 3);
  run("leave_one_by_one", {3}, {threads}, 0, seen);
  const auto rounds = run.download<std::uint32_t>(seen);
  for (std::uint32_t i = 0; i < rounds.size(); ++i) CHECK(rounds[i] == i % threads);
}

TEST_CASE("What a thread holds stays its own across barriers", "[place]") {
  const Run run;
  const Buffer wrong = run.zeros<std::uint32_t>(1);
  run("keep", {6}, {16, 8}, 0, wrong);
  CHECK(run.download<std::uint32_t>(wrong)[0] == 0);
}

TEST_CASE("Atomic functions lose nothing", "[place]") {
  const Run run;
  constexpr unsigned count = 64 * 32;
  AtomicResults start{};
  start.and_unsigned = ~0u;
  start.min_int = start.max_int = 0;
  start.min_unsigned = ~0u;
  start.min_long = ~0ull;
  start.dec = 3;
  const Buffer buffer = run.upload(std::vector<AtomicResults>{start});
  run("atomics", {64}, {32}, 0, buffer);
  const AtomicResults end = run.download<AtomicResults>(buffer)[0];
  CHECK(end.add_int == -static_cast<int>(count));
  CHECK(end.add_unsigned == count * (count - 1) / 2);
  CHECK(end.add_long == (1ull << 33) * count);
  CHECK(end.add_float == 0.5f * count);
  CHECK(end.add_double == 0.25 * count);
  CHECK(end.sub_int == -2 * static_cast<int>(count));
  CHECK(end.sub_unsigned == 0u - count);
  CHECK(end.min_int == -static_cast<int>(count - 1));
  CHECK(end.max_int == static_cast<int>(count - 1));
  CHECK(end.min_unsigned == 1000000u - (count - 1));
  CHECK(end.max_unsigned == count - 1);
  CHECK(end.min_long == (1ull << 40) - (count - 1));
  CHECK(end.max_long == (1ull << 40) + count - 1);
  CHECK(end.and_unsigned == 0);
  CHECK(end.or_unsigned == ~0u);
  CHECK(end.xor_unsigned == 0);  // of 0 .. 2047
  CHECK(end.inc == count % 7);
  CHECK(end.dec == (3 + 7 * count - count) % 7);
  CHECK(end.exchanged + end.slot == std::uint64_t{count} * (count + 1) / 2);
  CHECK(end.cas == 3 * static_cast<int>(count));
}

TEST_CASE("The last block sees what the others wrote before their fences", "[place]") {
  const Run run;
  constexpr std::uint32_t blocks = 300;
  const Buffer partial = run.zeros<std::uint32_t>(blocks), done = run.zeros<std::uint32_t>(1);
  for (int launch = 0; launch < 3; ++launch) {
    const Buffer total = run.zeros<std::uint32_t>(1);
    run("last_block", {blocks}, {8}, 0, partial, done, total);
    CHECK(run.download<std::uint32_t>(total)[0] == blocks * (blocks + 1) / 2);
  }
}

TEST_CASE("Functions and types and constants mean what they do in CUDA", "[place]") {
  const Run run;
  const Buffer buffer = run.zeros<FunctionResults>(1);
  run("functions", {1}, {1}, 0, buffer, 4.0f, -17);
  const FunctionResults got = run.download<FunctionResults>(buffer)[0];
  CHECK(got.popc == 8 + 8);
  CHECK(got.clz == 31 + 32 + 23);
  CHECK(got.ffs == 4 + 0 + 41);
  CHECK(got.brev == 0x40000000u);
  CHECK(got.umulhi == 3);
  CHECK(got.bits == 0x3f800000u);
  CHECK(got.mul24 == 3 * -17 + 2 * 5);
  CHECK(std::vector<int>(got.rounded, got.rounded + 4) == std::vector<int>{-5, 4, 5, -4});
  CHECK(got.clamped == -5 + 1);
  CHECK(got.unsigned_wins == ~0u);
  CHECK(got.roots == Approx(2.0 + 0.5 + 2 + 3 - 1 + 1 + 10 + 1 + 2));
  CHECK(got.primes == 77);
  CHECK(got.vector.x + got.vector.w == 5.0f);
  CHECK(got.pixel.y + got.pixel.z == 13);
  const std::vector<unsigned> sizes(std::begin(got.sizes), std::end(got.sizes));
  CHECK(sizes == std::vector<unsigned>{4, 12, 16, 16, 8, 4});
}

TEST_CASE("Parameters of every size arrive whole and in order", "[place]") {
  const Run run;
  const Buffer buffer = run.zeros<ParameterResults>(1);
  const Parameter own{200, 1e100, {1, 2, 65535}};
  run("parameters", {2}, {2}, 0, buffer, std::uint8_t{255}, std::int16_t{-2}, 1.5f, 1ull << 63, own, buffer);
  const ParameterResults got = run.download<ParameterResults>(buffer)[0];
  CHECK(got.a == 255);
  CHECK(got.b == -2);
  CHECK(got.c == 1.5f);
  CHECK(got.d == 1ull << 63);
  CHECK(got.e.small == 200);
  CHECK(got.e.large == 1e100);
  CHECK(got.e.several[2] == 65535);
  CHECK(reinterpret_cast<std::uintptr_t>(got.f) == buffer.address());
}

}  // namespace device_code_test
