// SPDX-License-Identifier: Apache-2.0
// Programs with the tests' tools, and what those wrote down.
#pragma once

#include <sstream>
#include <string>
#include <vector>

#include "support/process.h"
#include "support/temp_dir.h"

namespace annotate_test {

using test::Ended;
using test::Variables;

/// A call as a tool wrote it down.
struct Recorded {
  std::string what, thread, domain, category, color, payload, name;

  bool operator==(const Recorded&) const = default;
};

inline std::vector<Recorded> read_record(const std::string& path) {
  std::vector<Recorded> all;
  std::istringstream lines(test::read_file(path));
  for (std::string line; std::getline(lines, line);) {
    Recorded one;
    std::istringstream parts(line);
    for (std::string* const part :
         {&one.what, &one.thread, &one.domain, &one.category, &one.color, &one.payload, &one.name}) {
      std::getline(parts, *part, '|');
    }
    all.push_back(one);
  }
  return all;
}

/// "push frame": what and name, the name only where there is one.
inline std::vector<std::string> calls_of(const std::vector<Recorded>& record) {
  std::vector<std::string> calls;
  for (const Recorded& one : record) calls.push_back(one.what + (one.name == "-" ? "" : " " + one.name));
  return calls;
}

/// A folder with the tools' records, and the variables that bring a process under them.
struct Tools {
  test::TempDir folder;

  /// No tool: what the test itself runs under doesn't count.
  Variables none() const {
    return {{"NVTX_INJECTION64_PATH", ""},
            {"INTEL_LIBITTNOTIFY64", ""},
            {"ANYPLACE_ANNOTATE", ""},
            {"NVTX_TOOL_RECORD", folder.file("nvtx")},
            {"ROCTX_TOOL_RECORD", folder.file("roctx")},
            {"ITT_TOOL_RECORD", folder.file("itt")}};
  }
  Variables with(const Variables& more) const {
    Variables variables = none();
    for (const auto& [name, value] : more) variables[name] = value;
    return variables;
  }
  Variables all() const {
    return with(
        {{"NVTX_INJECTION64_PATH", NVTX_TOOL}, {"INTEL_LIBITTNOTIFY64", ITT_TOOL}, {"ANNOTATE_TEST_LOAD", ROCTX_TOOL}});
  }
  std::vector<Recorded> nvtx() const { return read_record(folder.file("nvtx")); }
  std::vector<Recorded> roctx() const { return read_record(folder.file("roctx")); }
  std::vector<Recorded> itt() const { return read_record(folder.file("itt")); }
};

inline Ended run_peer(const char* scenario, const Variables& variables) {
  return test::Process({ANNOTATE_PEER, scenario}, variables).end();
}

}  // namespace annotate_test
