// SPDX-License-Identifier: Apache-2.0
#include "trace_index.h"

#include <map>
#include <string>
#include <utility>

namespace anyplace::tool {

TraceIndex::TraceIndex(const RunTrace& trace) {
  using Stream = std::pair<std::string, std::uint64_t>;
  std::map<Stream, std::uint64_t> last;
  std::map<Stream, std::vector<std::uint64_t>> waits;
  std::map<std::string, std::uint64_t> host_waits;
  for (const TraceSlice& slice : trace.slices) {
    if (slice.is_range()) continue;
    const std::uint64_t submission = slice.number("submission");
    if (slice.is_execution) {
      executions.push_back(&slice);
      runs[submission] = &slice;
      continue;
    }
    const Stream stream(slice.text("place"), slice.number("stream"));
    const std::uint64_t waited = slice.number("waits_for");
    if (slice.category == "record") {
      recorded[submission] = last[stream];
    } else if (submission != 0) {
      calls[submission] = &slice;
      before[submission] = std::exchange(last[stream], submission);
      awaited[submission] = std::exchange(waits[stream], {});
      host_awaited[submission] = host_waits[slice.track];
    } else if (slice.category == "wait" && waited != 0) {
      waits[stream].push_back(recorded[waited]);
    } else if (slice.category == "synchronize" && waited != 0) {
      host_waits[slice.track] = operation(waited);
    }
  }
}

}  // namespace anyplace::tool
