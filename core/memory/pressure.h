// SPDX-License-Identifier: Apache-2.0
//
// PressureCallbacks: the pressure callbacks of a device, in the order of their registration. They are called when the
// device's memory is short.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "anyplace/allocator.h"
#include "runtime/backend.h"

namespace anyplace::detail {

class PressureCallbacks {
 public:
  explicit PressureCallbacks(DeviceState& device) noexcept : device_(device) {}
  PressureCallbacks(const PressureCallbacks&) = delete;  // a device has one
  PressureCallbacks& operator=(const PressureCallbacks&) = delete;

  std::uint64_t add(PressureCallback callback);
  /// Waits for other threads that are running the callback, except in a host function, which they may be waiting for.
  void remove(std::uint64_t id) noexcept;

  /// Calls the callbacks one after the other and, after each that freed something, `retry`, until that returns true;
  /// then it returns true. No lock is held meanwhile, and the caller holds none. Returns false at once if the calling
  /// thread is in a callback of this device already.
  bool relieve(std::uint64_t bytes, const std::function<bool()>& retry);

 private:
  struct Entry {
    std::uint64_t id = 0;
    PressureCallback callback;
    int running = 0;  ///< threads that are running it
  };
  /// The first callback that was registered after `id`, counted as running; null if there is none.
  std::shared_ptr<Entry> begin_next(std::uint64_t id);
  void end(Entry& entry) noexcept;

  DeviceState& device_;
  std::mutex mutex_;  // guards everything below; a leaf
  std::condition_variable ended_;
  std::vector<std::shared_ptr<Entry>> entries_;
  std::uint64_t last_id_ = 0;
};

inline PressureCallbacks& pressure_of(DeviceState& device) noexcept { return *device.pressure; }

/// Whether the calling thread is in a pressure callback of that device, where allocating from the device isn't
/// permitted.
bool in_pressure_callback(const DeviceState& device) noexcept;

}  // namespace anyplace::detail
