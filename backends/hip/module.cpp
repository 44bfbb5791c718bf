// SPDX-License-Identifier: Apache-2.0
#include "module.h"

#include <string>
#include <string_view>

#include "device.h"
#include "image.h"

namespace anyplace::hip {
namespace {

[[noreturn]] void fail_load(Device& device, const anyplace_module_desc& desc, hipError_t result) {
  if (Results::is_sticky(result) || device.lost()) device.fail(result, "hipModuleLoadData");
  const bool no_memory = result == hipErrorOutOfMemory;
  // All other arguments come from here, so only the image can be invalid.
  const anyplace_status known = Results::status_of(result);
  const bool invalid = known == ANYPLACE_STATUS_INVALID_ARGUMENT;
  const std::string targets = image_targets({desc.image, desc.image_bytes});
  const std::string built_for = targets.empty() ? "" : "the image has code for " + targets + "; ";
  Results::fail(result, "hipModuleLoadData", invalid ? ANYPLACE_STATUS_INVALID_IMAGE : known,
                no_memory ? ""
                          : built_for + "this device is " + device.target() +
                                ": build for that (hipcc --genco "
                                "--offload-arch=" +
                                device.architecture() + ")");
}

}  // namespace

hipModule_t ModuleCalls::load(Device& device, const anyplace_module_desc& desc) {
  // Unlike PTX, code objects are already compiled; HIP accepts CUDA's options for its compiler and ignores them.
  if (desc.options != nullptr && std::string_view(desc.options).find_first_not_of(" \t\n") != std::string_view::npos) {
    refuse(ANYPLACE_STATUS_INVALID_ARGUMENT, std::string("the option(s) \"") + desc.options +
                                                 "\": AMD's code objects are compiled already, so there are none");
  }
  if (const std::string problem = image_problem({desc.image, desc.image_bytes}); !problem.empty()) {
    refuse(ANYPLACE_STATUS_INVALID_IMAGE, problem);
  }
  device.retired_modules().sweep();
  const DeviceScope scope(device);
  hipModule_t module = nullptr;
  const hipError_t result = driver().ModuleLoadData(&module, desc.image);
  if (result != hipSuccess) fail_load(device, desc, result);
  return module;
}

}  // namespace anyplace::hip
