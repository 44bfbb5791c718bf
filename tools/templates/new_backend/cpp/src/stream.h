// SPDX-License-Identifier: Apache-2.0
//
// Stream: commands that run in order, on a thread of the stream's own, after the call that submitted them returned.
//
// The handle keeps a stream alive and, while the stream has work, so does its worker: so destroying the handle returns
// at once and the work completes. A command is destroyed, with everything that it holds, before it counts as complete.
//
// Lock order in this backend: Device::mutex_, Stream::mutex_, then the leaves (Timeline, Workers, Event, Heap). No
// command runs under any of them.
#pragma once

#include <anyplace/backend/device_backend.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>

#include "timeline.h"

namespace newname_backend {

class Device;

class Stream : public std::enable_shared_from_this<Stream> {
 public:
  using Command = std::function<void()>;

  /// `cookie` names the stream to anyplace when one of its commands fails.
  Stream(Device& device, anyplace::backend::Host host, std::uint64_t cookie);
  Stream(const Stream&) = delete;  // its device and its worker point at it
  Stream& operator=(const Stream&) = delete;
  ~Stream();

  /// Appends a command. Returns the point that completes it. If this throws, nothing was appended.
  Point submit(Command command);
  /// The point that completes all commands submitted before.
  Point mark() const;
  /// Holds back commands that are submitted later until `point`. Doesn't block the caller.
  void wait_for(const Point& point);
  /// Makes the worker end once all submitted commands are done.
  void close();

 private:
  void run();
  void execute(const Command& command) const;

  Device& device_;
  const anyplace::backend::Host host_;
  const std::uint64_t cookie_;
  const std::shared_ptr<Timeline> completed_ = std::make_shared<Timeline>();

  mutable std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  std::deque<Command> commands_;
  std::uint64_t submitted_ = 0;
  bool has_worker_ = false;
  bool closed_ = false;
};

}  // namespace newname_backend
