// SPDX-License-Identifier: Apache-2.0
//
// image_pipeline on devices of several vendors at once, each over the tests' double of its library: whoever makes a
// tile, and in whatever order the doubles run what has none, the pixels are the same, and every double gets back what
// it gave.
#include <catch2/catch.hpp>
#include <string>

#include "image_pipeline/pipeline.h"
#include "over_doubles.h"

namespace mixed_places_test {

using namespace example_test;

namespace {

constexpr std::uint32_t tile = image_pipeline::tile_size;

/// Two tiles for each of four devices.
void check_together(const Over& over, const std::string& places) {
  check_pixels(over, noise(3 * tile + 3, tile + 2, Color::rgb), {{"--places", places, "--streams", "2"}},
               {"0", "1", "2", "3"});
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

}  // namespace mixed_places_test
