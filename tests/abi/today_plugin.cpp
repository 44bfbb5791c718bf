// SPDX-License-Identifier: Apache-2.0
//
// A plugin that derives from today's DeviceBackend, with the memory and the errors of tiny_backend.h.
#include "support/least_backend.h"

namespace {

using anyplace::backend::Failure;

class TodayBackend final : public test::LeastBackend {
 public:
  explicit TodayBackend(anyplace::backend::Host) {}

  void device_properties(int32_t device, anyplace_device_properties& out) override {
    LeastBackend::device_properties(device, out);
    out.total_memory = total;
    anyplace::backend::set_text(out.name, "today");
    anyplace::backend::set_text(out.vendor, "anyplace tests");
  }
  void device_memory(int32_t, anyplace_memory_info& out) override {
    out.free_bytes = ANYPLACE_UNKNOWN;
    out.total_bytes = total;
  }
  anyplace_address memory_allocate(int32_t device, uint32_t kind, uint64_t bytes) override {
    if (kind != ANYPLACE_MEMORY_DEVICE) {
      throw Failure(ANYPLACE_STATUS_UNSUPPORTED, "tiny has device memory only", 7, "TINY_NO_KIND");
    }
    if (bytes > total / 2) throw Failure(ANYPLACE_STATUS_OUT_OF_MEMORY, "tiny gives 32 MiB at once", 8, "TINY_FULL");
    return LeastBackend::memory_allocate(device, kind, bytes);
  }

 private:
  static constexpr std::uint64_t total = std::uint64_t{64} << 20;
};

}  // namespace

ANYPLACE_EXPORT_BACKEND(TodayBackend, "abi_today_cpp", "1.0", "a test of the plugin boundary")
