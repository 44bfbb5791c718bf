// SPDX-License-Identifier: Apache-2.0
//
// Module: a loaded image and the kernels of it that were asked for. HIP doesn't say what unloading does to running
// work, so a module is unloaded after it.
#pragma once

#include "anyplace/backend/kit/module.h"
#include "device_base.h"

namespace anyplace::hip {

class Device;
class Kernel;

/// The `Vendor` of anyplace/backend/kit/module.h for HIP.
struct ModuleCalls : Calls {
  using Device = hip::Device;
  using Native = hipModule_t;
  using Function = hipFunction_t;
  using Kernel = hip::Kernel;
  static constexpr hipError_t not_found = hipErrorNotFound;
  static constexpr const char* names_tool = "llvm-readelf --symbols";

  /// Throws INVALID_IMAGE, with the device's architecture and those of the image.
  static hipModule_t load(Device& device, const anyplace_module_desc& desc);
  static Called<hipError_t> find(hipModule_t module, const char* name, hipFunction_t& function) noexcept {
    return {driver().ModuleGetFunction(&function, module, name), "hipModuleGetFunction"};
  }
  static Called<hipError_t> find_variable(hipModule_t module, const char* name, anyplace_global& found) noexcept {
    if (!driver().ModuleGetGlobal) return {hipErrorNotSupported, "hipModuleGetGlobal"};
    hipDeviceptr_t address = nullptr;
    std::size_t bytes = 0;
    const hipError_t result = driver().ModuleGetGlobal(&address, &bytes, module, name);
    found.address = reinterpret_cast<std::uintptr_t>(address);
    found.bytes = bytes;
    return {result, "hipModuleGetGlobal"};
  }
  static Called<hipError_t> unload(hipModule_t module) noexcept {
    return {driver().ModuleUnload(module), "hipModuleUnload"};
  }
};

using Module = backend::Module<ModuleCalls>;

}  // namespace anyplace::hip
