// SPDX-License-Identifier: Apache-2.0
//
// Reads what the layer `trace` wrote: packets of Perfetto's format, in which it finds calls, executions, what the
// program annotated, and counters of memory.
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
  std::string above;     ///< the track above that one: the device of a stream; "" for a thread
  std::string thread;    ///< of a call, and of a range or mark of a thread
  bool is_execution = false;
  std::uint64_t begin_ns = 0;
  std::uint64_t end_ns = 0;
  std::map<std::string, std::uint64_t> numbers;  ///< annotations
  std::map<std::string, std::string> texts;      ///< annotations

  /// Whether the program has annotated it: it is no call.
  bool is_range() const { return category == "range"; }
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

/// The bytes of a kind of memory that are allocated.
struct TraceCounter {
  struct Point {
    std::uint64_t at_ns = 0;
    std::uint64_t value = 0;
  };
  std::string device;  ///< its track
  std::string name;
  std::vector<Point> points;  ///< by their times
};

struct RunTrace {
  std::vector<TraceSlice>
      slices;  ///< by their beginnings; those without an end are left out, but for ranges, which end with the trace
  std::vector<TraceSlice> marks;  ///< by their times; without a length
  std::vector<TraceCounter> counters;
  bool is_cut = false;  ///< the last packet isn't whole: the process died, or the disk was full
};

/// Reads the bytes of a file. Throws std::runtime_error, which says what is wrong, if they are no trace.
RunTrace read_run_trace(std::string_view bytes);

}  // namespace anyplace::tool
