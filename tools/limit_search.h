// SPDX-License-Identifier: Apache-2.0
//
// Finds the smallest limit under which a trace completes, to a page. Each try is a process of its own, so that each
// begins with a fresh device, and nothing is left behind.
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
  /// The result of replay_once() for a try that failed otherwise than for want of memory, or that didn't even complete
  /// with all the memory of the device. The other members mean nothing then. Null if there was none.
  Json failure;
};

/// Replays once, in a child process. Returns {"peak_reserved_bytes"} or, if the trace didn't complete, {"error",
/// "event", "live_bytes"}. The child goes on showing `progress`.
Json replay_once(const std::string& place, const Trace& trace, const ReplayConfig& config, Progress& progress);

/// Finds the limit. Must be called before this process has used any backend. Assumes that a trace that completes under
/// a limit does so under any larger one.
FoundLimit find_limit(const std::string& place, const Trace& trace, const ReplayConfig& config, Progress& progress);

}  // namespace anyplace::tool
