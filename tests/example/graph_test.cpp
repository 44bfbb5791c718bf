// SPDX-License-Identifier: Apache-2.0
//
// image_pipeline --graph: what is captured once and launched for each frame leaves the bytes that submitting it leaves,
// on cpu_sim and over every double.
#include <catch2/catch.hpp>
#include <string>

#include "image_pipeline/pipeline.h"
#include "over_doubles.h"

namespace graph_test {

using namespace example_test;

namespace {

constexpr std::uint32_t tile = image_pipeline::tile_size;

void check_frames(const Over& over, const std::string& places, const std::vector<std::string>& seeds = {"0", "1"}) {
  check_pixels(over, noise(2 * tile + 3, tile + 2, Color::rgb),
               {{"--places", places, "--streams", "2", "--graph", "--frames", "10"}}, seeds);
}

}  // namespace

TEST_CASE("A captured picture's frames are those that are submitted, on cpu_sim") {
  const Folder folder;
  const Stored picture = noise(2 * tile + 3, tile + 2, Color::rgba);
  const std::string in = folder.write("in.png", encode(picture));
  const std::string out = folder.file("out.png");
  const Run run = run_program({"--place", "cpu_sim:0", "--graph", "--frames", "100", "--in", in, "--out", out});
  INFO(run.out << run.err);
  REQUIRE(run.status == 0);
  CHECK(contains(run.out, "a graph of 18 nodes"));
  CHECK(contains(run.out, "100 frames each way, the same bytes each time"));
  CHECK(decode(out) == blurred(expected_pixels(picture)));
}

TEST_CASE("A captured picture's frames are those that are submitted, over cuda's double") {
  check_frames({{"cuda"}}, "cuda:0");
}

TEST_CASE("A captured picture's frames are those that are submitted, over hip's double") {
  check_frames({{"hip"}}, "hip:0,hip:1");
}

TEST_CASE("A captured picture's frames are those that are submitted, over levelzero's double") {
  check_frames({{"levelzero"}, LevelZero::as_loader}, "levelzero:0");
}

TEST_CASE("A captured picture's frames are those that are submitted, with all backends at once") {
  check_frames({{"cuda", "hip", "levelzero"}, LevelZero::as_loader}, "cuda:0,hip:0,levelzero:0,cpu_sim:0", {"1"});
}

TEST_CASE("Frames without a graph and numbers of frames that are none are refused") {
  const Folder folder;
  const std::string in = folder.write("in.png", encode(noise(3, 3, Color::grey)));
  for (const std::string frames : {"0", "-1", "many"}) {
    CHECK(run_program({"--graph", "--frames", frames, "--in", in, "--out", folder.file("out.png")}).status == 2);
  }
  CHECK(run_program({"--frames", "3", "--in", in, "--out", folder.file("out.png")}).status == 2);
}

}  // namespace graph_test
