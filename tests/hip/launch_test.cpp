// SPDX-License-Identifier: Apache-2.0
//
// Launches over the limits and with much shared memory: refused before anything runs, or run.
#include <numeric>

#include "support.h"

namespace {

using namespace hip_test;
using anyplace::Dim3;

struct Launching {
  Double hip;
  anyplace::Device device{"hip:0"};
  anyplace::Module module = load(device, read_image("kernels.hsaco"));
  anyplace::KernelView fill = module.kernel("fill");
  anyplace::KernelView sum = module.kernel("block_sum");
  anyplace::Stream stream{device};
  anyplace::Buffer numbers{stream, 1024 * 4};
  anyplace::Buffer sums{stream, 4};

  template <class... Args>
  void check_refused(anyplace::KernelView kernel, Dim3 grid, Dim3 block, std::uint64_t shared, const Args&... args) {
    const auto error = test::error_of([&] { stream.launch(kernel, grid, block, shared, args...); });
    REQUIRE(error.has_value());
    INFO(error->what());
    CHECK(error->code() == ErrorCode::invalid_argument);
    CHECK(hip.calls_of("hipModuleLaunchKernel") == 0);
  }
};

}  // namespace

TEST_CASE("Grids and blocks over the limits of the device are refused before anything runs") {
  Launching on;
  const auto limits = on.device.properties();
  const auto over = [](std::uint32_t limit) { return limit + 1; };
  const auto refused = [&](Dim3 grid, Dim3 block) { on.check_refused(on.fill, grid, block, 0, on.numbers, 1u, 1u); };
  refused({over(limits.max_grid[0])}, {1});
  refused({1, over(limits.max_grid[1])}, {1});
  refused({1, 1, over(limits.max_grid[2])}, {1});
  refused({1}, {over(limits.max_block[0])});
  refused({1}, {1, over(limits.max_block[1])});
  refused({1}, {1, 1, over(limits.max_block[2])});
  refused({1}, {limits.max_threads_per_block, 2});
  refused({0}, {1});
  refused({1}, {1, 0});
  on.stream.launch(on.fill, {1}, {limits.max_threads_per_block}, 0, on.numbers, 1u, 1u);
  on.stream.synchronize();
}

TEST_CASE("Shared memory over the limit of the device is refused before anything runs") {
  Launching on;
  const std::uint64_t limit = on.device.properties().max_shared_bytes;
  on.check_refused(on.sum, {1}, {64}, limit + 1, on.sums, on.numbers);
  on.check_refused(on.sum, {1}, {64}, std::uint64_t{1} << 40, on.sums, on.numbers);
}

TEST_CASE("All the shared memory of the device is used without asking for leave") {
  Launching on;
  const std::uint64_t limit = on.device.properties().max_shared_bytes;
  REQUIRE(limit == 64 * 1024);
  on.stream.memset32(on.numbers, 3);
  for (const std::uint64_t shared : {std::uint64_t{4096}, std::uint64_t{48 * 1024 + 4}, limit}) {
    std::uint32_t sum = 0;
    on.stream.launch(on.sum, {1}, {1024}, shared, on.sums, on.numbers);
    on.stream.copy(anyplace::HostSpan(&sum, sizeof(sum)), on.sums);
    on.stream.synchronize();
    CHECK(sum == 3 * 1024);
  }
}

TEST_CASE("More threads in a direction than AMD counts are refused with HIPs own code") {
  Launching on;
  const auto error = test::error_of([&] { on.stream.launch(on.fill, {8u << 20}, {1024}, 0, on.numbers, 1024u, 1u); });
  REQUIRE(error.has_value());
  CHECK(error->code() == ErrorCode::invalid_argument);
  CHECK(error->vendor_code() == hipErrorInvalidConfiguration);
}

TEST_CASE("The values of the arguments are taken at the launch") {
  Launching on;
  std::vector<std::uint32_t> back(64);
  std::uint32_t value = 11;
  on.hip.hold(0, true);
  on.stream.launch(on.fill, {1}, {64}, 0, on.numbers.sub(0, 256), 64u, value);
  value = 12;
  on.hip.hold(0, false);
  on.stream.copy(back, on.numbers.sub(0, 256));
  on.stream.synchronize();
  CHECK(back == std::vector<std::uint32_t>(64, 11));
}
