// SPDX-License-Identifier: Apache-2.0
//
// Launches over the limits, refused before anything runs.
#include "launching.h"

namespace launch_test {

using namespace vendor_test;

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
  on.stream.launch(on.fill, {1, limits.max_threads_per_block}, on.numbers, 1u, 1u);
  on.stream.synchronize();
}

TEST_CASE("Shared memory over the limit of the device is refused before anything runs") {
  Launching on;
  const std::uint64_t limit = on.device.properties().max_shared_bytes;
  on.check_refused(on.sum, {1}, {64}, limit + 1, on.sums, on.numbers);
  on.check_refused(on.sum, {1}, {64}, std::uint64_t{1} << 40, on.sums, on.numbers);
}

}  // namespace launch_test
