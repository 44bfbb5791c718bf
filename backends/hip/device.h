// SPDX-License-Identifier: Apache-2.0
//
// Device: one HIP device and everything that the backend keeps for it.
#pragma once

#include <string>
#include <vector>

#include "anyplace/backend/kit/class_device.h"
#include "gate.h"
#include "host_function.h"
#include "module.h"
#include "virtual_memory.h"
#include "work.h"

namespace anyplace::hip {

/// The `Whole` of anyplace/backend/kit/class_device.h.
struct DeviceParts {
  static constexpr const char* module_call = "hipModuleUnload";
  static constexpr const char* gate_call = "hipFree";
  static constexpr const char* pool_call = "hipMemPoolDestroy";
  static constexpr const char* event_call = "hipEventDestroy";

  static Called<hipError_t> synchronize() noexcept { return {driver().DeviceSynchronize(), "hipDeviceSynchronize"}; }
  static Called<hipError_t> end_context(PrimaryContext& context) noexcept {
    return {context.end(), "hipDevicePrimaryCtxRelease"};
  }
};

class Device : public backend::ClassDevice<DeviceParts, WorkCalls, HostFunctionCalls, GateCalls, VirtualMemoryCalls,
                                           ModuleCalls> {
 public:
  using ClassDevice::ClassDevice;

  /// Makes no context.
  void properties(anyplace_device_properties& out);
  /// The architecture with its features, such as "gfx90a:sramecc+:xnack-".
  std::string target() const;
  /// Such as "gfx90a".
  std::string architecture() const;
  void memory_info(anyplace_memory_info& out);
  /// Makes no context.
  void sample(anyplace_device_sample& out);
  std::vector<anyplace_process> processes();
  /// HIP's handle of the context. Throws UNSUPPORTED where the library has none.
  hipCtx_t native_context();

 private:
  std::uint64_t capabilities();
  void priority_range(int& least, int& greatest) const;
  void add_figures(anyplace_device_properties& out) const;  ///< adds clocks, caches and features
};

}  // namespace anyplace::hip
