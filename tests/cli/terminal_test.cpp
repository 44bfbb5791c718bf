// SPDX-License-Identifier: Apache-2.0
// What is different on a terminal: colour, progress, and lines that fit. Elsewhere there is none of it.
#include <algorithm>
#include <catch2/catch.hpp>
#include <iterator>
#include <sstream>

#include "plugin_folder.h"
#include "run_command.h"
#include "text_file.h"

namespace terminal_test {

using namespace anyplace::test;

namespace {

const Variables roomy{{"ANYPLACE_CPU_SIM_MEMORY", "40GiB"}};
const std::string small = std::string(ANYPLACE_SOURCE_ROOT) + "/tests/cli/data/small.csv";

bool has_colour(const std::string& text) { return contains(text, "\x1b["); }

/// What is left on the screen: what a carriage return went back over is gone.
std::string left_standing(const std::string& shown) {
  std::string result;
  std::istringstream lines(shown);
  for (std::string line; std::getline(lines, line);) {
    std::string screen;
    std::istringstream parts(line);
    for (std::string part; std::getline(parts, part, '\r');) {
      screen.replace(0, std::min(part.size(), screen.size()), part);
    }
    screen.erase(screen.find_last_not_of(' ') + 1);
    result += screen + "\n";
  }
  return result;
}

}  // namespace

TEST_CASE("On a terminal there is colour, and the text is the same without it") {
  for (const char* command : {"devices", "doctor"}) {
    CAPTURE(command);
    const Run terminal = run_on_terminal({command}, {}, 1000);
    const Run pipe = run_command({command});
    CHECK(terminal.status == pipe.status);
    CHECK(has_colour(terminal.out));
    CHECK_FALSE(has_colour(pipe.out));
    CHECK_FALSE(has_colour(pipe.err));
    CHECK(contains(without_colour(terminal.out), pipe.out));
    CHECK(contains(without_colour(terminal.out), pipe.err));
  }
  CHECK(has_colour(run_on_terminal({"replay", small}, roomy).out));
  CHECK(has_colour(run_on_terminal({"info", "cpu_sim:9"}).out));
  CHECK_FALSE(has_colour(run_command({"replay", small}, roomy).out));
  CHECK_FALSE(has_colour(run_command({"info", "cpu_sim:9"}).err));
}

TEST_CASE("NO_COLOR and a dumb terminal have no colour, and JSON never has") {
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{"devices"}, {"doctor"}, {"replay", small}, {"info", "cpu_sim:9"}}) {
    CAPTURE(command);
    CHECK_FALSE(has_colour(run_on_terminal(command, {{"NO_COLOR", "1"}}).out));
    CHECK_FALSE(has_colour(run_on_terminal(command, {{"TERM", "dumb"}}).out));
    CHECK_FALSE(has_colour(run_on_terminal(command, {{"TERM", ""}}).out));
    CHECK(has_colour(run_on_terminal(command, {{"NO_COLOR", ""}}).out));  // as no-color.org has it
    std::vector<std::string> in_json = command;
    in_json.emplace_back("--json");
    CHECK_FALSE(has_colour(run_on_terminal(in_json, roomy).out));
  }
}

TEST_CASE("A plugin's text brings no sequence to the terminal") {
  PluginFolder folder;
  folder.add("chatterbox");
  for (const char* command : {"devices", "doctor"}) {
    const Run run = run_on_terminal({command}, {{"ANYPLACE_BACKEND_PATH", folder.path()}}, 400);
    CHECK_FALSE(contains(run.out, "\x1b[31mred"));
  }
  CHECK(contains(run_on_terminal({"devices"}, {{"ANYPLACE_BACKEND_PATH", folder.path()}}, 400).out, "\\x1b[31mred"));
}

TEST_CASE("Lines are broken between words where the terminal ends") {
  PluginFolder folder;
  folder.add("needs_vendor").add("crasher").add_empty("empty");
  for (const unsigned columns : {80u, 200u}) {
    for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
             {"devices"}, {"doctor"}, {"info", "needs_vendor:0"}, {"info", "cpu_sim:-1"}}) {
      const Run run = run_on_terminal(command, {{"ANYPLACE_BACKEND_PATH", folder.path()}, {"NO_COLOR", "1"}}, columns);
      CAPTURE(command, columns, run.out);
      std::string longest_word, longest_line;
      std::istringstream lines(run.out);
      for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        for (std::string word; words >> word;)
          longest_word = std::max(longest_word, word, [](auto& a, auto& b) { return a.size() < b.size(); });
        if (line.size() > longest_line.size()) longest_line = line;
      }
      // Only a word that is as long as that (a path) may reach beyond the end.
      CHECK(longest_line.size() <= std::max<std::size_t>(columns, longest_word.size() + columns / 2));
    }
  }
  // Nothing but the places of blanks and line ends is changed.
  const auto words_of = [](const std::string& text) {
    std::istringstream words(text);
    return std::vector<std::string>(std::istream_iterator<std::string>(words), {});
  };
  const Variables plain{{"NO_COLOR", "1"}, {"ANYPLACE_BACKEND_PATH", folder.path()}};
  CHECK(words_of(run_on_terminal({"doctor"}, plain, 60).out) == words_of(run_command({"doctor"}, plain).out));
}

TEST_CASE("A replay shows on a terminal what it is doing, and takes it away again") {
  // On each of two streams a page is reserved, and less than a page is live.
  const TextFile file("a,0,1000\na,1,1000,1\nf,0,1000\nf,1,1000,1\n");
  const Run run = run_on_terminal({"replay", file.path(), "--find-limit", "--repeat", "2"}, roomy);
  CAPTURE(run.out);
  CHECK(run.status == 0);
  for (const char* stage : {"\rreading ", "\rfinding the limit, try 1", "\rfinding the limit, try 2 with ",
                            "\rreplaying, 1 of 2", "\rreplaying, 2 of 2"}) {
    CAPTURE(stage);
    CHECK(contains(run.out, stage));
  }
  const std::string standing = left_standing(without_colour(run.out));
  CHECK(standing.starts_with(file.path() + " on cpu_sim:0"));
  for (const char* stage : {"reading", "finding", "replaying"}) CHECK_FALSE(contains(standing, stage));

  const Run made = run_on_terminal({"replay", "--synthetic", "3", "--operations", "5000", "--limit", "1GiB"}, roomy);
  CHECK(contains(made.out, "\rmaking the synthetic trace"));
  CHECK(contains(made.out, "\rfilling the memory"));
  CHECK(left_standing(without_colour(made.out)).starts_with("synthetic trace 3 on cpu_sim:0"));

  // An error comes on lines of its own, too.
  const Run bad = run_on_terminal({"replay", TextFile("a,0\n").path()}, roomy, 400);
  CHECK(bad.status == 2);
  const std::string said = left_standing(without_colour(bad.out));
  CHECK(said.starts_with("anyplace replay: "));
  CHECK(contains(said, "'a,0' is cut off\n  a line is a,ID,BYTES"));
  const Run failed = run_on_terminal({"replay", small, "--limit", "2MiB"}, roomy);
  CHECK(failed.status == 1);
  CHECK(left_standing(without_colour(failed.out)).starts_with("anyplace replay: "));
}

TEST_CASE("A replay says nothing of its progress on a pipe") {
  const Run run = run_command({"replay", small, "--find-limit", "--repeat", "2"}, roomy);
  CHECK(run.status == 0);
  CHECK(run.err.empty());
  CHECK_FALSE(contains(run.out, "\r"));
  CHECK_FALSE(contains(run.out, "replaying"));
}

}  // namespace terminal_test
