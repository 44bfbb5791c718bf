// SPDX-License-Identifier: Apache-2.0
// Two devices, of which the second is gone from its third sample on.
#include <anyplace/backend/kit/sampled.h>

#include <atomic>

#include "support/least_backend.h"

class Vanisher final : public test::LeastBackend {
 public:
  explicit Vanisher(anyplace::backend::Host) {}
  int32_t device_count() override { return 2; }
  void device_properties(int32_t device, anyplace_device_properties& out) override {
    LeastBackend::device_properties(device, out);
    out.capabilities = std::uint64_t{1} << ANYPLACE_CAPABILITY_BIT_MONITORING;
  }
  void device_sample(int32_t device, anyplace_device_sample& out) override {
    constexpr int samples_of_second = 2;
    if (device == 1 && ++asked_ > samples_of_second) {
      throw anyplace::backend::Failure(ANYPLACE_STATUS_DEVICE_LOST, "it fell off the bus");
    }
    const anyplace::backend::Sampled sampled(out);
    sampled.memory_used_bytes(4096);
    sampled.memory_total_bytes(8192);
  }

 private:
  std::atomic<int> asked_{0};
};

ANYPLACE_EXPORT_BACKEND(Vanisher, "vanisher", "1.0", "Loses a device between two samples")
