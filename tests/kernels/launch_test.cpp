// SPDX-License-Identifier: Apache-2.0
// What a launch refuses, before anything runs, and what it keeps when it can't be submitted yet.
#include <atomic>

#include "memory/memory_support.h"

namespace launch_test {

using namespace anyplace;
using namespace memory_test;

namespace {

struct Scene {
  Device device{"sim_full:0"};
  Stream stream{device};
  std::atomic<int> runs{0};
  Kernel kernel{device, [this](const Block&) { ++runs; }};
  Kernel typed{device, [this](const Block&, float*, std::uint32_t, double) { ++runs; }};

  Scene() = default;
  Scene(const Scene&) = delete;  // its kernels count in it
  Scene& operator=(const Scene&) = delete;
  ~Scene() { device.synchronize(); }  // what was launched last may still count in `runs`

  bool nothing_ran() const {
    stream.synchronize();
    return runs == 0 && controls_of(device).launches == 0;
  }
};

}  // namespace

TEST_CASE("A grid or block of 0, or over the device's limits as shared memory may be, is refused with the limits") {
  const Scene scene;
  const DeviceProperties limits = scene.device.properties();
  for (int i = 0; i < 3; ++i) {
    const auto over = [i](const std::uint32_t(&limit)[3]) {
      Dim3 size;
      (i == 0 ? size.x : i == 1 ? size.y : size.z) = limit[i] + 1;
      return size;
    };
    CHECK_THAT(refused(ErrorCode::invalid_argument,
                       [&] {
                         scene.stream.launch(scene.kernel, {over(limits.max_grid), 1});
                       }),
               Catch::Contains("grid") && Catch::Contains(std::to_string(limits.max_grid[i])));
    CHECK_THAT(refused(ErrorCode::invalid_argument,
                       [&] {
                         scene.stream.launch(scene.kernel, {1, over(limits.max_block)});
                       }),
               Catch::Contains("block") && Catch::Contains(std::to_string(limits.max_block[i])));
  }
  CHECK_THAT(refused(ErrorCode::invalid_argument,
                     [&] {
                       scene.stream.launch(scene.kernel, {Dim3{1, 1, 0}, 1});
                     }),
             Catch::Contains("grid"));
  CHECK_THAT(refused(ErrorCode::invalid_argument,
                     [&] {
                       scene.stream.launch(scene.kernel, {1, Dim3{1, 0, 1}});
                     }),
             Catch::Contains("block"));
  // Each within, their product not.
  CHECK_THAT(refused(ErrorCode::invalid_argument,
                     [&] {
                       scene.stream.launch(scene.kernel, {1, {limits.max_block[0], limits.max_block[1], 1}});
                     }),
             Catch::Contains(std::to_string(limits.max_threads_per_block)));
  const std::uint32_t most = UINT32_MAX;
  refused(ErrorCode::invalid_argument, [&] { scene.stream.launch(scene.kernel, {{most, most, most}, 1}); });
  refused(ErrorCode::invalid_argument, [&] { scene.stream.launch(scene.kernel, {1, {most, most, most}}); });
  CHECK_THAT(refused(ErrorCode::invalid_argument,
                     [&] {
                       scene.stream.launch(scene.kernel, {1, 1, limits.max_shared_bytes + 1});
                     }),
             Catch::Contains("shared") && Catch::Contains(std::to_string(limits.max_shared_bytes)));
  refused(ErrorCode::invalid_argument, [&] { scene.stream.launch(scene.kernel, {1, 1, UINT64_MAX}); });
  CHECK(scene.nothing_ran());
  CHECK_NOTHROW(scene.stream.launch(scene.kernel, {1, 1, limits.max_shared_bytes}));
  CHECK_NOTHROW(scene.stream.launch(scene.kernel, {1, limits.max_threads_per_block}));
}

TEST_CASE("Arguments that don't fit the callable are refused with number and sizes") {
  const Scene scene;
  const Buffer buffer(scene.stream, 8);
  const auto& stream = scene.stream;
  CHECK_THAT(refused(ErrorCode::invalid_argument,
                     [&] {
                       stream.launch(scene.typed, {1, 1}, buffer, 1u);
                     }),
             Catch::Contains("2") && Catch::Contains("3"));
  CHECK_THAT(refused(ErrorCode::invalid_argument,
                     [&] {
                       stream.launch(scene.typed, {1, 1});
                     }),
             Catch::Contains("0") && Catch::Contains("3"));
  CHECK_THAT(refused(ErrorCode::invalid_argument,
                     [&] {
                       stream.launch(scene.kernel, {1, 1}, 1);
                     }),
             Catch::Contains("1") && Catch::Contains("0"));
  CHECK_THAT(refused(ErrorCode::invalid_argument,
                     [&] {
                       stream.launch(scene.typed, {1, 1}, buffer, 1ull, 2.0);
                     }),
             Catch::Contains("argument 1") && Catch::Contains("8") && Catch::Contains("4"));
  CHECK_THAT(refused(ErrorCode::invalid_argument,
                     [&] {
                       stream.launch(scene.typed, {1, 1}, buffer, 1u, 2.0f);
                     }),
             Catch::Contains("argument 2") && Catch::Contains("4") && Catch::Contains("8"));
  CHECK(scene.nothing_ran());
  CHECK_NOTHROW(stream.launch(scene.typed, {1, 1}, buffer, 1u, 2.0));
}

TEST_CASE("Arguments made at run time are checked") {
  const Scene scene;
  std::uint64_t value = 0;
  const auto refuse = [&](std::vector<LaunchArgument> arguments) {
    refused(ErrorCode::invalid_argument, [&] { scene.stream.launch_arguments(scene.typed, {1, 1}, arguments); });
  };
  const LaunchArgument pointer{LaunchArgument::Kind::address, 8, &value};
  const LaunchArgument number{LaunchArgument::Kind::value, 4, &value};
  const LaunchArgument real{LaunchArgument::Kind::value, 8, &value};
  refuse({pointer, number, {LaunchArgument::Kind{0}, 8, &value}});
  refuse({pointer, number, {LaunchArgument::Kind{3}, 8, &value}});
  refuse({pointer, number, {LaunchArgument::Kind::value, 8, nullptr}});
  refuse({pointer, number, {LaunchArgument::Kind::value, 0, &value}});
  refuse({{LaunchArgument::Kind::address, 4, &value}, number, real});
  refuse(std::vector<LaunchArgument>(1025, number));
  CHECK(scene.nothing_ran());
  const std::vector<LaunchArgument> good{pointer, number, real};
  CHECK_NOTHROW(scene.stream.launch_arguments(scene.typed, {1, 1}, good));
  scene.stream.synchronize();
  CHECK(scene.runs == 1);
}

TEST_CASE("A kernel of another device is refused with both places") {
  const Scene scene;
  const Stream far(Device("sim_full:1"));
  const Stream farther(Device("cpu_sim:0"));
  CHECK_THAT(refused(ErrorCode::invalid_argument,
                     [&] {
                       far.launch(scene.kernel, {1, 1});
                     }),
             Catch::Contains("sim_full:0") && Catch::Contains("sim_full:1"));
  CHECK_THAT(refused(ErrorCode::invalid_argument,
                     [&] {
                       farther.launch(scene.kernel, {1, 1});
                     }),
             Catch::Contains("sim_full:0") && Catch::Contains("cpu_sim:0"));
  CHECK(scene.nothing_ran());
}

TEST_CASE("A launch on a held stream keeps copies of its values and its kernel") {
  // sim_held has no gates: what is submitted while its stream waits for another backend is held back by the core.
  const Device producer("cpu_sim:0");
  const Device device("sim_held:0");
  const Stream producer_stream(producer);
  const Stream stream(device);
  struct Large {
    std::uint64_t words[40];
  };
  std::atomic<std::uint64_t> sum{0};
  {
    HostGate gate(producer_stream);
    stream.wait_stream(producer_stream);
    {
      const Kernel kernel(device, [&](const Block&, std::uint8_t small, Large large, double real) {
        sum += small + static_cast<std::uint64_t>(real);
        for (const std::uint64_t word : large.words) sum += word;
      });
      auto large = std::make_unique<Large>();
      std::fill(std::begin(large->words), std::end(large->words), 3);
      stream.launch(kernel, {2, 1}, std::uint8_t{5}, *large, 7.0);
      std::fill(std::begin(large->words), std::end(large->words), 1000);
    }
    CHECK(controls_of(device).launches == 0);
  }
  stream.synchronize();
  CHECK(sum == 2 * (5 + 40 * 3 + 7));
  CHECK(controls_of(device).launches == 1);
}

}  // namespace launch_test
