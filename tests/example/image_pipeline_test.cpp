// SPDX-License-Identifier: Apache-2.0
//
// image_pipeline on good pictures: of every kind and awkward size, on one and more streams and places.
#include <catch2/catch.hpp>
#include <cstdio>
#include <string>
#include <vector>

#include "image_pipeline/pipeline.h"
#include "png_files.h"
#include "run_program.h"

namespace image_pipeline_test {

using namespace example_test;

namespace {

constexpr std::uint32_t tile = image_pipeline::tile_size;

/// Runs it and compares every pixel of the output.
void check_blur(const Folder& folder, const Stored& picture, const std::vector<std::string>& options = {}) {
  const std::string in = folder.write("in.png", encode(picture)), out = folder.file("out.png");
  std::vector<std::string> arguments{"--in", in, "--out", out};
  arguments.insert(arguments.end(), options.begin(), options.end());
  const Run run = run_program(arguments);
  INFO(run.out << run.err);
  REQUIRE(run.status == 0);
  CHECK(contains(run.out, "checked: all "));
  CHECK(run.err.empty());
  CHECK(decode(out) == blurred(expected_pixels(picture)));
  CHECK(folder.names() == std::vector<std::string>{"in.png", "out.png"});
}

/// The output file's bytes.
std::string blur_with(const Folder& folder, const std::string& in, const std::vector<std::string>& options) {
  const std::string out = folder.file("out.png");
  std::vector<std::string> arguments{"--in", in, "--out", out};
  arguments.insert(arguments.end(), options.begin(), options.end());
  const Run run = run_program(arguments);
  INFO(run.out << run.err);
  REQUIRE(run.status == 0);
  return read_file(out);
}

}  // namespace

TEST_CASE("A picture of any size is blurred exactly") {
  const Folder folder;
  const std::vector<std::pair<std::uint32_t, std::uint32_t>> sizes = {{1, 1},
                                                                      {1, 100},
                                                                      {100, 1},
                                                                      {2, 2},
                                                                      {3, 2},
                                                                      {5, 5},
                                                                      {tile - 1, 3},
                                                                      {tile, tile},
                                                                      {tile + 1, tile - 1},
                                                                      {tile + 2, tile + 3},
                                                                      {2 * tile, 7},
                                                                      {2 * tile + 1, tile + 1}};
  for (const auto& [width, height] : sizes) {
    INFO(width << " x " << height);
    check_blur(folder, noise(width, height, Color::rgb), {"--place", "cpu_sim:0"});
  }
}

TEST_CASE("Where device memory is protected from the host, the picture is the same and nothing is reported") {
  const Folder folder;
  RunOptions options;
  options.variables = {{"ANYPLACE_CPU_SIM_PROTECT", "1"}};
  const Stored picture = noise(2 * tile + 1, tile + 1, Color::rgb);
  const std::string in = folder.write("in.png", encode(picture)), out = folder.file("out.png");
  const Run run = run_program({"--in", in, "--out", out, "--place", "cpu_sim:0"}, options);
  INFO(run.out << run.err);
  REQUIRE(run.status == 0);
  CHECK(run.err.empty());
  CHECK(decode(out) == blurred(expected_pixels(picture)));
}

TEST_CASE("Of a picture that is cropped the upper left corner is blurred, as a picture of its own") {
  const Folder folder;
  const Stored picture = noise(tile + 40, 60, Color::rgb);
  const std::string in = folder.write("in.png", encode(picture));
  blur_with(folder, in, {"--place", "cpu_sim:0", "--crop", std::to_string(tile + 1)});
  const Pixels whole = expected_pixels(picture);
  Pixels corner{tile + 1, whole.height, whole.channels, {}};
  for (std::size_t y = 0; y < corner.height; ++y) {
    const auto row = whole.values.begin() + static_cast<std::ptrdiff_t>(y * whole.width * whole.channels);
    corner.values.insert(corner.values.end(), row, row + static_cast<std::ptrdiff_t>(corner.width * corner.channels));
  }
  CHECK(decode(folder.file("out.png")) == blurred(corner));
  CHECK(run_program({"--in", in, "--out", folder.file("out.png"), "--crop", "0"}).status == 2);
}

TEST_CASE("Grey and RGB keep their channels with and without alpha") {
  const Folder folder;
  const std::vector<std::pair<Color, std::uint32_t>> kinds = {
      {Color::grey, 1}, {Color::grey_alpha, 2}, {Color::rgb, 3}, {Color::rgba, 4}};
  for (const auto& [color, channels] : kinds) {
    INFO(channels << " channels");
    check_blur(folder, noise(70, 53, color));
    CHECK(decode(folder.file("out.png")).channels == channels);
  }
}

TEST_CASE("16-bit pictures are brought to 8 bits a channel") {
  const Folder folder;
  for (const Color color : {Color::grey, Color::grey_alpha, Color::rgb, Color::rgba}) {
    check_blur(folder, noise(61, 40, color, 16));
  }
}

TEST_CASE("Grey pictures of fewer than 8 bits are expanded") {
  const Folder folder;
  for (const int depth : {1, 2, 4}) {
    INFO(depth << " bits");
    check_blur(folder, noise(37, 29, Color::grey, depth));
  }
}

TEST_CASE("A palette becomes RGB and with transparent entries RGBA") {
  const Folder folder;
  for (const int depth : {1, 2, 4, 8}) {
    INFO(depth << " bits");
    Stored picture = noise(45, 33, Color::palette, depth);
    check_blur(folder, picture);
    CHECK(decode(folder.file("out.png")).channels == 3);
    picture.palette_alpha = {0, 128};
    check_blur(folder, picture);
    CHECK(decode(folder.file("out.png")).channels == 4);
  }
}

TEST_CASE("A transparent colour becomes an alpha channel") {
  const Folder folder;
  for (const int depth : {2, 8, 16}) {
    INFO(depth << " bits");
    Stored grey = noise(45, 33, Color::grey, depth);
    grey.transparent_color = {grey.samples[7], 0, 0};
    check_blur(folder, grey);
    CHECK(decode(folder.file("out.png")).channels == 2);
    if (depth < 8) continue;
    Stored rgb = noise(45, 33, Color::rgb, depth);
    rgb.transparent_color = {rgb.samples[3], rgb.samples[4], rgb.samples[5]};
    check_blur(folder, rgb);
    CHECK(decode(folder.file("out.png")).channels == 4);
  }
}

TEST_CASE("Interlaced pictures of every kind are read whole") {
  const Folder folder;
  const std::vector<std::pair<Color, int>> kinds = {{Color::grey, 1}, {Color::grey, 16}, {Color::grey_alpha, 8},
                                                    {Color::rgb, 8},  {Color::rgba, 16}, {Color::palette, 4}};
  for (const auto& [color, depth] : kinds) {
    for (const std::uint32_t width : {1u, 3u, 67u}) {
      INFO(width << " wide, " << depth << " bits");
      Stored picture = noise(width, 19, color, depth);
      picture.interlaced = true;
      check_blur(folder, picture);
    }
  }
}

TEST_CASE("1 stream and 16 streams and two places write the same bytes") {
  const Folder folder;
  const std::string in = folder.write("in.png", encode(noise(3 * tile + 11, 2 * tile + 5, Color::rgba)));
  const std::string one = blur_with(folder, in, {"--place", "cpu_sim:0", "--streams", "1"});
  CHECK(blur_with(folder, in, {"--place", "cpu_sim:0", "--streams", "16"}) == one);
  CHECK(blur_with(folder, in, {"--places", "cpu_sim:0,cpu_sim:1"}) == one);
  CHECK(blur_with(folder, in, {"--places", "cpu_sim:1,cpu_sim:0", "--streams", "16"}) == one);
  CHECK(blur_with(folder, in, {"--places", "cpu_sim:0,cpu_sim:0,cpu_sim", "--streams", "3"}) == one);
  CHECK(blur_with(folder, in, {}) == one);
}

TEST_CASE("More streams than tiles are no harm") {
  const Folder folder;
  check_blur(folder, noise(20, 20, Color::rgb), {"--places", "cpu_sim:0,cpu_sim:1", "--streams", "1024"});
}

TEST_CASE("The output may be the input") {
  const Folder folder;
  const Stored picture = noise(50, 50, Color::rgb);
  const std::string file = folder.write("both.png", encode(picture));
  const Run run = run_program({"--in", file, "--out", file});
  INFO(run.err);
  REQUIRE(run.status == 0);
  CHECK(decode(file) == blurred(expected_pixels(picture)));
}

TEST_CASE("An output that is there is replaced and a link to it followed") {
  const Folder folder;
  const Stored picture = noise(9, 9, Color::grey);
  const std::string in = folder.write("in.png", encode(picture)), old = folder.write("old.png", "something else");
  std::filesystem::create_symlink("old.png", folder.file("link.png"));
  const Run run = run_program({"--in", in, "--out", folder.file("link.png")});
  INFO(run.err);
  REQUIRE(run.status == 0);
  CHECK(std::filesystem::is_symlink(folder.file("link.png")));
  CHECK(decode(old) == blurred(expected_pixels(picture)));
}

TEST_CASE("Progress is shown nowhere but on a terminal") {
  const Folder folder;
  const std::string in = folder.write("in.png", encode(noise(2 * tile, tile, Color::grey)));
  const Run run = run_program({"--in", in, "--out", folder.file("out.png")});
  CHECK(run.status == 0);
  CHECK(run.err.empty());
}

TEST_CASE("Progress is shown on a terminal") {
  if (!has_terminals()) {
    std::puts("ANYPLACE_TEST_SKIPPED: this system gives no pseudo-terminals (is /dev/pts mounted?)");
    return;
  }
  const Folder folder;
  const std::string in = folder.write("in.png", encode(noise(2 * tile, tile, Color::grey)));
  RunOptions terminal;
  terminal.terminal = true;
  const Run run = run_program({"--in", in, "--out", folder.file("out.png")}, terminal);
  CHECK(run.status == 0);
  CHECK(contains(run.err, "1 of 2 tiles"));
  CHECK(contains(run.err, "2 of 2 tiles"));
}

TEST_CASE("Throughput and places are reported") {
  const Folder folder;
  const std::string in = folder.write("in.png", encode(noise(300, 200, Color::rgb)));
  const Run run = run_program({"--in", in, "--out", folder.file("out.png"), "--places", "cpu_sim:0,custom_cpu:1"});
  CHECK(run.status == 0);
  CHECK(contains(run.out, "cpu_sim:0, cpu_sim:1"));
  CHECK(contains(run.out, "megapixels a second"));
  CHECK(contains(run.out, "300 x 200"));
}

}  // namespace image_pipeline_test
