// SPDX-License-Identifier: Apache-2.0
#include "module.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "device.h"
#include "image.h"

namespace anyplace::hip {
namespace {

[[noreturn]] void fail_load(Device& device, const anyplace_module_desc& desc, hipError_t result) {
  if (is_sticky(result) || device.lost()) device.fail(result, "hipModuleLoadData");
  const bool no_memory = result == hipErrorOutOfMemory;
  // All other arguments are ours, so what is invalid can only be the image.
  const anyplace_status known = status_of(result);
  const bool invalid = known == ANYPLACE_STATUS_INVALID_ARGUMENT;
  const std::string targets = image_targets({static_cast<const std::byte*>(desc.image), desc.image_bytes});
  const std::string built_for = targets.empty() ? "" : "the image has code for " + targets + "; ";
  fail_call(result, "hipModuleLoadData", invalid ? ANYPLACE_STATUS_INVALID_IMAGE : known,
            no_memory ? ""
                      : built_for + "this device is " + device.target() +
                            ": build for that (hipcc --genco "
                            "--offload-arch=" +
                            device.architecture() + ")");
}

}  // namespace

// ---- Module --------------------------------------------------------------------------------------------------------

Module::Module(Device& device, const anyplace_module_desc& desc) : device_(device) {
  // Unlike PTX, code objects are compiled already; HIP takes CUDA's options for its compiler and ignores them.
  if (desc.options != nullptr && std::string_view(desc.options).find_first_not_of(" \t\n") != std::string_view::npos) {
    refuse(ANYPLACE_STATUS_INVALID_ARGUMENT, std::string("the option(s) \"") + desc.options +
                                                 "\": AMD's code objects are compiled already, so there are none");
  }
  const std::span image(static_cast<const std::byte*>(desc.image), desc.image_bytes);
  if (const std::string problem = image_problem(image); !problem.empty()) {
    refuse(ANYPLACE_STATUS_INVALID_IMAGE, problem);
  }
  device.retired_modules().sweep();
  const DeviceScope scope(device);
  const hipError_t result = driver().ModuleLoadData(&native_, desc.image);
  if (result != hipSuccess) fail_load(device, desc, result);
}

Module::~Module() = default;

Kernel& Module::kernel(const char* name) {
  const std::lock_guard lock(mutex_);
  if (const auto known = kernels_.find(name); known != kernels_.end()) return *known->second;
  const DeviceScope scope(device_);
  hipFunction_t function = nullptr;
  const hipError_t result = driver().ModuleGetFunction(&function, native_, name);
  if (result == hipErrorNotFound) {
    fail_call(result, "hipModuleGetFunction", ANYPLACE_STATUS_NO_SUCH_KERNEL,
              std::string("the module has no kernel \"") + name +
                  "\"; C++ mangles names that aren't extern \"C\" (llvm-readelf --symbols shows them)");
  }
  device_.check(result, "hipModuleGetFunction");
  const auto added = kernels_.emplace(name, std::make_unique<Kernel>(device_, function, name)).first;
  return *added->second;
}

void Module::unload(Module* module) {
  const std::unique_ptr<Module> ended(module);
  Device& device = ended->device_;
  const EndScope scope(device);
  if (!device.lost() && device.retired_modules().keep_until_over(ended->native_)) return;
  scope.end("hipModuleUnload", [&] { return driver().ModuleUnload(ended->native_); });
}

// ---- ModuleCalls ---------------------------------------------------------------------------------------------------

ModuleCalls::Scope::Scope(Device& device) noexcept : scope_(device.id(), ContextScope::Always{}) {}

PendingWork ModuleCalls::pending(Device& device) { return device.work().pending(); }

void ModuleCalls::wait_for_all(Device&) noexcept { ignore(driver().DeviceSynchronize()); }

hipError_t ModuleCalls::unload(Device& device, hipModule_t module) noexcept {
  const hipError_t result = driver().ModuleUnload(module);
  if (is_sticky(result)) device.lose(result);
  return result;
}

}  // namespace anyplace::hip
