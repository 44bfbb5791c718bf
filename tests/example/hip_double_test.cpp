// SPDX-License-Identifier: Apache-2.0
//
// image_pipeline on HIP devices, over the tests' double of libamdhip64: the program holds the same kernel for the host
// as a code object for an architecture that only the double has, and the pixels are the same.
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "image_pipeline/pipeline.h"
#include "png_files.h"
#include "run_program.h"

using namespace example_test;

namespace {

constexpr std::uint32_t kTile = image_pipeline::kTileSize;

/// The output file's bytes.
std::string blur_on(const Folder& folder, const std::string& in, const std::string& places, const char* seed = "0") {
  const std::string out = folder.file("out.png");
  RunOptions options;
  options.variables = {
      {"LD_LIBRARY_PATH", HIP_DOUBLE_FOLDER}, {"HIP_DOUBLE_ARCH", "gfx000"}, {"HIP_DOUBLE_SEED", seed}};
  const Run run = run_program({"--in", in, "--out", out, "--places", places}, options);
  INFO(run.out << run.err);
  REQUIRE(run.status == 0);
  CHECK(contains(run.out, "checked: all "));
  CHECK(run.err.empty());
  return read_file(out);
}

}  // namespace

TEST_CASE("On hip over the double the bytes are those of cpu_sim") {
  const Folder folder;
  const std::string in = folder.write("in.png", encode(noise(3 * kTile + 11, 2 * kTile + 5, Color::rgba)));
  const std::string expected = blur_on(folder, in, "cpu_sim:0");
  CHECK(blur_on(folder, in, "hip:0") == expected);
  CHECK(blur_on(folder, in, "hip:0,hip:1") == expected);
  CHECK(blur_on(folder, in, "cpu_sim:0,hip:0") == expected);
}

TEST_CASE("Work that the double of HIP runs in another order changes no pixel") {
  const Folder folder;
  const std::string in = folder.write("in.png", encode(noise(2 * kTile + 1, kTile + 1, Color::rgb)));
  const std::string expected = blur_on(folder, in, "cpu_sim:0");
  for (const char* const seed : {"1", "2", "3"}) {
    INFO("seed " << seed);
    CHECK(blur_on(folder, in, "hip:0,hip:1", seed) == expected);
  }
}
