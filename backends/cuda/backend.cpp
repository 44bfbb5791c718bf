// SPDX-License-Identifier: Apache-2.0
//
// CudaBackend: anyplace's contract on the classes beside this file; and the plugin's one symbol.
//
// Left null: reset, because resetting a primary context would destroy what other libraries have in it, and kernels that
// are functions of the host. The core does without.
#include <algorithm>
#include <memory>

#include "anyplace/backend/kit/class_backend.h"
#include "anyplace/version.h"
#include "copy.h"
#include "device.h"
#include "event.h"
#include "kernel_launch.h"
#include "stream.h"

namespace anyplace::cuda {
namespace {

/// This thread's questions must not spoil a capture that another library has going on another thread.
void stay_out_of_captures() noexcept {
  if (driver().ThreadExchangeStreamCaptureMode == nullptr) return;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  driver().ThreadExchangeStreamCaptureMode(&mode);
}

}  // namespace

/// As anyplace/backend/kit/class_backend.h asks for them.
struct Parts {
  using Device = cuda::Device;
  using Stream = cuda::Stream;
  using Event = cuda::Event;
  using Gate = cuda::Gate;
  using Gates = cuda::Gates;
  using Module = cuda::Module;
  using Kernel = cuda::Kernel;
  using Sharing = cuda::Sharing;
  using VirtualMemory = cuda::VirtualMemory;
  using PhysicalMemory = cuda::PhysicalMemory;

  static constexpr auto& make_stream = cuda::make_stream;
  static constexpr auto& make_null_stream = cuda::make_null_stream;
  static constexpr auto& adopt_stream = cuda::adopt_stream;
  static constexpr auto& milliseconds_between = cuda::milliseconds_between;
  static constexpr auto& copy = cuda::copy;
  static constexpr auto& copy_2d = cuda::copy_2d;
  static constexpr auto& copy_peer = cuda::copy_peer;
  static constexpr auto& fill = cuda::fill;
};

class CudaBackend final : private anyplace::backend::Watched, public anyplace::backend::ClassBackend<Parts> {
 public:
  explicit CudaBackend(anyplace::backend::Host host)
      : ClassBackend("anyplace-cuda", static_cast<anyplace::backend::Watched&>(*this)) {
    load_driver();
    int count = 0;
    check(driver().DeviceGetCount(&count), "cuDeviceGetCount");
    for (std::int32_t i = 0; i < count; ++i) {
      CUdevice id = 0;
      check(driver().DeviceGet(&id, i), "cuDeviceGet");
      devices_.push_back(std::make_unique<Device>(host, watcher_, id, i));
    }
  }

  std::uint64_t device_native(std::int32_t device, std::uint32_t kind) override {
    if (kind == ANYPLACE_NATIVE_CONTEXT) return anyplace::backend::to_handle(at(device).context());
    return static_cast<std::uint64_t>(at(device).id());
  }

 private:
  // -- Watched: CUDA doesn't call the host functions of a context that failed, and tells nobody unasked that it did.
  void thread_begins() noexcept override { stay_out_of_captures(); }
  void look(bool ask_vendor) noexcept override {
    for (const auto& device : devices_) device->host_functions().settle_if_lost(ask_vendor);
  }
  bool anything_pending() const noexcept override {
    return std::any_of(devices_.begin(), devices_.end(),
                       [](const auto& device) { return device->host_functions().any_pending(); });
  }
};

}  // namespace anyplace::cuda

ANYPLACE_EXPORT_BACKEND(anyplace::cuda::CudaBackend, "cuda", ANYPLACE_VERSION,
                        "NVIDIA GPUs, through the CUDA driver API")
