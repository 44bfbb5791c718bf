// SPDX-License-Identifier: Apache-2.0
//
// Reads what the layer `trace` wrote: packets of Perfetto's format, in which it finds calls and executions.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace anyplace::tool {

/// A slice. Times are nanoseconds of the host's CLOCK_MONOTONIC.
struct TraceSlice {
  std::string name;
  std::string category;  ///< docs/layers.md lists them
  std::string track;     ///< of a call: its thread; of an execution: its stream
  bool is_execution = false;
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;
  std::map<std::string, std::uint64_t> numbers;  ///< annotations
  std::map<std::string, std::string> texts;      ///< annotations

  std::uint64_t length_ns() const { return end_ns - begin_ns; }
  std::uint64_t number(const std::string& key) const {
    const auto found = numbers.find(key);
    return found == numbers.end() ? 0 : found->second;
  }
  std::string text(const std::string& key) const {
    const auto found = texts.find(key);
    return found == texts.end() ? "" : found->second;
  }
};

struct RunTrace {
  std::vector<TraceSlice> slices;  ///< by their beginnings; those without an end are left out
  bool is_cut = false;             ///< the last packet isn't whole: the process died, or the disk was full
};

/// Reads the bytes of a file. Throws std::runtime_error, which says what is wrong, if they are no trace.
RunTrace read_run_trace(std::string_view bytes);

}  // namespace anyplace::tool
