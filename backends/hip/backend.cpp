// SPDX-License-Identifier: Apache-2.0
//
// HipBackend: implements anyplace's contract with the classes beside this file, and exports the plugin's one symbol.
//
// Two entries are null, and the core does without: device_reset, because hipDeviceReset would destroy what other
// libraries have on the device, and kernel_from_host.
#include "anyplace/backend/kit/context_backend.h"
#include "anyplace/version.h"
#include "copy.h"
#include "graph.h"
#include "ipc.h"
#include "kernel.h"
#include "stream.h"

namespace anyplace::hip {
namespace {

/// Lets calls of this thread not invalidate a capture that another library makes on another thread.
void stay_out_of_captures() noexcept {
  if (!driver().ThreadExchangeStreamCaptureMode) return;
  constexpr int relaxed = 2;  // hipStreamCaptureModeRelaxed
  int mode = relaxed;
  ignore(driver().ThreadExchangeStreamCaptureMode(&mode));
}

}  // namespace

/// The `Parts` of anyplace/backend/kit/context_backend.h.
struct Parts {
  using Device = hip::Device;
  using Copies = hip::Copies;
  using Graph = hip::Graph;
  using Ipc = hip::Ipc;
  using Module = hip::Module;
  using Kernel = hip::Kernel;

  static constexpr auto& hiding_variables = hip::hiding_variables;
  static constexpr auto& milliseconds_between = hip::milliseconds_between;
};

class HipBackend final : public backend::ContextBackend<Parts> {
 public:
  explicit HipBackend(backend::Host host) : ContextBackend(host, "anyplace-hip") {
    load_driver();
    int count = 0;
    Results::check(driver().GetDeviceCount(&count), "hipGetDeviceCount");
    for (std::int32_t i = 0; i < count; ++i) {
      devices_.push_back(std::make_unique<Device>(host, watcher_, i, i));  // HIP names devices by numbers
    }
  }

  std::uint64_t device_native(std::int32_t device, std::uint32_t kind) override {
    if (kind == ANYPLACE_NATIVE_CONTEXT) return backend::to_handle(at(device).native_context());
    return static_cast<std::uint64_t>(at(device).id());
  }

 private:
  void thread_begins() noexcept override { stay_out_of_captures(); }
};

}  // namespace anyplace::hip

ANYPLACE_EXPORT_BACKEND(anyplace::hip::HipBackend, "hip", ANYPLACE_VERSION, "AMD GPUs, through the HIP runtime")
