// SPDX-License-Identifier: Apache-2.0
//
// Work: what was submitted to a device and may not be over: its streams, and markers for what destroyed streams left
// behind. CUDA waits for a device without a limit only; with this a wait can have one, and a module can be unloaded
// when nothing that was queued needs it.
//
// Invariant: what pending() returns covers everything submitted before it was called.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "event.h"

namespace anyplace::cuda {

/// A list through the streams themselves, so that joining and leaving it allocates nothing.
struct StreamLinks {
  Stream* next = nullptr;
  Stream* previous = nullptr;
};

class PendingWork {
 public:
  /// Throws what the driver says of the work, DEVICE_LOST for one.
  bool is_over() const;

 private:
  friend class Work;
  std::vector<std::shared_ptr<Marker>> markers_;
  /// Whose null stream is asked as it is then: a marker in it would order the other streams, and wait for them.
  Device* null_stream_of_ = nullptr;
};

class Work {
 public:
  explicit Work(Device& device) noexcept : device_(device) {}
  Work(const Work&) = delete;  // streams are linked into it
  Work& operator=(const Work&) = delete;

  void add(Stream& stream) noexcept;
  /// For a stream that was added and is about to be destroyed. Keeps a marker if its work isn't over. The stream is out
  /// of the list in any case.
  void remove(Stream& stream);
  PendingWork pending();
  /// Whether everything is over now. Leaves the streams as they are, where pending() marks them, so that who looks at a
  /// stream meanwhile finds nothing in it that isn't its own.
  bool is_idle();
  /// Of what is in the stream now. Null if that is over. Not for the null stream, which it would let the others wait
  /// for.
  std::shared_ptr<Marker> mark(const Stream& stream);
  /// Lets go of the markers. Everything is over.
  void close() noexcept;

 private:
  void forget_what_is_over();

  Device& device_;
  std::mutex mutex_;  // guards all below; taken before EventPool's. Under it only calls that don't wait are made
  Stream* first_ = nullptr;
  bool null_stream_used_ = false;
  std::vector<std::shared_ptr<Marker>> left_behind_;
};

}  // namespace anyplace::cuda
