// SPDX-License-Identifier: Apache-2.0
#include "kernels/own_module.h"

#include <utility>

#include "handles/deferred_release.h"
#include "kernels/kernel_state.h"
#include "kernels/load_module.h"
#include "plugins/device_properties.h"
#include "runtime/call.h"

namespace anyplace::detail {

bool OwnModule::find(const DeviceState& device, std::shared_ptr<const Module>& module) {
  const std::lock_guard lock(mutex_);
  for (const Loaded& loaded : loaded_) {
    if (loaded.device != &device) continue;
    module = loaded.module;
    // A reset of the device closes the module's handle.
    return module == nullptr || modules().try_pin(module->id());
  }
  return false;
}

std::shared_ptr<const Module> OwnModule::keep(const DeviceState& device, std::shared_ptr<const Module> made) {
  std::shared_ptr<const Module> replaced;  // released outside of the lock
  const std::lock_guard lock(mutex_);
  for (Loaded& loaded : loaded_) {
    if (loaded.device != &device) continue;
    if (loaded.module != nullptr && modules().try_pin(loaded.module->id())) return loaded.module;
    replaced = std::exchange(loaded.module, made);
    return made;
  }
  loaded_.push_back({&device, made});
  return made;
}

std::shared_ptr<const Module> OwnModule::on(DeviceState& device, const KernelImages& images, const char* operation) {
  std::shared_ptr<const Module> known;
  if (find(device, known) && known != nullptr) return known;
  try {
    return keep(device, std::make_shared<const Module>(Device(&device), images));
  } catch (const Error& error) {
    throw renamed(error, operation);
  }
}

std::shared_ptr<const Module> OwnModule::on_if_taken(DeviceState& device, const KernelImages& images,
                                                     const char* operation) {
  std::shared_ptr<const Module> known;
  if (find(device, known)) return known;
  if (!has_capability(device, Capability::modules, operation)) return keep(device, nullptr);
  try {
    return on(device, images, operation);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::invalid_image && error.code() != ErrorCode::unsupported) throw;
    return keep(device, nullptr);
  }
}

void OwnModule::end() noexcept {
  std::vector<Loaded> all;
  {
    const std::lock_guard lock(mutex_);
    all.swap(loaded_);
  }
  bool closed = false;
  for (const Loaded& loaded : all) {
    if (loaded.module == nullptr) continue;
    close_module(loaded.module->id());
    closed = true;
  }
  if (closed) release_all_unused();
}

}  // namespace anyplace::detail
