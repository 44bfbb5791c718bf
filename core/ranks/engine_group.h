// SPDX-License-Identifier: Apache-2.0
//
// EngineGroup is what an engine makes of a communicator. communicator.cpp, the room's other half, checks the arguments
// before it calls one.
//
// Invariant: a group fails once, for good, with the first Error; its pending operations then end with that Error.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "anyplace/communicator.h"
#include "ranks/meetings.h"
#include "ranks/part.h"
#include "runtime/deadline.h"
#include "streams/stream_state.h"

namespace anyplace::detail {

class EngineGroup {
 public:
  /// `here` are the ranks of this process; null if this is the only one.
  EngineGroup(DeviceState& device, int rank, int size, std::chrono::nanoseconds timeout,
              std::shared_ptr<RanksHere> here = nullptr) noexcept
      : device_(device), rank_(rank), size_(size), timeout_(timeout), meetings_(std::move(here)) {}
  EngineGroup(const EngineGroup&) = delete;  // it owns the engine's communicator
  EngineGroup& operator=(const EngineGroup&) = delete;
  virtual ~EngineGroup() = default;

  DeviceState& device() const noexcept { return device_; }
  int rank() const noexcept { return rank_; }
  int size() const noexcept { return size_; }
  std::chrono::nanoseconds timeout() const noexcept { return timeout_; }
  Meetings& meetings() noexcept { return meetings_; }

  /// Whether its work is calls of the stream's own, which layers see.
  virtual bool uses_stream_calls() const noexcept { return false; }
  /// Throws unsupported or invalid_argument for a part that the engine can't do.
  virtual void require(const Part& part, const char* operation) const = 0;
  /// Makes the parts, of which there is at least one, one piece of work of the stream. The stream is of the group's
  /// device and isn't captured.
  virtual void submit(const Pin<StreamState>& stream, const std::vector<Part>& parts, const char* operation) = 0;
  /// Submits one part in a faster way than submit(), if the engine has one for it. Returns false, and has done nothing,
  /// if it hasn't.
  virtual bool submit_at_once(const Pin<StreamState>& /*stream*/, const Part& /*part*/, const char* /*operation*/) {
    return false;
  }
  /// Makes a group of the ranks with the same color; returns null for a negative color. Waits for the other ranks, at
  /// most the timeout.
  virtual std::shared_ptr<EngineGroup> split(int color, int key, const char* operation) = 0;
  /// Returns whether no operation is pending.
  virtual bool idle() = 0;
  /// Waits until the group is idle. Returns false if time ran out.
  virtual bool wait(const Deadline& deadline) = 0;
  /// Makes the group fail with `error`, and ends its pending operations.
  virtual void end(const Error& error) noexcept = 0;

  std::optional<Error> failure() const {
    if (!failed_.load(std::memory_order_acquire)) return std::nullopt;
    const std::lock_guard lock(failure_mutex_);
    return failure_;
  }

 protected:
  /// Stores the failure. Returns false if the group had failed before.
  bool fail_with(const Error& error) noexcept {
    const std::lock_guard lock(failure_mutex_);
    if (failure_) return false;
    failure_ = error;
    failed_.store(true, std::memory_order_release);
    return true;
  }

 private:
  DeviceState& device_;
  const int rank_;
  const int size_;
  const std::chrono::nanoseconds timeout_;
  Meetings meetings_;
  mutable std::mutex failure_mutex_;  // guards failure_; a leaf
  std::optional<Error> failure_;
  std::atomic<bool> failed_{false};  ///< whether failure_ is set
};

/// Returns the device in the form in which engines get it. May make the vendor's context.
anyplace_engine_device crossing_device(DeviceState& device);

/// Returns the Error of a wait for other ranks that took longer than it may. `what` is what they were to do: it ends
/// the sentence "not all ranks came to".
Error timeout_error(const std::string& place, const char* operation, const std::string& what,
                    std::chrono::nanoseconds timeout);

}  // namespace anyplace::detail
