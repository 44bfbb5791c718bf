// SPDX-License-Identifier: Apache-2.0
//
// VirtualTime says, for the director, when operations begin and end by a profile. It has a DeviceModel, which is given
// an operation when its stream has come to it, and knows when each command was submitted: launch_ns of the profile pass
// between that and its beginning.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>

#include "operation.h"
#include "profile.h"
#include "profile_model.h"

namespace anyplace::cpu_sim {

class Task;
class Timeline;

/// It is for one thread at a time. Times are nanoseconds of the director's clock.
class VirtualTime {
 public:
  explicit VirtualTime(std::shared_ptr<const Profile> profile) noexcept : profile_(std::move(profile)) {}

  const Profile& profile() const noexcept { return *profile_; }
  std::int64_t call_ns() const noexcept;

  /// Takes note of what was submitted to a stream since it was called last, at that time. `stream` describes it.
  void note_submissions(const Operation& stream, std::int64_t now_ns);
  /// Returns when the stream's next command can begin, if nothing else holds it up.
  std::int64_t ready_ns(const Operation& next) const;

  bool has(const Task& task) const { return jobs_.contains(&task); }
  /// Adds the operation of a task that is ready now. `level` is its urgency.
  void add(const Task& task, const Operation& operation, unsigned level, std::int64_t now_ns);
  /// Returns when the operation of a task that was added ends, if no other one is added.
  std::int64_t end_ns(const Task& task);
  /// Lets the operation of a task that was added end, and forgets it. Returns when it began.
  std::int64_t take(const Task& task);
  void advance(std::int64_t to_ns) { model_.advance(static_cast<double>(to_ns)); }

 private:
  /// Commands up to this number were submitted at this time.
  struct Submission {
    std::uint64_t number;
    std::int64_t ns;
  };

  ModelOperation model_of(const Operation& operation, std::int32_t device) const;

  const std::shared_ptr<const Profile> profile_;
  DeviceModel model_{*profile_};
  std::map<const Task*, DeviceModel::Job> jobs_;
  std::map<const Timeline*, std::deque<Submission>> submissions_;  // They are of commands that aren't complete.
};

}  // namespace anyplace::cpu_sim
