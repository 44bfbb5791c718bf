// SPDX-License-Identifier: Apache-2.0
//
// The smallest limit under which a trace completes, to a page. Each try is a process of its own, so that each begins
// with a fresh device, and nothing is left behind.
#pragma once

#include <cstdint>
#include <string>

#include "json.h"
#include "replay_run.h"
#include "trace.h"

namespace anyplace::tool {

inline constexpr std::uint64_t limit_step = 2 * 1024 * 1024;  ///< a page

struct FoundLimit {
  std::uint64_t limit_bytes = 0;
  int tries = 0;
  /// Not null if the trace doesn't even complete with all that the device has, or a try failed otherwise; then the
  /// rest says nothing. As replay_once() has it.
  Json failure;
};

/// One replay, in a child process: {"peak_reserved_bytes"} or, if it didn't complete, {"error", "event",
/// "live_bytes"}. The child goes on with `progress`.
Json replay_once(const std::string& place, const Trace& trace, const ReplayConfig& config, Progress& progress);

/// Before this process has used any backend. Taking it that what completes under a limit does under a larger one.
FoundLimit find_limit(const std::string& place, const Trace& trace, const ReplayConfig& config, Progress& progress);

}  // namespace anyplace::tool
