// SPDX-License-Identifier: Apache-2.0
//
// Gate: a signal that the host signals. Opening it calls Level Zero, which is allowed on any thread, also inside a host
// function.
#pragma once

#include <atomic>

#include "device.h"
#include "signal.h"

namespace anyplace::levelzero {

class Gate {
 public:
  explicit Gate(Device& device) : signal_(device.signals().take()) {}

  const SignalRef& signal() const noexcept { return signal_; }
  void open() {
    if (opened_.exchange(true)) return;
    DeviceBase& device = signal_->device();
    device.ending().check(signal_->signal_from_host(), "zeEventHostSignal");
  }
  /// Opens the gate unless that was done. Streams that wait for it keep its signal.
  void end() noexcept {
    if (!opened_.exchange(true)) signal_->signal_from_host();
  }

 private:
  const SignalRef signal_;
  std::atomic<bool> opened_{false};
};

}  // namespace anyplace::levelzero
