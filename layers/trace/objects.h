// SPDX-License-Identifier: Apache-2.0
//
// Objects: what the handles and addresses of the backends stand for, as far as the records have told.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "device_clock.h"
#include "record.h"

namespace anyplace::trace {

/// An operation whose execution isn't over.
struct Pending {
  TimingPool* pool;
  Timing timing;
  std::uint64_t submitted_ns;
  std::uint64_t submission;
  std::string name;
  const char* category;
  std::uint64_t bytes;
};

struct StreamObject {
  std::int32_t device = -1;
  std::uint64_t id = 0;  ///< StreamView::id()
  bool is_default = false;
  std::uint64_t last_submission = 0;
  std::deque<Pending> pending;           ///< in the stream's order
  std::vector<std::uint64_t> lane_ends;  ///< when the last slice of each lane ended
  std::vector<std::uint64_t> lanes;      ///< the tracks of this trace
};

struct DeviceObject {
  DeviceClock clock;
  std::uint64_t last_submission = 0;
  std::map<std::uint64_t, std::uint64_t> bytes;     ///< allocated, by the kind of memory
  std::uint64_t track = 0;                          ///< of this trace; 0 if there is none yet
  std::map<std::uint64_t, std::uint64_t> counters;  ///< of this trace, by the kind of memory
};

struct EventObject {
  std::int32_t device = -1;
  std::uint64_t record = 0;  ///< the submission that was the last record; 0: there was none
};

struct Allocation {
  std::int32_t device = -1;
  std::uint64_t kind = 0;
  std::uint64_t bytes = 0;
};

/// The objects of one backend.
struct BackendObjects {
  /// Null if there is none.
  std::shared_ptr<StreamObject> stream(anyplace_stream handle) const {
    const auto found = streams.find(handle);
    return found == streams.end() ? nullptr : found->second;
  }

  std::map<std::int32_t, DeviceObject> devices;
  std::map<anyplace_stream, std::shared_ptr<StreamObject>> streams;
  std::vector<std::shared_ptr<StreamObject>> gone_streams;  ///< destroyed ones with executions that aren't over
  std::map<std::uint64_t, std::shared_ptr<StreamObject>> host_functions;  ///< that haven't run, by their submissions
  std::map<std::uint64_t, Record> early_host_functions;  ///< that ran before their submission was told of
  std::map<anyplace_event, EventObject> events;
  std::map<anyplace_kernel, std::string> kernels;                             ///< names
  std::map<std::tuple<std::int32_t, std::uint64_t>, Allocation> allocations;  ///< by device and address
  std::map<anyplace_physical, Allocation> physicals;
  std::uint64_t host_kernels = 0;  ///< that were made
};

}  // namespace anyplace::trace
