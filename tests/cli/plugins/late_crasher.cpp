// SPDX-License-Identifier: Apache-2.0
// Loads, says that it has three devices, and dies when asked for the second's properties.
#include <csignal>

#include "support/least_backend.h"

class LateCrasher final : public test::LeastBackend {
 public:
  explicit LateCrasher(anyplace::backend::Host) {}
  int32_t device_count() override { return 3; }
  void device_properties(int32_t device, anyplace_device_properties& out) override {
    if (device == 1) std::raise(SIGKILL);  // no handler of a sanitizer's gets in between
    LeastBackend::device_properties(device, out);
  }
};

ANYPLACE_EXPORT_BACKEND(LateCrasher, "late_crasher", "1.0", "Dies on its second device")
