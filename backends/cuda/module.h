// SPDX-License-Identifier: Apache-2.0
//
// Module: a loaded image and the kernels of it that were asked for. CUDA doesn't say what unloading does to running
// work, so a module is unloaded after it.
#pragma once

#include "anyplace/backend/kit/module.h"
#include "device_base.h"

namespace anyplace::cuda {

class Device;
class Kernel;

/// The `Vendor` of anyplace/backend/kit/module.h for CUDA.
struct ModuleCalls : Calls {
  using Device = cuda::Device;
  using Native = CUmodule;
  using Function = CUfunction;
  using Kernel = cuda::Kernel;
  static constexpr CUresult not_found = CUDA_ERROR_NOT_FOUND;
  static constexpr const char* names_tool = "cuobjdump -elf or the PTX";

  /// Throws INVALID_IMAGE with the compiler's log.
  static CUmodule load(Device& device, const anyplace_module_desc& desc);
  static Called<CUresult> find(CUmodule module, const char* name, CUfunction& function) noexcept {
    return {driver().ModuleGetFunction(&function, module, name), "cuModuleGetFunction"};
  }
  static Called<CUresult> find_variable(CUmodule module, const char* name, anyplace_global& found) noexcept {
    if (driver().ModuleGetGlobal == nullptr) return {CUDA_ERROR_NOT_SUPPORTED, "cuModuleGetGlobal"};
    CUdeviceptr address = 0;
    std::size_t bytes = 0;
    const CUresult result = driver().ModuleGetGlobal(&address, &bytes, module, name);
    found.address = address;
    found.bytes = bytes;
    return {result, "cuModuleGetGlobal"};
  }
  static Called<CUresult> unload(CUmodule module) noexcept { return {driver().ModuleUnload(module), "cuModuleUnload"}; }
};

using Module = backend::Module<ModuleCalls>;

}  // namespace anyplace::cuda
