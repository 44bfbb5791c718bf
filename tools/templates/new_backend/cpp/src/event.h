// SPDX-License-Identifier: Apache-2.0
//
// Event: keeps its most recent record. A wait takes the record that the event has when the wait is submitted, so a
// later record, or the end of the event, doesn't change the wait.
#pragma once

#include <memory>
#include <mutex>

#include "timeline.h"

namespace newname_backend {

class Stream;

class Event {
 public:
  /// A `timed` event remembers when its place in the stream's order came.
  explicit Event(bool timed) : timed_(timed) {}
  Event(const Event&) = delete;  // a handle points at it
  Event& operator=(const Event&) = delete;

  void record(Stream& stream);
  /// The point that completes the most recent record; a past point if there is no record.
  Point latest() const;

  /// Throws Failure: TIMING_DISABLED, NOT_RECORDED or NOT_READY.
  static double elapsed_milliseconds(const Event& start, const Event& end);

 private:
  struct Record {
    Point point;
    std::shared_ptr<const Clock::time_point> time;  // set for a timed event; may be read when the point is reached
  };

  Clock::time_point time() const;

  const bool timed_;
  mutable std::mutex mutex_;  // guards latest_; a leaf
  Record latest_;
};

}  // namespace newname_backend
