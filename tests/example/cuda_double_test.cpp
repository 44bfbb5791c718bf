// SPDX-License-Identifier: Apache-2.0
//
// image_pipeline on CUDA devices, over the tests' double of the driver: the PTX of the program holds the same kernel
// for the host, behind the one for a device, and the pixels are the same.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "image_pipeline/pipeline.h"
#include "over_doubles.h"

namespace cuda_double_test {

using namespace example_test;

constexpr std::uint32_t tile = image_pipeline::tile_size;

RunOptions over_the_double(const Folder& folder, const std::pair<std::string, std::string>& more) {
  RunOptions options;
  options.variables = variables_of({{"cuda"}}, folder);
  options.variables.insert(more);
  return options;
}

TEST_CASE("On cuda over the double the bytes are those of cpu_sim") {
  check_pixels({{"cuda"}}, noise(3 * tile + 11, 2 * tile + 5, Color::rgba),
               {{"--place", "cuda:0"},
                {"--place", "cuda:1", "--streams", "16"},
                {"--places", "cuda:0,cuda:1"},
                {"--places", "cpu_sim:0,cuda:0"},
                {}});  // auto is cuda, which comes first
}

TEST_CASE("Work that the double runs in another order changes no pixel") {
  check_pixels({{"cuda"}}, noise(2 * tile + 1, tile + 1, Color::rgb), {{"--places", "cuda:0,cpu_sim:1"}},
               {"1", "2", "3", "4", "5"});
}

TEST_CASE("Nothing of the double is left and nothing was misused when the picture is done") {
  const Folder folder;
  const std::string in = folder.write("in.png", encode(noise(2 * tile, tile, Color::grey)));
  blur_over({{"cuda"}}, folder, in, {"--place", "cuda:0"});
}

TEST_CASE("A driver that is too old for one PTX gets the next or the reason") {
  const Folder folder;
  const std::string in = folder.write("in.png", encode(noise(tile + 1, 40, Color::rgb)));
  const RunOptions old = over_the_double(folder, {"CUDA_DOUBLE_DRIVER_VERSION", "11040"});
  if constexpr (OLD_DRIVER_SERVED) {
    CHECK(blur(folder, in, {"--place", "cuda:0"}, old) == blur(folder, in, {"--place", "cpu_sim:0"}));
  } else {
    const Run run = run_program({"--in", in, "--out", folder.file("out.png"), "--place", "cuda:0"}, old);
    INFO(run.err);
    CHECK(run.status == 1);
    CHECK(contains(run.err, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"));
  }
}

TEST_CASE("A launch that the driver refuses ends the program with the reason and without an output") {
  const Folder folder;
  const std::string in = folder.write("in.png", encode(noise(2 * tile, tile, Color::grey)));
  const Run run = run_program({"--in", in, "--out", folder.file("out.png"), "--place", "cuda:0"},
                              over_the_double(folder, {"CUDA_DOUBLE_FAIL", "cuLaunchKernel:2:700"}));
  INFO(run.err);
  CHECK(run.status == 1);
  CHECK(contains(run.err, "cuda:0"));
  CHECK(contains(run.err, "CUDA_ERROR_ILLEGAL_ADDRESS"));
  CHECK(folder.names() == std::vector<std::string>{"cuda.report", "in.png"});
}

}  // namespace cuda_double_test
