// SPDX-License-Identifier: Apache-2.0
// docs/writing-a-backend.md has every entry of the plugin boundary and every capability, says of each whether it may be
// null, and names filters that find cases. It is compared with the headers' lists here, so that it can't fall behind
// them.
#include <anyplace/backend/entries.h>

#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "run_command.h"

namespace backend_page_test {

using namespace anyplace::test;

namespace {

const std::filesystem::path root = ANYPLACE_SOURCE_ROOT;
const std::filesystem::path page = root / "docs/writing-a-backend.md";

std::string text_of(const std::filesystem::path& path) {
  std::ifstream file(path);
  REQUIRE(file);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

std::set<std::string> matches(const std::string& text, const char* pattern) {
  const std::regex expression(pattern);
  std::set<std::string> found;
  for (std::sregex_iterator match(text.begin(), text.end(), expression), end; match != end; ++match) {
    found.insert((*match)[1]);
  }
  return found;
}

std::set<std::string> in_backticks(const std::string& text) { return matches(text, "`([^`]+)`"); }

/// The rows of the tables with so many columns that begin with a name in backticks: its cells by that name.
std::map<std::string, std::vector<std::string>> rows_of(std::size_t columns) {
  std::map<std::string, std::vector<std::string>> rows;
  std::istringstream lines(text_of(page));
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("| `")) continue;
    std::vector<std::string> cells;
    std::istringstream row(line.substr(2));
    for (std::string cell; std::getline(row, cell, '|');) cells.push_back(cell);
    const std::set<std::string> names = in_backticks(cells.front());
    if (cells.size() != columns || names.size() != 1) continue;
    INFO(line);
    CHECK(rows.emplace(*names.begin(), cells).second);  // each has one row
  }
  return rows;
}

std::map<std::string, std::vector<std::string>> entry_rows() { return rows_of(5); }

std::set<std::string> capability_names() {
  return {
#define NAME(upper, lower, bit, text) #lower,
      ANYPLACE_CAPABILITY_LIST(NAME)
#undef NAME
  };
}

/// What entries.h says of an entry.
struct Entry {
  int presence = 0;
  std::set<std::string> capabilities;
};

std::set<std::string> names_of(std::uint64_t capabilities) {
  std::set<std::string> names;
#define ADD_NAME(upper, lower, bit, text) \
  if ((capabilities >> (bit)&1) != 0) names.insert(#lower);
  ANYPLACE_CAPABILITY_LIST(ADD_NAME)
#undef ADD_NAME
  return names;
}

std::map<std::string, Entry> entries() {
  return {
#define ENTRY(entry, presence, capabilities) {#entry, {ANYPLACE_ENTRY_##presence, names_of(capabilities)}},
      ANYPLACE_ENTRY_LIST(ENTRY)
#undef ENTRY
  };
}

}  // namespace

TEST_CASE("The page for vendors has a row for every entry of the plugin boundary and no other") {
  std::set<std::string> described, there;
  for (const auto& [name, cells] : entry_rows()) described.insert(name);
  for (const auto& [name, entry] : entries()) there.insert(name);
  CHECK(described == there);
}

TEST_CASE("The page for vendors says of each entry whether it may be null and with which others") {
  const std::map<std::string, Entry> there = entries();
  for (const auto& [name, cells] : entry_rows()) {
    CAPTURE(name, cells[2]);
    const Entry& entry = there.at(name);
    CHECK((cells[2] == " no ") == (entry.presence == ANYPLACE_ENTRY_REQUIRED));
    CHECK(cells[2].starts_with(" yes") == (entry.presence == ANYPLACE_ENTRY_OPTIONAL));
    CHECK((cells[2].starts_with(" with the ") || cells[2].starts_with(" all ")) ==
          (entry.presence == ANYPLACE_ENTRY_TOGETHER));
  }
}

TEST_CASE("The page for vendors has a row for every capability and names no other") {
  const std::set<std::string> known = capability_names();
  std::set<std::string> described;
  for (const auto& [name, cells] : rows_of(3)) {
    if (known.count(name) == 1) described.insert(name);
  }
  CHECK(described == known);
  const std::map<std::string, Entry> there = entries();
  for (const auto& [name, cells] : entry_rows()) {
    CAPTURE(name);
    const std::set<std::string> named = in_backticks(cells[3]);
    for (const std::string& capability : named) {
      CAPTURE(capability);
      CHECK(known.count(capability) == 1);
    }
    // An entry that every backend has may do more for a device with a capability; any other is there for its own.
    if (there.at(name).presence != ANYPLACE_ENTRY_REQUIRED) CHECK(named == there.at(name).capabilities);
    // Whatever may be missing stands for something that the device then lacks, but what only helps the core.
    const std::set<std::string> helping = {"shutdown",         "virtual_map_all",  "device_clock",  "event_timestamp",
                                           "module_global",    "module_native",    "kernel_native", "kernel_attributes",
                                           "kernel_occupancy", "memory_export_end"};
    CHECK((!named.empty() || cells[2] == " no " || helping.count(name) == 1));
  }
}

TEST_CASE("Every filter that the pages for vendors name finds cases") {
  std::set<std::string> filters;
  for (const auto& path :
       {page, root / "conformance/README.md", root / "tools/templates/new_backend/common/README.md"}) {
    const std::string text = text_of(path);
    for (const char* pattern : {R"(--filter ([a-z_.]*[a-z_])[^A-Za-z])", "--filter \"([^\"]+)\""}) {
      const std::set<std::string> more = matches(text, pattern);
      filters.insert(more.begin(), more.end());
    }
  }
  for (const auto& [name, cells] : entry_rows()) {
    const std::set<std::string> cases = in_backticks(cells[4]);
    CAPTURE(name);
    CHECK(cases.empty() == (cells[4] == " none yet "));
    filters.insert(cases.begin(), cases.end());
  }
  const std::set<std::string> known = capability_names();
  for (const auto& [name, cells] : rows_of(3)) {
    if (known.count(name) == 0) continue;
    const std::set<std::string> cases = in_backticks(cells[2]);
    filters.insert(cases.begin(), cases.end());
  }
  CHECK(filters.size() > 40);
  for (const std::string& filter : filters) {
    CAPTURE(filter);
    CHECK(run_command({"conformance", "--list", "--filter", filter}).status == 0);
  }
}

}  // namespace backend_page_test
