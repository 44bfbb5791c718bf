// SPDX-License-Identifier: Apache-2.0
// The same bits whatever the compiler's optimisation, and whatever the shape of the launch.
#include <catch2/catch.hpp>

#include "random/random_support.h"

namespace bits_test {

std::vector<std::uint64_t> bits_at_0();
std::vector<std::uint64_t> bits_at_2();
std::vector<std::uint64_t> bits_at_3();

namespace {

using namespace anyplace;

TEST_CASE("The distributions give the same bits at each level of optimisation") {
  const std::vector<std::uint64_t> plain = bits_at_0();
  CHECK(bits_at_2() == plain);
  CHECK(bits_at_3() == plain);
}

TEST_CASE("A fill's bits don't depend on the shape of the launch") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  const Module kernels = Module::from_file(device, RANDOM_KERNELS_MODULE);
  constexpr std::int64_t count = 64 * 37 + 5;
  const std::uint64_t seed = 42, offset = 128;
  const auto expected = test::expected(seed, offset, count, random::Normal<random::Single>{0.5f, 2.0f});
  for (const LaunchConfig shape : {LaunchConfig{1, 1}, {1, 256}, {3, 7}, {64, 32}, {2, 1}, {1000, 1}}) {
    const Buffer buffer = Buffer::of<float>(stream, count);
    stream.memset8(buffer, 0);
    const std::uint64_t* const no_state = nullptr;
    stream.launch(kernels.kernel("normal_f32"), shape, buffer, count, no_state, seed, offset, 0.5f, 2.0f);
    std::vector<float> host(count);
    stream.copy(host, buffer);
    stream.synchronize();
    CHECK(test::same_bytes(host, expected));
  }
}

TEST_CASE("A permutation's bits don't depend on the shape of the launch") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  const Module kernels = Module::from_file(device, RANDOM_KERNELS_MODULE);
  for (const std::int64_t count : {std::int64_t{200}, std::int64_t{5000}}) {
    std::vector<std::vector<std::int32_t>> found;
    for (const LaunchConfig shape : {LaunchConfig{1, 1}, {3, 7}, {64, 32}}) {
      const Buffer buffer = Buffer::of<std::int32_t>(stream, static_cast<std::uint64_t>(count));
      const std::uint64_t* const no_state = nullptr;
      stream.launch(kernels.kernel("permutation_32"), shape, buffer, count, no_state, std::uint64_t{1},
                    std::uint64_t{0});
      std::vector<std::int32_t> host(static_cast<std::size_t>(count));
      stream.copy(host, buffer);
      stream.synchronize();
      found.push_back(host);
    }
    CHECK(found[1] == found[0]);
    CHECK(found[2] == found[0]);
  }
}

}  // namespace
}  // namespace bits_test
