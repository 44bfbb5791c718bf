// SPDX-License-Identifier: Apache-2.0
//
// Computes what a trace says of a run: where the time went, on the devices and on the host.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "run_trace.h"

namespace anyplace::tool {

/// Times are nanoseconds.
struct CallFigures {
  std::uint64_t count = 0;
  std::uint64_t failures = 0;
  std::uint64_t total_ns = 0;
  std::uint64_t longest_ns = 0;
};

/// Operations of one name on a device.
struct OperationFigures {
  std::string category;
  std::uint64_t count = 0;
  std::uint64_t bytes = 0;
  std::uint64_t total_ns = 0;
};

struct IdleGap {
  std::uint64_t begin_ns = 0;  ///< since the beginning of the trace
  std::uint64_t length_ns = 0;
  std::string ended_by;  ///< the operation that came next
};

struct DeviceFigures {
  std::map<std::string, OperationFigures> operations;
  std::uint64_t busy_ns = 0;     ///< with at least one operation
  std::uint64_t kernels_ns = 0;  ///< with at least one kernel or graph
  std::uint64_t copies_ns = 0;   ///< with at least one copy
  std::uint64_t overlap_ns = 0;  ///< with both
  std::uint64_t idle_ns = 0;     ///< between the first operation's beginning and the last one's end
  std::vector<IdleGap> gaps;     ///< the longest first, at most 5
};

/// Calls in which the host waited.
struct StallFigures {
  bool is_implicit = false;  ///< the call isn't one that is made to wait
  std::uint64_t count = 0;
  std::uint64_t total_ns = 0;
  std::uint64_t longest_ns = 0;
  std::string longest_for;  ///< what the longest waited for; "" if that isn't known
};

/// Ranges of one name that the program annotated.
struct RangeFigures {
  std::uint64_t count = 0;
  std::uint64_t total_ns = 0;
  std::uint64_t longest_ns = 0;
  std::uint64_t submissions = 0;  ///< operations that the range's thread submitted in it
  std::uint64_t device_ns = 0;    ///< how long these ran, added up
};

/// A call in which the host waited.
struct StalledCall {
  std::size_t slice = 0;  ///< its place among the trace's slices
  bool is_implicit = false;
};

struct TraceFigures {
  std::uint64_t begin_ns = 0;
  std::uint64_t length_ns = 0;
  std::uint64_t submissions = 0;
  std::uint64_t executions = 0;
  std::map<std::string, CallFigures> calls;      ///< by entry
  std::map<std::string, DeviceFigures> devices;  ///< by place
  std::map<std::string, StallFigures> stalls;    ///< by "entry on thread"
  std::vector<StalledCall> stalled;              ///< all of those, in the order of the slices
  std::map<std::string, RangeFigures> ranges;    ///< by name
  std::map<std::string, std::uint64_t> marks;    ///< how many there are, by name
  std::uint64_t submit_ns = 0;                   ///< mean time of a call that submits an operation
  std::uint64_t launch_ns = 0;    ///< mean time from such a call to its execution, where the stream was idle
  std::uint64_t critical_ns = 0;  ///< length of the critical path
  std::map<std::string, std::uint64_t> critical;  ///< the path's time by the names of operations, and "host"
};

TraceFigures figures_of(const RunTrace& trace);

}  // namespace anyplace::tool
