// SPDX-License-Identifier: Apache-2.0
//
// CudaBackend: implements anyplace's contract with the classes beside this file, and exports the plugin's one symbol.
//
// Two entries are null, and the core does without: device_reset, because resetting a primary context would destroy what
// other libraries have in it, and kernel_from_host.
#include "anyplace/backend/kit/class_backend.h"
#include "anyplace/backend/kit/hidden_devices.h"
#include "anyplace/version.h"
#include "copy.h"
#include "graph.h"
#include "ipc.h"
#include "kernel_launch.h"

namespace anyplace::cuda {
namespace {

/// Lets calls of this thread not invalidate a capture that another library makes on another thread.
void stay_out_of_captures() noexcept {
  if (driver().ThreadExchangeStreamCaptureMode == nullptr) return;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED;
  driver().ThreadExchangeStreamCaptureMode(&mode);
}

}  // namespace

/// The `Parts` of anyplace/backend/kit/class_backend.h.
struct Parts {
  using Device = cuda::Device;
  using Copies = cuda::Copies;
  using Graph = cuda::Graph;
  using Ipc = cuda::Ipc;
  using Module = cuda::Module;
  using Kernel = cuda::Kernel;

  static constexpr auto& milliseconds_between = cuda::milliseconds_between;
};

class CudaBackend final : public backend::ClassBackend<Parts> {
 public:
  explicit CudaBackend(backend::Host host) : ClassBackend("anyplace-cuda"), host_(host) {
    load_driver();
    int count = 0;
    Results::check(driver().DeviceGetCount(&count), "cuDeviceGetCount");
    for (std::int32_t i = 0; i < count; ++i) {
      CUdevice id = 0;
      Results::check(driver().DeviceGet(&id, i), "cuDeviceGet");
      devices_.push_back(std::make_unique<Device>(host, watcher_, id, i));
    }
  }

  std::int32_t device_count() override {
    backend::note_hidden_devices(host_, hiding_variables);
    return ClassBackend::device_count();
  }
  std::uint64_t device_native(std::int32_t device, std::uint32_t kind) override {
    if (kind == ANYPLACE_NATIVE_CONTEXT) return backend::to_handle(at(device).context());
    return static_cast<std::uint64_t>(at(device).id());
  }

  void device_sample(std::int32_t device, anyplace_device_sample& out) override { at(device).sample(out); }
  std::vector<anyplace_process> list_processes(std::int32_t device) override { return at(device).processes(); }

 private:
  void thread_begins() noexcept override { stay_out_of_captures(); }

  backend::Host host_;
};

}  // namespace anyplace::cuda

ANYPLACE_EXPORT_BACKEND(anyplace::cuda::CudaBackend, "cuda", ANYPLACE_VERSION,
                        "NVIDIA GPUs, through the CUDA driver API")
