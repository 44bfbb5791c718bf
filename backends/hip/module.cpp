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

// ---- RetiredModules ------------------------------------------------------------------------------------------------

bool RetiredModules::keep_until_over(hipModule_t module) {
  try {
    sweep();
    PendingWork pending = device_.work().pending();
    if (pending.is_over()) return false;
    const std::lock_guard lock(mutex_);
    modules_.push_back({module, std::move(pending)});
    return true;
  } catch (...) {
    // It can't be known when (no memory, or no event to be had): then this once it is waited for.
    ignore(driver().DeviceSynchronize());
    return false;
  }
}

void RetiredModules::sweep() noexcept {
  std::vector<hipModule_t> over;
  try {
    const std::lock_guard lock(mutex_);
    over.reserve(modules_.size());
    for (std::size_t i = modules_.size(); i-- > 0;) {
      if (!modules_[i].pending.is_over()) continue;
      over.push_back(modules_[i].module);
      std::swap(modules_[i], modules_.back());
      modules_.pop_back();
    }
  } catch (...) {  // those that can't be asked about are looked at again the next time
  }
  if (over.empty() || device_.lost()) return;
  const ContextScope scope(device_.id(), ContextScope::Always{});
  for (hipModule_t const module : over) unload(module);
}

hipError_t RetiredModules::close() noexcept {
  const std::lock_guard lock(mutex_);
  for (const Retired& retired : modules_) unload(retired.module);
  modules_.clear();
  return failure();
}

void RetiredModules::unload(hipModule_t module) noexcept {
  const hipError_t result = driver().ModuleUnload(module);
  if (result == hipSuccess) return;
  hipError_t none = hipSuccess;
  failed_.compare_exchange_strong(none, result, std::memory_order_acq_rel);
  if (is_sticky(result)) device_.lose(result);
}

}  // namespace anyplace::hip
