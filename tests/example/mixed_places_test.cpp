// SPDX-License-Identifier: Apache-2.0
//
// image_pipeline on devices of several vendors at once, each over the tests' double of its library: whoever makes a
// tile, and in whatever order the doubles run what has none, the pixels are the same, and every double gets back what
// it gave.
#include <catch2/catch.hpp>
#include <string>

#include "image_pipeline/pipeline.h"
#include "over_doubles.h"
#include "png_files.h"

using namespace example_test;

namespace {

constexpr std::uint32_t kTile = image_pipeline::kTileSize;

void check_together(Over over, const std::string& places) {
  if (!is_built(over)) return;
  const Folder folder;
  // Two tiles for each of four devices.
  const std::string in = folder.write("in.png", encode(noise(3 * kTile + 3, kTile + 2, Color::rgb)));
  const std::string expected = blur_simulated(folder, in);
  for (const char* const seed : {"0", "1", "2", "3"}) {
    INFO("seed " << seed);
    over.seed = seed;
    CHECK(blur_over(over, folder, in, {"--places", places, "--streams", "2"}) == expected);
  }
}

}  // namespace

TEST_CASE("On cuda and levelzero at once the bytes are those of cpu_sim") {
  check_together({{"cuda", "levelzero"}, LevelZero::as_loader}, "cuda:0,levelzero:0");
}

TEST_CASE("On cuda and levelzero behind its loader at once the bytes are those of cpu_sim") {
  check_together({{"cuda", "levelzero"}, LevelZero::behind_loader}, "cuda:0,levelzero:0");
}

TEST_CASE("On cuda and hip at once the bytes are those of cpu_sim") {
  check_together({{"cuda", "hip"}}, "cuda:0,hip:0");
}

TEST_CASE("On hip and levelzero at once the bytes are those of cpu_sim") {
  check_together({{"hip", "levelzero"}, LevelZero::as_loader}, "hip:0,levelzero:0");
}

TEST_CASE("On hip and levelzero behind its loader at once the bytes are those of cpu_sim") {
  check_together({{"hip", "levelzero"}, LevelZero::behind_loader}, "hip:0,levelzero:0");
}

TEST_CASE("On all four backends at once the bytes are those of cpu_sim") {
  check_together({{"cuda", "hip", "levelzero"}, LevelZero::as_loader}, "cuda:0,hip:0,levelzero:0,cpu_sim:0");
}

TEST_CASE("On all four backends with levelzero behind its loader the bytes are those of cpu_sim") {
  check_together({{"cuda", "hip", "levelzero"}, LevelZero::behind_loader}, "cuda:0,hip:0,levelzero:0,cpu_sim:0");
}
