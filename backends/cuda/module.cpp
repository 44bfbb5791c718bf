// SPDX-License-Identifier: Apache-2.0
#include "module.h"

#include <memory>
#include <string>
#include <string_view>

#include "device.h"
#include "image.h"
#include "jit.h"

namespace anyplace::cuda {
namespace {

/// Explains a PTX version that the driver is too old for: "the image is PTX 9.0, of CUDA 13.0, which needs driver 580
/// or newer; this one is for CUDA 12.2 (PTX up to 8.2)".
std::string ptx_too_new(std::string_view text) {
  const int version = ptx_version(text);
  std::string said = "the image is PTX";
  if (version != 0) said += " " + std::to_string(version / 10) + "." + std::to_string(version % 10);
  const int needed = cuda_version_of_ptx(version);
  if (needed != 0) {
    said += ", of CUDA " + version_text(needed);
    const std::string branch = driver_branch(needed);
    if (!branch.empty()) said += ", which needs driver " + branch + " or newer";
  }
  return said + "; this driver is for CUDA " + version_text(driver_version()) +
         ": update it, or make the PTX with an older toolkit (or a cubin for ";
}

/// The text that is added to the driver's own for a load that failed.
std::string explanation(const Device& device, const anyplace_module_desc& desc, CUresult result) {
  switch (static_cast<int>(result)) {
    case 209:
      return "the image has no code for this device, which is " + device.architecture() +
             ": build it for that, or as PTX for it or an older one";
    case 222: {
      const std::string_view text(static_cast<const char*>(desc.image), desc.image_bytes);
      return ptx_too_new(desc.format == ANYPLACE_IMAGE_PTX ? text : std::string_view()) + device.architecture() + ")";
    }
    case 221:
      return "libnvidia-ptxjitcompiler.so.1, which compiles PTX, is missing: it comes with NVIDIA's driver; or bring a "
             "cubin for " +
             device.architecture();
    default:
      return "";
  }
}

[[noreturn]] void fail_load(Device& device, const anyplace_module_desc& desc, CUresult result, const std::string& log) {
  if (Results::is_sticky(result) || device.lost()) device.fail(result, "cuModuleLoadDataEx");
  // All other arguments come from here, so only the image can be invalid.
  const anyplace_status status =
      result == CUDA_ERROR_INVALID_VALUE ? ANYPLACE_STATUS_INVALID_IMAGE : Results::status_of(result);
  std::string more = explanation(device, desc, result);
  if (!log.empty()) more += (more.empty() ? "the compiler's log:\n" : "\nthe compiler's log:\n") + log;
  Results::fail(result, "cuModuleLoadDataEx", status, more);
}

}  // namespace

CUmodule ModuleCalls::load(Device& device, const anyplace_module_desc& desc) {
  std::string text;  // PTX needs a NUL at its end
  const void* bytes = desc.image;
  if (desc.format == ANYPLACE_IMAGE_PTX) {
    text.assign(static_cast<const char*>(desc.image), desc.image_bytes);
    bytes = text.c_str();
  } else if (const std::string problem = image_problem(desc.format, {desc.image, desc.image_bytes}); !problem.empty()) {
    refuse(ANYPLACE_STATUS_INVALID_IMAGE, problem);
  }
  device.retired_modules().sweep();
  const auto jit = std::make_unique<JitOptions>(desc.options);
  const DeviceScope scope(device);
  CUmodule module = nullptr;
  const CUresult result = driver().ModuleLoadDataEx(&module, bytes, jit->count(), jit->options(), jit->values());
  if (result != CUDA_SUCCESS) fail_load(device, desc, result, jit->log());
  return module;
}

}  // namespace anyplace::cuda
