// SPDX-License-Identifier: Apache-2.0
//
// HipBackend: anyplace's contract on the classes beside this file; and the plugin's one symbol.
//
// Left null: reset, because hipDeviceReset would destroy what other libraries have on the device, and kernels that are
// functions of the host. The core does without.
#include <algorithm>
#include <memory>

#include "anyplace/backend/kit/class_backend.h"
#include "anyplace/version.h"
#include "copy.h"
#include "device.h"
#include "event.h"
#include "stream.h"

namespace anyplace::hip {
namespace {

/// This thread's questions must not spoil a capture that another library has going on another thread.
void stay_out_of_captures() noexcept {
  if (!driver().ThreadExchangeStreamCaptureMode) return;
  constexpr int relaxed = 2;  // hipStreamCaptureModeRelaxed
  int mode = relaxed;
  ignore(driver().ThreadExchangeStreamCaptureMode(&mode));
}

}  // namespace

/// As anyplace/backend/kit/class_backend.h asks for them.
struct Parts {
  using Device = hip::Device;
  using Stream = hip::Stream;
  using Event = hip::Event;
  using Gate = hip::Gate;
  using Gates = hip::Gates;
  using Module = hip::Module;
  using Kernel = hip::Kernel;
  using Sharing = hip::Sharing;
  using VirtualMemory = hip::VirtualMemory;
  using PhysicalMemory = hip::PhysicalMemory;

  static constexpr auto& make_stream = hip::make_stream;
  static constexpr auto& make_null_stream = hip::make_null_stream;
  static constexpr auto& adopt_stream = hip::adopt_stream;
  static constexpr auto& milliseconds_between = hip::milliseconds_between;
  static constexpr auto& copy = hip::copy;
  static constexpr auto& copy_2d = hip::copy_2d;
  static constexpr auto& copy_peer = hip::copy_peer;
  static constexpr auto& fill = hip::fill;
};

class HipBackend final : private anyplace::backend::Watched, public anyplace::backend::ClassBackend<Parts> {
 public:
  explicit HipBackend(anyplace::backend::Host host)
      : ClassBackend("anyplace-hip", static_cast<anyplace::backend::Watched&>(*this)) {
    load_driver();
    int count = 0;
    check(driver().GetDeviceCount(&count), "hipGetDeviceCount");
    for (std::int32_t i = 0; i < count; ++i) {
      devices_.push_back(std::make_unique<Device>(host, watcher_, i, i));  // HIP's devices are their numbers
    }
  }

  std::uint64_t device_native(std::int32_t device, std::uint32_t kind) override {
    if (kind == ANYPLACE_NATIVE_CONTEXT) return anyplace::backend::to_handle(at(device).native_context());
    return static_cast<std::uint64_t>(at(device).id());
  }

 private:
  // -- Watched: HIP tells nobody unasked that a device failed, and runs no host functions of its then. And
  // hipStreamDestroy waits for the stream's work: streams that are destroyed while work is pending are kept (Work), and
  // destroyed here.
  void thread_begins() noexcept override { stay_out_of_captures(); }
  void look(bool ask_vendor) noexcept override {
    for (const auto& device : devices_) {
      device->host_functions().settle_if_lost(ask_vendor);
      device->work().sweep();
    }
  }
  bool anything_pending() const noexcept override {
    return std::any_of(devices_.begin(), devices_.end(), [](const auto& device) {
      return device->host_functions().any_pending() || device->work().any_retired();
    });
  }
};

}  // namespace anyplace::hip

ANYPLACE_EXPORT_BACKEND(anyplace::hip::HipBackend, "hip", ANYPLACE_VERSION, "AMD GPUs, through the HIP runtime")
