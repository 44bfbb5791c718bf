// SPDX-License-Identifier: Apache-2.0
//
// The same kernels as loops and on stacks, in blocks of many shapes: what they write is the same.
#include <anyplace/anyplace.h>

#include <catch2/catch.hpp>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels_as_loops.h"
#include "kernels_on_stacks.h"

namespace loops_test {

using namespace anyplace;

namespace {

struct Table {
  std::uint32_t values[8];
};

const Dim3 shapes[] = {{1}, {16}, {17}, {256}, {16, 16}, {5, 3, 2}, {64, 2}, {3, 2, 7}, {33, 5}, {1, 64}, {1024}};
constexpr std::uint64_t dynamic_shared_bytes = 64;

/// Runs kernels of either image on cpu_sim, and compares what they write.
class Comparison {
 public:
  Comparison() {
    std::vector<std::uint32_t> numbers(4096);
    for (std::uint32_t i = 0; i < numbers.size(); ++i) numbers[i] = (i * 2654435761u + 12345) >> 13;
    stream.copy(from, numbers);
    stream.synchronize();
  }

  template <class... Args>
  std::vector<std::uint32_t> result(const Module& module, const std::string& kernel, Dim3 block,
                                    const Args&... more) const {
    const std::uint32_t threads = block.x * block.y * block.z;
    const std::uint32_t blocks = grid.x * grid.y;
    const Buffer to(stream, blocks * threads * sizeof(std::uint32_t));
    stream.memset8(to, 0xad);
    const std::uint32_t count = 2 * threads + threads / 2 + 1;
    stream.launch(module.kernel(kernel.c_str()), {grid, block, dynamic_shared_bytes}, to, from, count, more...);
    std::vector<std::uint32_t> values(blocks * threads);
    stream.copy(values, to);
    stream.synchronize();
    return values;
  }
  template <class... Args>
  void check(const std::string& kernel, const Args&... more) const {
    for (const Dim3 block : shapes) {
      INFO(kernel << " in blocks of " << block.x << " x " << block.y << " x " << block.z);
      CHECK(result(loops, kernel, block, more...) == result(stacks, kernel, block, more...));
    }
  }

  Device device{"cpu_sim:0"};
  Stream stream{device};
  Dim3 grid{3};
  Module loops{device, kernels_as_loops};
  Module stacks{device, kernels_on_stacks};
  Buffer from{stream, 4096 * sizeof(std::uint32_t)};
};

}  // namespace

TEST_CASE("Odd kernels write the same as loops as on stacks") {
  const Comparison comparison;
  for (const char* kernel : {"local_array", "in_function", "signed_sums", "scan", "nested_loops", "leave_together",
                             "leave_in_rounds", "meet_in_different_rounds", "common_branch_apart",
                             "common_values_apart", "catches", "asserts", "switch_of_barriers", "dynamic_and_atomic",
                             "swapped", "three_dimensions", "wrapping_conditions", "guarded_loop"}) {
    comparison.check(kernel);
  }
}

TEST_CASE("Kernels whose blocks run as one with their neighbours write the same as on stacks, and so do their like") {
  Comparison comparison;
  comparison.grid = {70, 3};  // the simulator measures a few blocks before it runs longer ranges of them
  for (const char* kernel :
       {"guarded_joined", "wrapping_joined", "signed_joined", "wide_joined", "loop_joined", "array_joined",
        "thread_alone", "block_alone", "first_of_block_alone", "constant_size_alone", "other_size_alone",
        "atomic_alone", "dynamic_alone", "shared_alone", "throws_alone", "volatile_alone", "prints_alone"}) {
    comparison.check(kernel);
  }
}

TEST_CASE("A parameter that is indexed by data is the same for each thread") {
  const Comparison comparison;
  comparison.check("table_by_value", Table{{3, 1, 4, 1, 5, 9, 2, 6}});
}

TEST_CASE("Kernels that can't become loops keep their stacks") {
  const Comparison comparison;
  for (const char* kernel : {"by_address", "recursive", "constructed", "aligned", "warp_sum"}) comparison.check(kernel);
}

TEST_CASE("Random kernels write the same as loops as on stacks") {
  const Comparison comparison;
  for (int i = 0; i < RANDOM_KERNELS; ++i) comparison.check("random_" + std::to_string(i));
}

TEST_CASE("What a thread throws between barriers is its stream's fault, as on stacks") {
  const Comparison comparison;
  const Buffer to(comparison.stream, 64 * sizeof(std::uint32_t));
  const auto check = [&](const char* kernel, Dim3 block) {
    INFO(kernel << " in blocks of " << block.x << " x " << block.y);
    comparison.stream.launch(comparison.loops.kernel(kernel), {1, block}, to, 100u);
    CHECK_NOTHROW(comparison.stream.synchronize());
    comparison.stream.launch(comparison.loops.kernel(kernel), {1, block}, to, 5u);
    CHECK_THROWS_AS(comparison.stream.synchronize(), Error);
  };
  check("throws", {64});
  check("throws_in_rows", {16, 4});
  check("throws_in_rows", {32, 2});
}

}  // namespace loops_test
