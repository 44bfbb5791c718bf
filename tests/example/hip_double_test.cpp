// SPDX-License-Identifier: Apache-2.0
//
// image_pipeline on HIP devices, over the tests' double of libamdhip64: the program holds the same kernel for the host
// as a code object for an architecture that only the double has, and the pixels are the same.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "image_pipeline/pipeline.h"
#include "over_doubles.h"

namespace hip_double_test {

using namespace example_test;

constexpr std::uint32_t tile = image_pipeline::tile_size;

TEST_CASE("On hip over the double the bytes are those of cpu_sim") {
  check_pixels({{"hip"}}, noise(3 * tile + 11, 2 * tile + 5, Color::rgba),
               {{"--places", "hip:0"}, {"--places", "hip:0,hip:1"}, {"--places", "cpu_sim:0,hip:0"}});
}

TEST_CASE("Work that the double of HIP runs in another order changes no pixel") {
  check_pixels({{"hip"}}, noise(2 * tile + 1, tile + 1, Color::rgb), {{"--places", "hip:0,hip:1"}}, {"1", "2", "3"});
}

}  // namespace hip_double_test
