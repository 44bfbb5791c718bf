// SPDX-License-Identifier: Apache-2.0
//
// Helper streams: the core's own streams on a device. A job that involves two devices (a wait for another backend's
// work, a staged copy) uses one on the other device.
//
// Invariant: a helper stream serves one job at a time, and the job keeps it until its work on it is complete. So no job
// ever waits for another job's work, and no circle of waits can arise.
#pragma once

#include <atomic>
#include <cstddef>
#include <mutex>
#include <utility>
#include <vector>

#include "streams/stream_state.h"

namespace anyplace::detail {

/// A device's helper streams: made with the device, never destroyed.
struct HelperStreams {
  /// The most idle streams that are kept; others are destroyed.
  static constexpr std::size_t max_idle = 32;

  std::mutex mutex;  // guards idle; no other lock is taken under it
  std::vector<Pin<StreamState>> idle;

  /// Whether the backend can wait for this device for a limited time. It is found out when it is first needed
  /// (stream_state.cpp).
  enum class Timed : int { unknown, yes, no };
  std::atomic<Timed> timed{Timed::unknown};
};

/// Calls no entry of the backend.
HelperStreams* make_helper_streams(DeviceState& device);

/// The right to use a helper stream. Gives the stream back when destroyed, on any thread, also inside a callback.
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

  /// Gives the stream back. Its work must be complete, except for a host function that is about to return.
  void reset() noexcept;

  explicit operator bool() const noexcept { return static_cast<bool>(stream_); }
  StreamState& operator*() const noexcept { return *stream_; }
  StreamState* operator->() const noexcept { return stream_.get(); }

 private:
  Pin<StreamState> stream_;
};

/// Closes the idle helper streams, because the device is about to be reset.
void drop_idle_helper_streams(DeviceState& device) noexcept;

/// Takes an idle helper stream, or makes one. Throws what making a stream throws.
HelperStream take_helper_stream(DeviceState& device, const char* operation);

}  // namespace anyplace::detail
