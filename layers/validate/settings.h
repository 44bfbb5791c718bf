// SPDX-License-Identifier: Apache-2.0
//
// What ANYPLACE_VALIDATE says: what happens to a report, and where reports are written.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace anyplace::validate {

enum class Mode { log, refuse, abort };

struct Settings {
  Mode mode = Mode::log;
  std::string report;    ///< the path of the file in JSON, with %p for the number of the process; empty: there is none
  std::string sarif;     ///< the same in SARIF
  std::string suppress;  ///< the path of a file with keys of reports that aren't wanted
  bool leaks = true;
  bool uninitialized = false;
};

/// Reads settings with blanks or commas between them. Throws Failure (INVALID_ARGUMENT), with the position, for one
/// that is none.
Settings parse_settings(std::string_view text);
/// Reads ANYPLACE_VALIDATE, which a process with raised privileges ignores. Throws as above.
Settings read_settings();
/// The mode of that name. Throws Failure (INVALID_ARGUMENT).
Mode parse_mode(std::string_view name);
/// The path with the process's number in the place of each %p.
std::string path_of(const std::string& file);
/// The keys and patterns of a suppression file, a line each; `#` begins a comment. Throws Failure if it can't be read.
std::vector<std::string> read_suppressions(const std::string& path);

}  // namespace anyplace::validate
