// SPDX-License-Identifier: Apache-2.0
//
// TraceIndex: a trace's slices by what they are, and what each operation waited for.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "run_trace.h"

namespace anyplace::tool {

/// Valid as long as the trace is.
struct TraceIndex {
  std::vector<const TraceSlice*> executions;
  std::unordered_map<std::uint64_t, const TraceSlice*> calls;  ///< by submission
  std::unordered_map<std::uint64_t, const TraceSlice*> runs;   ///< executions, by submission
  std::unordered_map<std::uint64_t, std::uint64_t> before;     ///< by an operation: the one before in its stream
  std::unordered_map<std::uint64_t, std::vector<std::uint64_t>> awaited;  ///< by one: what its stream waited for
  std::unordered_map<std::uint64_t, std::uint64_t> host_awaited;          ///< by one: what its thread had waited for
  std::unordered_map<std::uint64_t, std::uint64_t> recorded;              ///< by a record: the operation before it

  explicit TraceIndex(const RunTrace& trace);

  /// The operation that stands for a submission: of a record the one before it.
  std::uint64_t operation(std::uint64_t submission) const {
    const auto found = recorded.find(submission);
    return found == recorded.end() ? submission : found->second;
  }
  const TraceSlice* run_of(std::uint64_t submission) const {
    const auto found = runs.find(submission);
    return found == runs.end() ? nullptr : found->second;
  }
};

}  // namespace anyplace::tool
