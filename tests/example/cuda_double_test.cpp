// SPDX-License-Identifier: Apache-2.0
//
// image_pipeline on CUDA devices, over the tests' double of the driver: the PTX of the program holds the same kernel
// for the host, behind the one for a device, and the pixels are the same.
#include <catch2/catch.hpp>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "image_pipeline/pipeline.h"
#include "png_files.h"
#include "run_program.h"

using namespace example_test;

namespace {

constexpr std::uint32_t kTile = image_pipeline::kTileSize;

RunOptions over_the_double(std::vector<std::pair<std::string, std::string>> more = {}) {
  RunOptions options;
  options.variables = std::move(more);
  options.variables.emplace_back("LD_LIBRARY_PATH", CUDA_DOUBLE_FOLDER);
  return options;
}

/// The output file's bytes.
std::string blur_with(const Folder& folder, const std::string& in, const std::vector<std::string>& options,
                      const RunOptions& how) {
  const std::string out = folder.file("out.png");
  std::vector<std::string> arguments{"--in", in, "--out", out};
  arguments.insert(arguments.end(), options.begin(), options.end());
  const Run run = run_program(arguments, how);
  INFO(run.out << run.err);
  REQUIRE(run.status == 0);
  CHECK(contains(run.out, "checked: all "));
  CHECK(run.err.empty());
  return read_file(out);
}

}  // namespace

TEST_CASE("On cuda over the double the bytes are those of cpu_sim") {
  const Folder folder;
  const std::string in = folder.write("in.png", encode(noise(3 * kTile + 11, 2 * kTile + 5, Color::rgba)));
  const std::string expected = blur_with(folder, in, {"--place", "cpu_sim:0"}, {});
  CHECK(blur_with(folder, in, {"--place", "cuda:0"}, over_the_double()) == expected);
  CHECK(blur_with(folder, in, {"--place", "cuda:1", "--streams", "16"}, over_the_double()) == expected);
  CHECK(blur_with(folder, in, {"--places", "cuda:0,cuda:1"}, over_the_double()) == expected);
  CHECK(blur_with(folder, in, {"--places", "cpu_sim:0,cuda:0"}, over_the_double()) == expected);
  CHECK(blur_with(folder, in, {}, over_the_double()) == expected);  // auto is cuda, which comes first
}

TEST_CASE("Work that the double runs in another order changes no pixel") {
  const Folder folder;
  const std::string in = folder.write("in.png", encode(noise(2 * kTile + 1, kTile + 1, Color::rgb)));
  const std::string expected = blur_with(folder, in, {"--place", "cpu_sim:0"}, {});
  for (const char* const seed : {"1", "2", "3", "4", "5"}) {
    INFO("seed " << seed);
    CHECK(blur_with(folder, in, {"--places", "cuda:0,cpu_sim:1"}, over_the_double({{"CUDA_DOUBLE_SEED", seed}})) ==
          expected);
  }
}

TEST_CASE("Nothing of the double is left and nothing was misused when the picture is done") {
  const Folder folder;
  const std::string in = folder.write("in.png", encode(noise(2 * kTile, kTile, Color::grey)));
  const std::string report = folder.file("report");
  blur_with(folder, in, {"--place", "cuda:0"}, over_the_double({{"CUDA_DOUBLE_REPORT", report}}));
  std::ifstream lines(report);
  std::string launches;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("call cuLaunchKernel")) launches = line;
    if (line.starts_with("live ") || line.starts_with("misuse ")) FAIL_CHECK(line);
  }
  CHECK(!launches.empty());
}

TEST_CASE("A driver that is too old for one PTX gets the next or the reason") {
  const Folder folder;
  const std::string in = folder.write("in.png", encode(noise(kTile + 1, 40, Color::rgb)));
  const RunOptions old = over_the_double({{"CUDA_DOUBLE_DRIVER_VERSION", "11040"}});
  if constexpr (OLD_DRIVER_SERVED) {
    CHECK(blur_with(folder, in, {"--place", "cuda:0"}, old) == blur_with(folder, in, {"--place", "cpu_sim:0"}, {}));
  } else {
    const Run run = run_program({"--in", in, "--out", folder.file("out.png"), "--place", "cuda:0"}, old);
    INFO(run.err);
    CHECK(run.status == 1);
    CHECK(contains(run.err, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"));
  }
}

TEST_CASE("A launch that the driver refuses ends the program with the reason and without an output") {
  const Folder folder;
  const std::string in = folder.write("in.png", encode(noise(2 * kTile, kTile, Color::grey)));
  const Run run = run_program({"--in", in, "--out", folder.file("out.png"), "--place", "cuda:0"},
                              over_the_double({{"CUDA_DOUBLE_FAIL", "cuLaunchKernel:2:700"}}));
  INFO(run.err);
  CHECK(run.status == 1);
  CHECK(contains(run.err, "cuda:0"));
  CHECK(contains(run.err, "CUDA_ERROR_ILLEGAL_ADDRESS"));
  CHECK(folder.names() == std::vector<std::string>{"in.png"});
}
