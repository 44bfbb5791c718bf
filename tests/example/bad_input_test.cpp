// SPDX-License-Identifier: Apache-2.0
//
// image_pipeline on what it can't do: each ends in one clear line and a status, and leaves nothing behind.
#include <algorithm>
#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "png_files.h"
#include "run_program.h"

namespace bad_input_test {

using namespace example_test;

namespace {

/// Runs it; the status is 1, standard error is one line of the program's own, and no file came or went.
std::string refused(const Folder& folder, const std::vector<std::string>& arguments, const RunOptions& options = {}) {
  const std::vector<std::string> before = folder.names();
  const Run run = run_program(arguments, options);
  INFO(run.out << run.err);
  CHECK(run.status == 1);
  CHECK(run.err.rfind("image_pipeline: ", 0) == 0);
  CHECK(std::count(run.err.begin(), run.err.end(), '\n') == 1);
  CHECK_FALSE(contains(run.out, "wrote"));
  CHECK(folder.names() == before);
  return run.err;
}

std::string refused_input(const Folder& folder, const std::string& bytes) {
  const std::string in = folder.write("in.png", bytes);
  const std::string said = refused(folder, {"--in", in, "--out", folder.file("out.png")});
  CHECK(contains(said, in));
  return said;
}

std::string good_picture() { return encode(noise(64, 48, Color::rgb)); }

}  // namespace

TEST_CASE("A picture that is missing is named") {
  const Folder folder;
  const std::string in = folder.file("nothing.png");
  const std::string said = refused(folder, {"--in", in, "--out", folder.file("out.png")});
  CHECK(contains(said, in));
  CHECK(contains(said, "No such file"));
}

TEST_CASE("A folder is no picture") {
  const Folder folder;
  const std::string in = folder.file("folder.png");
  std::filesystem::create_directory(in);
  CHECK(contains(refused(folder, {"--in", in, "--out", folder.file("out.png")}), "directory"));
}

TEST_CASE("A file that is not a PNG is refused") {
  const Folder folder;
  CHECK(contains(refused_input(folder, ""), "empty"));
  CHECK(contains(refused_input(folder, "x"), "not a PNG"));
  CHECK(contains(refused_input(folder, "\xff\xd8\xff\xe0 this begins like a JPEG"), "not a PNG"));
  CHECK(contains(refused_input(folder, std::string(100000, '\0')), "not a PNG"));
  // PNG's signature after a transfer in text mode.
  CHECK(contains(refused_input(folder, "\x89PNG\n\x1a\n" + good_picture().substr(8)), "not a PNG"));
}

TEST_CASE("A PNG that is cut off anywhere is refused") {
  const Folder folder;
  const std::string whole = good_picture();
  for (const std::size_t length : {std::size_t{4}, std::size_t{8}, std::size_t{20}, std::size_t{33}, std::size_t{40},
                                   whole.size() / 2, whole.size() - 13, whole.size() - 12, whole.size() - 1}) {
    INFO(length << " of " << whole.size() << " bytes");
    CHECK(contains(refused_input(folder, whole.substr(0, length)), "truncated"));
  }
}

TEST_CASE("An interlaced PNG that is cut off is refused") {
  const Folder folder;
  Stored picture = noise(64, 48, Color::rgba, 16);
  picture.interlaced = true;
  const std::string whole = encode(picture);
  CHECK(contains(refused_input(folder, whole.substr(0, whole.size() / 3)), "truncated"));
}

TEST_CASE("A PNG of no pixels is refused") {
  const Folder folder;
  const std::string rest = chunk("IDAT", "") + chunk("IEND", "");
  CHECK(contains(refused_input(folder, png_header(0, 0) + rest), "zero"));
  CHECK(contains(refused_input(folder, png_header(0, 5) + rest), "width is zero"));
  CHECK(contains(refused_input(folder, png_header(5, 0) + rest), "height is zero"));
}

TEST_CASE("A PNG that claims more pixels than its bytes can hold is refused before memory is asked for") {
  const Folder folder;
  CHECK(contains(refused_input(folder, png_header(1000000, 1000000) + chunk("IDAT", "x") + chunk("IEND", "")),
                 "1000000 x 1000000"));
}

TEST_CASE("A PNG of damaged bytes is refused") {
  const Folder folder;
  std::string damaged = good_picture();
  damaged[damaged.size() / 2] = static_cast<char>(damaged[damaged.size() / 2] ^ 0x55);
  CHECK(contains(refused_input(folder, damaged), "can't be decoded"));
  std::string bad_header = good_picture();
  bad_header[17] = static_cast<char>(bad_header[17] ^ 1);
  CHECK(contains(refused_input(folder, bad_header), "CRC"));
  CHECK(contains(refused_input(folder, png_header(8, 8) + chunk("IEND", "")), "can't be decoded"));
}

TEST_CASE("An output that can't be written is refused before any work") {
  const Folder folder;
  const std::string in = folder.write("in.png", good_picture()), file = folder.write("file", "a file");
  std::filesystem::create_directory(folder.file("folder"));
  const std::vector<std::string> outputs = {folder.file("no/such/folder/out.png"),
                                            folder.file("folder"),
                                            file + "/out.png",
                                            "/proc/out.png",
                                            "/dev/full",
                                            ""};
  for (const std::string& out : outputs) {
    INFO("out: " << out);
    const std::string said = refused(folder, {"--in", in, "--out", out});
    CHECK(contains(said, "can't write '" + out + "'"));
    CHECK_FALSE(contains(said, "megapixels"));
  }
  CHECK(read_file(file) == "a file");
}

TEST_CASE("A write-protected output stays as it is") {
  const Folder folder;
  const std::string in = folder.write("in.png", good_picture()), out = folder.write("out.png", "protected");
  std::filesystem::permissions(out, std::filesystem::perms::owner_read);
  RunOptions options;
  options.obeys_permissions = true;
  CHECK(contains(refused(folder, {"--in", in, "--out", out}, options), "Permission denied"));
  CHECK(read_file(out) == "protected");
}

TEST_CASE("When there is no room for the output the old one stays and nothing else") {
  const Folder folder;
  const std::string in = folder.write("in.png", encode(noise(1000, 1000, Color::rgba)));
  const std::string out = folder.write("out.png", "the old one");
  RunOptions options;
  options.file_size_limit = 1 << 20;  // the image of the kernels becomes a file, too
  const std::string said = refused(folder, {"--in", in, "--out", out}, options);
  CHECK(contains(said, "can't write '" + out + "'"));
  CHECK(contains(said, "File too large"));
  CHECK(read_file(out) == "the old one");
}

TEST_CASE("A bad picture leaves the old output as it is") {
  const Folder folder;
  const std::string in = folder.write("in.png", "no picture"), out = folder.write("out.png", "the old one");
  refused(folder, {"--in", in, "--out", out});
  CHECK(read_file(out) == "the old one");
}

TEST_CASE("A place that isn't there is refused with the places that are") {
  const Folder folder;
  const std::string in = folder.write("in.png", good_picture()), out = folder.file("out.png");
  CHECK(contains(refused(folder, {"--in", in, "--out", out, "--place", "cpu_sim:9"}), "cpu_sim:1"));
  CHECK(contains(refused(folder, {"--in", in, "--out", out, "--place", "cpu_sin"}), "cpu_sim"));
  CHECK(contains(refused(folder, {"--in", in, "--out", out, "--places", "cpu_sim:0,cpu_sim:77"}), "77"));
  refused(folder, {"--in", in, "--out", out, "--place", ""});
}

TEST_CASE("A device without enough memory is an error with the figures") {
  const Folder folder;
  const std::string in = folder.write("in.png", encode(noise(300, 300, Color::rgba)));
  RunOptions options;
  options.variables = {{"ANYPLACE_CPU_SIM_MEMORY", "100000"}};
  const std::string said =
      refused(folder, {"--in", in, "--out", folder.file("out.png"), "--place", "cpu_sim:0"}, options);
  CHECK(contains(said, "out_of_memory"));
}

TEST_CASE("Wrong options are usage errors") {
  const Folder folder;
  const std::string in = folder.write("in.png", good_picture()), out = folder.file("out.png");
  const std::vector<std::vector<std::string>> wrong = {
      {},
      {"--in", in},
      {"--out", out},
      {"--in", in, "--out", out, "--streams", "0"},
      {"--in", in, "--out", out, "--streams", "-1"},
      {"--in", in, "--out", out, "--streams", "1025"},
      {"--in", in, "--out", out, "--streams", "many"},
      {"--in", in, "--out", out, "--place", "cpu_sim:0", "--places", "cpu_sim:0,cpu_sim:1"},
      {"--in", in, "--out", out, "--blur"},
  };
  for (const auto& arguments : wrong) {
    const Run run = run_program(arguments);
    INFO(run.err);
    CHECK(run.status == 2);
    CHECK_FALSE(run.err.empty());
    CHECK(folder.names() == std::vector<std::string>{"in.png"});
  }
}

}  // namespace bad_input_test
