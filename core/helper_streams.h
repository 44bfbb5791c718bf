// SPDX-License-Identifier: Apache-2.0
//
// Helper streams: streams of the core's own on a device, for what has to happen on the other side of a job (a wait for
// another backend's work, a staged copy).
//
// Invariant: a helper stream serves one job at a time. Who takes one keeps it until the job's work on it is complete,
// so no job ever waits for another one's work, and none can wait for its own through a third.
#pragma once

#include <atomic>
#include <cstddef>
#include <mutex>
#include <utility>
#include <vector>

#include "stream_state.h"

namespace anyplace::detail {

/// What stream code keeps per device: made with the device, never destroyed.
struct HelperStreams {
  /// More idle ones than this are destroyed.
  static constexpr std::size_t max_idle = 32;

  std::mutex mutex;  // guards idle; no other lock is taken under it
  std::vector<Pin<StreamState>> idle;

  /// Whether the backend can wait for this device for a limited time; found out at first need (stream_state.cpp).
  enum class Timed : int { unknown, yes, no };
  std::atomic<Timed> timed{Timed::unknown};
};

/// Calls no entry of the backend.
HelperStreams* make_helper_streams(DeviceState& device);

/// Owns the use of a helper stream; gives it back when destroyed, on any thread, also inside a callback.
class HelperStream {
 public:
  HelperStream() noexcept = default;
  explicit HelperStream(Pin<StreamState> stream) noexcept : stream_(std::move(stream)) {}
  HelperStream(HelperStream&&) noexcept = default;
  HelperStream& operator=(HelperStream&& other) noexcept {
    reset();
    stream_ = std::move(other.stream_);
    return *this;
  }
  HelperStream(const HelperStream&) = delete;  // one job at a time
  HelperStream& operator=(const HelperStream&) = delete;
  ~HelperStream() { reset(); }

  /// Gives it back. Its work must be complete, but for a host function that is about to return.
  void reset() noexcept;

  explicit operator bool() const noexcept { return static_cast<bool>(stream_); }
  StreamState& operator*() const noexcept { return *stream_; }
  StreamState* operator->() const noexcept { return stream_.get(); }

 private:
  Pin<StreamState> stream_;
};

/// An idle one, or a new one. Throws what making a stream throws.
HelperStream take_helper_stream(DeviceState& device, const char* operation);

}  // namespace anyplace::detail
