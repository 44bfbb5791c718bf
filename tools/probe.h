// SPDX-License-Identifier: Apache-2.0
//
// Probe: asking for a backend in a child process, because a plugin that crashes, hangs or writes nonsense must not take
// the command down. The child (probe_child.cpp) uses the public API as an application would and reports in lines of
// JSON; here the lines are put together, and whatever the child did otherwise is turned into a reason.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "json.h"

namespace anyplace::tool {

/// argv[1] of a child process; not for people.
constexpr const char* probe_command = "probe-in-child";

struct Problem {
  std::string place;  ///< "" where it is the whole backend's
  /// The name of an ErrorCode, or "crashed", "timed_out", "garbled", "not_started".
  std::string code;
  std::string text;
  std::string remedy = "";  ///< what its vendor says to do about it; "" if nothing
  std::string cause = "";   ///< where `code` says that there is no backend: the code with which its plugin was refused
  std::string brief = "";   ///< of `text` what a line has room for: "SIGSEGV", "libcuda.so.1"; "" if nothing
};

/// "crashed (SIGSEGV)", "no driver (libcuda.so.1)": what is wrong, in a few words.
std::string in_brief(const Problem& problem);

struct Probe {
  /// Whether the child said all that it had to say. If not, `problems` ends with why not.
  bool complete = false;
  Json backend;                      ///< backend_json; null if it couldn't be used
  std::vector<Json> devices;         ///< device_json of each, with its links; of probe_links: {"place", "links"}
  Json monitoring = Json::object();  ///< by place: where a device's figures come from, or what is missing; of a file
  std::vector<Problem> problems;
  std::string place;  ///< what probe_place found

  bool usable() const noexcept { return !backend.is_null(); }
};

/// The backend of that name, found as an application finds it.
Probe probe_backend(const std::string& name, std::chrono::milliseconds limit);
/// The links of the devices of the backend of that name, and nothing else.
Probe probe_links(const std::string& name, std::chrono::milliseconds limit);
/// One plugin file, as if no other came before it.
Probe probe_file(const std::string& name, const std::string& path, std::chrono::milliseconds limit);
/// What device a place leads to.
Probe probe_place(const std::string& place, std::chrono::milliseconds limit);

Json problem_json(const std::string& backend, const Problem& problem);

}  // namespace anyplace::tool
