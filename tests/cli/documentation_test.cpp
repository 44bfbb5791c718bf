// SPDX-License-Identifier: Apache-2.0
// The documentation prints programs. Each is marked with the file that it is a copy of, which the tests build and run;
// here the copies are compared. A mark is a line <!-- program: PATH --> before a fenced block.
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace documentation_test {

namespace {

const std::filesystem::path root = ANYPLACE_SOURCE_ROOT;

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  REQUIRE(file);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// A program without the comments that it starts with: licence and purpose aren't printed.
std::string body_of(const std::filesystem::path& path) {
  std::istringstream lines(text_of(path));
  std::string body;
  for (std::string line; std::getline(lines, line);) {
    const bool leading = body.empty() && (line.starts_with("//") || line.starts_with("/*"));
    if (!leading) body += line + "\n";
  }
  return body;
}

struct Block {
  std::string page;
  std::string program;  ///< of the mark before it; "" without one
  bool excerpt;
  std::string language;
  std::string text;
};

std::vector<Block> blocks_of(const std::filesystem::path& page) {
  std::vector<Block> blocks;
  std::string mark;
  bool is_excerpt = false;
  bool inside = false;
  std::istringstream lines(text_of(page));
  for (std::string line; std::getline(lines, line);) {
    const std::string program = "<!-- program: ";
    const std::string excerpt = "<!-- excerpt: ";
    if (inside && line == "```") {
      inside = false;
    } else if (inside) {
      blocks.back().text += line + "\n";
    } else if (line.starts_with("```")) {
      inside = true;
      blocks.push_back({page.filename().string(), mark, is_excerpt, line.substr(3), ""});
      mark.clear();
    } else if (line.starts_with(program) || line.starts_with(excerpt)) {
      mark = line.substr(program.size(), line.find(" -->") - program.size());
      is_excerpt = line.starts_with(excerpt);
    } else if (!line.empty()) {
      mark.clear();
    }
  }
  return blocks;
}

std::vector<Block> all_blocks() {
  std::vector<Block> blocks = blocks_of(root / "README.md");
  for (const auto& entry : std::filesystem::directory_iterator(root / "docs")) {
    if (entry.path().extension() != ".md") continue;
    const std::vector<Block> more = blocks_of(entry.path());
    blocks.insert(blocks.end(), more.begin(), more.end());
  }
  return blocks;
}

/// The first line of an excerpt that its file lacks, or has elsewhere; "" if there is none. Comments are the excerpt's
/// own.
std::string stray_line(const Block& block) {
  std::istringstream file(text_of(root / block.program));
  std::istringstream lines(block.text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t start = line.find_first_not_of(' ');
    if (start == std::string::npos || line.compare(start, 2, "//") == 0) continue;
    std::string found;
    while (found != line && std::getline(file, found)) {
    }
    if (found != line) return line;
  }
  return "";
}

}  // namespace

TEST_CASE("The README prints the hello example and lines of the toy backend") {
  std::set<std::string> printed;
  for (const Block& block : blocks_of(root / "README.md")) printed.insert(block.program);
  CHECK(printed.count("examples/hello/main.cpp") == 1);
  CHECK(printed.count("docs/programs/toy_backend.cpp") == 1);
}

TEST_CASE("Every program in the documentation is the one that the tests build") {
  for (const Block& block : all_blocks()) {
    if (block.program.empty()) continue;
    CAPTURE(block.page, block.program);
    if (block.excerpt) {
      CHECK(stray_line(block).empty());
    } else {
      CHECK(block.text == body_of(root / block.program));
    }
  }
}

TEST_CASE("Every complete program in the documentation is marked with its file") {
  for (const Block& block : all_blocks()) {
    const bool complete = block.text.find("int main(") != std::string::npos ||
                          block.text.find("ANYPLACE_EXPORT_BACKEND(") != std::string::npos;
    if (block.language != "cpp" || !complete) continue;
    CAPTURE(block.page, block.text);
    CHECK_FALSE(block.program.empty());
  }
}

TEST_CASE("Every program under docs is printed somewhere") {
  std::set<std::string> printed;
  for (const Block& block : all_blocks()) {
    if (!block.excerpt) printed.insert(block.program);
  }
  for (const auto& entry : std::filesystem::directory_iterator(root / "docs" / "programs")) {
    const std::string path = "docs/programs/" + entry.path().filename().string();
    CAPTURE(path);
    CHECK(printed.count(path) == 1);
  }
}

}  // namespace documentation_test
