// SPDX-License-Identifier: Apache-2.0
//
// Probe: asks for a backend in a child process, because a plugin that crashes, hangs or writes nonsense must not end
// the command. The child (probe_child.cpp) uses the public API as an application would, and reports in lines of JSON.
// Here the lines are put together, and an unexpected end of the child becomes a Problem.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "json.h"

namespace anyplace::tool {

/// argv[1] of a child process; people don't type it.
constexpr const char* probe_command = "probe-in-child";

struct Problem {
  std::string place;  ///< "" if the problem is the whole backend's
  /// The name of an ErrorCode, or "crashed", "timed_out", "garbled", "not_started".
  std::string code;
  std::string text;
  std::string remedy = "";  ///< the vendor's advice about it; "" if there is none
  std::string cause = "";   ///< if `code` says that there is no backend: the code with which its plugin was refused
  /// The part of `text` that a line has room for: "SIGSEGV", "libcuda.so.1"; "" if there is none.
  std::string brief = "";
};

/// The problem in a few words: "crashed (SIGSEGV)", "no driver (libcuda.so.1)".
std::string in_brief(const Problem& problem);

struct Probe {
  /// Whether the child finished its report. If not, the last of `problems` says why.
  bool complete = false;
  Json backend;  ///< the result of backend_json(); null if the backend couldn't be used
  /// The device_json() of each, with its links; after probe_links() only {"place", "links"}.
  std::vector<Json> devices;
  /// After probe_file(), by place: where a device's figures come from, or what is missing.
  Json monitoring = Json::object();
  std::vector<Problem> problems;
  std::string place;  ///< the place that probe_place() found

  bool usable() const noexcept { return !backend.is_null(); }
};

/// Asks for the backend of that name, found as an application finds it.
Probe probe_backend(const std::string& name, std::chrono::milliseconds limit);
/// Asks for the links of the devices of the backend of that name, and nothing else.
Probe probe_links(const std::string& name, std::chrono::milliseconds limit);
/// Tries one plugin file, as if no other came before it.
Probe probe_file(const std::string& name, const std::string& path, std::chrono::milliseconds limit);
/// Asks to which device a place leads.
Probe probe_place(const std::string& place, std::chrono::milliseconds limit);

Json problem_json(const std::string& backend, const Problem& problem);

}  // namespace anyplace::tool
