// SPDX-License-Identifier: Apache-2.0
//
// image_pipeline on Level Zero devices, over the tests' double of a driver, behind the real loader and in its place:
// the program holds the same kernel for the host as SPIR-V of a version that only the double takes, and the pixels are
// the same.
#include <catch2/catch.hpp>
#include <fstream>
#include <string>
#include <vector>

#include "image_pipeline/pipeline.h"
#include "over_doubles.h"

namespace levelzero_double_test {

using namespace example_test;

namespace {

constexpr std::uint32_t tile = image_pipeline::tile_size;

void check_bytes(LevelZero form) {
  check_pixels({{"levelzero"}, form}, noise(3 * tile + 11, 2 * tile + 5, Color::rgba),
               {{"--place", "levelzero:0"},
                {"--place", "levelzero:1", "--streams", "16"},
                {"--places", "levelzero:0,levelzero:1"},
                {"--places", "cpu_sim:0,levelzero:0"}});
}

void check_orders(LevelZero form) {
  check_pixels({{"levelzero"}, form}, noise(2 * tile + 1, tile + 1, Color::rgb),
               {{"--places", "levelzero:0,levelzero:1"}}, {"1", "2", "3", "4"});
}

/// That can't succeed; an output doesn't come of it.
Run refused(const Folder& folder, test::Variables variables) {
  const std::string in = folder.write("in.png", encode(noise(2 * tile, tile, Color::grey)));
  RunOptions options;
  options.variables = std::move(variables);
  Run run = run_program({"--in", in, "--out", folder.file("out.png"), "--place", "levelzero:0"}, options);
  CHECK(run.status == 1);
  CHECK(contains(run.err, "levelzero:0"));
  CHECK_FALSE(std::filesystem::exists(folder.file("out.png")));
  return run;
}

}  // namespace

TEST_CASE("On levelzero behind the loader the bytes are those of cpu_sim") { check_bytes(LevelZero::behind_loader); }

TEST_CASE("On levelzero with lists in order the bytes are those of cpu_sim") { check_bytes(LevelZero::as_loader); }

TEST_CASE("Work that the double of Level Zero runs in another order changes no pixel") {
  check_orders(LevelZero::behind_loader);
}

TEST_CASE("Work in ordered lists that the double of Level Zero delays changes no pixel") {
  check_orders(LevelZero::as_loader);
}

TEST_CASE("A driver never sees SPIR-V of a major version that it does not take") {
  const Over over{{"levelzero"}};
  if (!is_built(over)) return;
  const Folder folder;
  auto variables = variables_of(over, folder);
  variables.erase("LEVELZERO_DOUBLE_SPIRV");
  const Run run = refused(folder, variables);
  INFO(run.err);
  CHECK(contains(run.err, "spirv: the image is SPIR-V 255.0, and the driver takes 1.2"));
  std::ifstream report(folder.file("levelzero.report"));
  std::string calls;
  for (std::string line; std::getline(report, line);) calls += line + '\n';
  CHECK(contains(calls, "call zeDeviceGetModuleProperties"));
  // An image of a version that it takes, which is there where the build has llvm-spirv, is refused by the double
  // itself.
  const bool other = contains(run.err, "the driver takes SPIR-V for OpenCL kernels up to version 1.2");
  CHECK(contains(calls, "call zeModuleCreate 1\n") == other);
  CHECK(contains(calls, "call zeModuleCreate ") == other);
}

TEST_CASE("A launch that the Level Zero driver refuses ends the program with the reason and without an output") {
  const Over over{{"levelzero"}};
  if (!is_built(over)) return;
  const Folder folder;
  auto variables = variables_of(over, folder);
  variables.emplace("LEVELZERO_DOUBLE_FAIL", "zeCommandListAppendLaunchKernel:2:1879048193");
  const Run run = refused(folder, variables);
  INFO(run.err);
  CHECK(contains(run.err, "ZE_RESULT_ERROR_DEVICE_LOST"));
}

}  // namespace levelzero_double_test
