// SPDX-License-Identifier: Apache-2.0
//
// Timeline: makes the slices of a trace of records. A call is a slice on its thread's track, and the execution of what
// it submitted one on the track of its stream; both have the submission's number as a flow. What waits for a record or
// for work has the number of what it waits for as another. What the program annotates is in annotations.cpp.
//
// Streams, kernels and memory are followed whether or not a trace is being written, so that one that begins later knows
// their names.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "objects.h"
#include "packets.h"
#include "record.h"

namespace anyplace::trace {

/// For the writer's thread.
class Timeline {
 public:
  /// Packets are appended to the text.
  explicit Timeline(std::string& out) : packets_(out) {}

  /// A trace that is the same in each run has nothing of the real time.
  void begin(bool is_same_in_each_run);
  void end() noexcept { is_on_ = false; }

  /// Takes a record of a thread, in the order of order_of().
  void take(const Record& record, std::uint64_t thread);
  /// A point in time on the track of a thread.
  void note(std::uint64_t thread, std::uint64_t at_ns, const std::string& text);
  /// Tells the timeline of a thread before its first record, and perhaps again later.
  void add_thread(std::uint64_t thread, std::int32_t system_number, const std::string& name);
  /// Adds the executions that are over. Returns how many of the backend aren't.
  std::size_t poll(TracedBackend& backend);

  /// Records are taken by this time. What makes an object counts from its end, because a handle may be used again as
  /// soon as its object is gone.
  static std::uint64_t order_of(const Record& record) noexcept;

 private:
  /// Ranges of one domain that a thread has pushed and not popped.
  struct OpenRanges {
    std::uint64_t track = 0;  ///< the thread's for the default domain, and one below it for each other domain
    std::vector<std::int32_t> depths;
  };
  /// A track for started ranges, of which it has one at a time.
  struct RangeLane {
    std::uint64_t track = 0;
    std::uint64_t range = 0;  ///< the one that is open; 0: none
  };
  struct Thread {
    std::int32_t number;
    std::string name;
    std::uint64_t track = 0;
    std::map<std::string, OpenRanges> ranges = {};  ///< that were pushed, by domain
  };

  std::uint64_t device_track(const TracedBackend& backend, std::int32_t device);
  std::uint64_t thread_track(std::uint64_t thread);
  std::uint64_t range_track(std::uint64_t thread, const std::string& domain);
  std::uint64_t mark_track(std::uint64_t thread, std::uint64_t stream);
  void add_annotation(const Record& record, std::uint64_t thread);
  void push_range(const Record& record, std::uint64_t thread, Slice slice);
  void pop_range(const Record& record, std::uint64_t thread);
  void start_range(const Record& record, Slice slice);
  void end_range(const Record& record);
  void name_thread(const Record& record, std::uint64_t thread);
  std::uint64_t lane(const TracedBackend& backend, StreamObject& stream, std::uint64_t begin_ns, std::uint64_t end_ns);
  void add_call(const Record& record, std::uint64_t thread, std::uint64_t waits_for);
  void add_host_function(BackendObjects& objects, const Record& record);
  void poll(const TracedBackend& backend, BackendObjects& objects, StreamObject& stream);
  void add_execution(const TracedBackend& backend, StreamObject& stream, const Pending& what, std::uint64_t begin_ns,
                     std::uint64_t end_ns);
  void count(const TracedBackend& backend, const Allocation& allocation, bool is_added, std::uint64_t at_ns);

  void follow(BackendObjects& objects, const Record& record);
  void follow_memory(BackendObjects& objects, const Record& record);
  void follow_submission(BackendObjects& objects, const Record& record);
  std::uint64_t awaited(BackendObjects& objects, const Record& record) const;

  Packets packets_;
  bool is_on_ = false;
  bool is_same_in_each_run_ = false;
  std::uint64_t process_track_ = 0;
  std::map<std::uint64_t, Thread> threads_;
  std::uint64_t ranges_track_ = 0;  ///< is above the lanes of started ranges
  std::vector<RangeLane> range_lanes_;
  std::map<const TracedBackend*, BackendObjects> backends_;
};

}  // namespace anyplace::trace
