// SPDX-License-Identifier: Apache-2.0
// The manual page and the completion that are installed: both say what --help says, no more and no less.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>

#include "cli/run_command.h"
#include "support/temp_dir.h"

namespace pages_test {

namespace {

using anyplace::test::Run;
using anyplace::test::run_command;
using Words = std::set<std::string>;

std::string output_of(const std::vector<std::string>& arguments) {
  const Run run = run_command(arguments);
  INFO(run.err);
  REQUIRE(run.status == 0);
  return run.out;
}

std::string read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

Words found(const std::string& text, const std::string& pattern, std::size_t group = 0) {
  Words words;
  const std::regex regex(pattern);
  for (std::sregex_iterator match(text.begin(), text.end(), regex), end; match != end; ++match) {
    words.insert((*match)[group].str());
  }
  return words;
}

/// The commands that --help lists.
Words commands() {
  const std::string help = output_of({"--help"});
  const std::size_t begin = help.find("Subcommands:");
  REQUIRE(begin != std::string::npos);
  const Words names = found(help.substr(begin, help.find("\n\n", begin) - begin), "\n  ([a-z-]+) ", 1);
  REQUIRE(names.size() >= 7);
  return names;
}

/// "--json" ... that a help text begins its lines with.
Words options_in(const std::string& help) { return found(help, "\n  (?:-[a-zA-Z],)?(--[a-z-]+)", 1); }
/// "-h" ... in front of such an option.
Words short_options_in(const std::string& help) { return found(help, "\n  (-[a-zA-Z]),--", 1); }

/// Of the manual page, without what is for roff alone.
std::string plain(std::string page) {
  for (const auto& [from, to] :
       {std::pair<std::string, std::string>{"\\-", "-"}, {"\\fB", ""}, {"\\fI", ""}, {"\\fR", ""}, {"\\&", ""}}) {
    for (std::size_t at = page.find(from); at != std::string::npos; at = page.find(from, at)) {
      page.replace(at, from.size(), to);
    }
  }
  return page;
}

/// What bash offers for the words, the last of which is being written.
Words offered(const std::vector<std::string>& words) {
  const test::TempDir folder;
  const std::string answer_file = folder / "answer";
  std::string script = output_of({"pages", "bash"}) + "COMP_WORDS=(";
  for (const std::string& word : words) script += " '" + word + "'";
  script += ")\nCOMP_CWORD=" + std::to_string(words.size() - 1) + "\n_anyplace\nprintf '%s\\n' \"${COMPREPLY[@]}\" >'" +
            answer_file + "'\n";
  const std::string file = folder.write("ask", script);
  REQUIRE(std::system(("bash '" + file + "'").c_str()) == 0);
  std::istringstream answer(read(answer_file));
  Words all;
  for (std::string line; std::getline(answer, line);) {
    if (!line.empty()) all.insert(line);
  }
  return all;
}

}  // namespace

TEST_CASE("The manual page has every command and option that --help has and no other") {
  const std::string page = plain(output_of({"pages", "man"}));
  const std::string list = page.substr(page.find(".SH COMMANDS"));
  CHECK(found(list, "\n\\.SS ([a-z-]+)", 1) == commands());
  for (const std::string& command : commands()) {
    INFO(command);
    const std::size_t begin = list.find("\n.SS " + command + "\n") + 1;
    const std::string section = list.substr(begin, list.find("\n.S", begin + 1) - begin);
    CHECK(found(section, "\n\\.TP\n(?:-[a-zA-Z], )?(--[a-z-]+)", 1) == options_in(output_of({command, "--help"})));
    CHECK(page.find("anyplace " + command) < page.find(".SH COMMANDS"));
  }
  for (const char* section : {".SH NAME", ".SH SYNOPSIS", ".SH EXIT STATUS", ".SH ENVIRONMENT"}) {
    INFO(section);
    CHECK(page.find(section) != std::string::npos);
  }
  CHECK(page.find("ANYPLACE_BACKEND_PATH") != std::string::npos);
}

TEST_CASE("The completion offers every command and option that --help has and no other") {
  Words first = commands();
  first.merge(options_in(output_of({"--help"})));
  first.insert("-h");
  CHECK(offered({"anyplace", ""}) == first);
  for (const std::string& command : commands()) {
    INFO(command);
    const std::string help = output_of({command, "--help"});
    Words options = options_in(help);
    options.merge(short_options_in(help));
    CHECK(offered({"anyplace", command, ""}) == options);
  }
  CHECK(offered({"anyplace", "rep"}) == Words{"replay"});
  CHECK(offered({"anyplace", "replay", "--segments", ""}) == Words{"classic", "vmm"});
  CHECK(offered({"anyplace", "replay", "--segments", "v"}) == Words{"vmm"});
  // Any value: bash goes on with names of files.
  CHECK(offered({"anyplace", "conformance", "--junit", ""}).empty());
  CHECK(offered({"anyplace", "no-such-command", ""}).empty());
}

TEST_CASE("What is installed is what the command prints") {
  CHECK(read(ANYPLACE_PAGES "/anyplace.1") == output_of({"pages", "man"}));
  CHECK(read(ANYPLACE_PAGES "/anyplace.bash") == output_of({"pages", "bash"}));
}

TEST_CASE("A page that there isn't is refused with those there are") {
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"pages"}, {"pages", "html"}}) {
    const Run run = run_command(arguments);
    CHECK(run.status == 2);
    CHECK(run.out.empty());
    INFO(run.err);
    CHECK((run.err.find("PAGE") != std::string::npos));
  }
  const Run run = run_command({"pages", "man", "/no such folder/page"});
  CHECK(run.status == 1);
  CHECK(run.err == "anyplace: '/no such folder/page' can't be written\n");
  // It is for the build: nobody is told of it unasked.
  CHECK(output_of({"--help"}).find("pages") == std::string::npos);
  CHECK(run_command({"pagse"}).err.find("pages") == std::string::npos);
}

}  // namespace pages_test
