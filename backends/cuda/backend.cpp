// SPDX-License-Identifier: Apache-2.0
//
// CudaBackend: implements anyplace's contract with the classes beside this file, and exports the plugin's one symbol.
//
// Two entries are null, and the core does without: device_reset, because resetting a primary context would destroy what
// other libraries have in it, and kernel_from_host.
#include "anyplace/backend/kit/context_backend.h"
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

/// The `Parts` of anyplace/backend/kit/context_backend.h.
struct Parts {
  using Device = cuda::Device;
  using Copies = cuda::Copies;
  using Graph = cuda::Graph;
  using Ipc = cuda::Ipc;
  using Module = cuda::Module;
  using Kernel = cuda::Kernel;

  static constexpr auto& hiding_variables = cuda::hiding_variables;
  static constexpr auto& milliseconds_between = cuda::milliseconds_between;
};

class CudaBackend final : public backend::ContextBackend<Parts> {
 public:
  explicit CudaBackend(backend::Host host) : ContextBackend(host, "anyplace-cuda") {
    load_driver();
    int count = 0;
    Results::check(driver().DeviceGetCount(&count), "cuDeviceGetCount");
    for (std::int32_t i = 0; i < count; ++i) {
      CUdevice id = 0;
      Results::check(driver().DeviceGet(&id, i), "cuDeviceGet");
      devices_.push_back(std::make_unique<Device>(host, watcher_, id, i));
    }
  }

  std::uint64_t device_native(std::int32_t device, std::uint32_t kind) override {
    if (kind == ANYPLACE_NATIVE_CONTEXT) return backend::to_handle(at(device).context());
    return static_cast<std::uint64_t>(at(device).id());
  }

 private:
  void thread_begins() noexcept override { stay_out_of_captures(); }
};

}  // namespace anyplace::cuda

ANYPLACE_EXPORT_BACKEND(anyplace::cuda::CudaBackend, "cuda", ANYPLACE_VERSION,
                        "NVIDIA GPUs, through the CUDA driver API")
