// SPDX-License-Identifier: Apache-2.0
//
// Device: one CUDA device and everything that the backend keeps for it.
#pragma once

#include <string>
#include <vector>

#include "anyplace/backend/kit/class_device.h"
#include "gate.h"
#include "host_function.h"
#include "module.h"
#include "monitor.h"
#include "virtual_memory.h"
#include "work.h"

namespace anyplace::cuda {

/// The `Whole` of anyplace/backend/kit/class_device.h.
struct DeviceParts {
  static constexpr const char* module_call = "cuModuleUnload";
  static constexpr const char* gate_call = "cuMemFreeHost";
  static constexpr const char* pool_call = "cuMemPoolDestroy";
  static constexpr const char* event_call = "cuEventDestroy";

  static Called<CUresult> synchronize() noexcept { return {driver().CtxSynchronize(), "cuCtxSynchronize"}; }
  static Called<CUresult> end_context(PrimaryContext& context) noexcept {
    return {context.release(), "cuDevicePrimaryCtxRelease"};
  }
};

class Device : public backend::ClassDevice<DeviceParts, WorkCalls, HostFunctionCalls, GateCalls, VirtualMemoryCalls,
                                           ModuleCalls> {
 public:
  using ClassDevice::ClassDevice;

  /// Makes no context.
  void properties(anyplace_device_properties& out) const;
  /// Such as "sm_90".
  std::string architecture() const;
  void memory_info(anyplace_memory_info& out);
  /// Makes no context.
  void sample(anyplace_device_sample& out);
  std::vector<anyplace_process> processes();

 private:
  std::uint64_t capabilities() const;
  void priority_range(int& least, int& greatest) const;
  void add_figures(anyplace_device_properties& out) const;  ///< adds clocks, caches and features
  template <class Body>
  auto monitored(Body body);

  Monitor monitor_;
};

}  // namespace anyplace::cuda
