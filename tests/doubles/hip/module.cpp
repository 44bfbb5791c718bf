// SPDX-License-Identifier: Apache-2.0
//
// Modules: the stand-in formats (stand_in.h) loaded; functions by name.
//
// Stricter than the reference: a module that is unloaded while one of its kernels is queued is noted as misuse, and the
// kernel fails.
#include <cstring>
#include <utility>

#include "stand_in.h"
#include "state.h"

namespace anyplace::doubles::hip {
namespace {

hipError_t image_of_code_object(std::string_view object, std::string& image) {
  if (object.size() < 64 || !is_code_object(object.data())) return hipErrorInvalidImage;
  if (machine_of_code_object(object.data()) != machine_of(state().config.arch)) return hipErrorNoBinaryForGpu;
  auto found = read_host_image(object);
  if (!found) return hipErrorNoBinaryForGpu;  // a true one, and the double runs stand-ins alone
  image = std::move(*found);
  return hipSuccess;
}

/// The entry for the device's architecture.
hipError_t image_of_bundle(const void* bundle, std::string& image) {
  hipError_t result = hipErrorNoBinaryForGpu;
  for (const BundleEntry& entry : read_bundle(bundle)) {
    if (entry.image.empty()) continue;
    result = image_of_code_object(entry.image, image);
    if (result != hipErrorNoBinaryForGpu) break;
  }
  return result;
}

/// Whether the bytes begin with that text; none behind the first that differs is read.
bool begins_with(const void* bytes, std::string_view text) {
  return std::strncmp(static_cast<const char*>(bytes), text.data(), text.size()) == 0;
}

hipError_t host_image_of(const void* bytes, std::string& image) {
  if (begins_with(bytes, kBundleMagic)) return image_of_bundle(bytes, image);
  if (!begins_with(bytes,
                   "\x7f"
                   "ELF"))
    return hipErrorInvalidImage;
  return image_of_code_object({static_cast<const char*>(bytes), elf_bytes(bytes)}, image);
}

hipError_t find_module(const Locked&, hipModule_t handle, ModuleRef& module) {
  ModuleRef found = state().modules.find(handle);
  if (found == nullptr) return hipErrorInvalidHandle;
  const hipError_t fault = fault_of(*found->device);
  if (fault == hipSuccess) module = std::move(found);
  return fault;
}

}  // namespace

HIP_DOUBLE_ENTRY(hipModuleLoadData)(hipModule_t* module, const void* image) {
  if (is_null(module, image)) return hipErrorInvalidValue;
  DeviceRef device;
  hipError_t result = current_device(device);
  if (result != hipSuccess) return result;
  std::string bytes;
  std::string why;
  result = host_image_of(image, bytes);
  if (result != hipSuccess) return result;
  auto made = std::make_shared<Module>();
  made->device = device;
  made->image = HostImage::load(bytes, why);
  if (made->image == nullptr) return hipErrorInvalidImage;
  const Locked lock(state().mutex);
  made->handle = state().modules.add(made);
  *module = made->handle;
  return hipSuccess;
}

HIP_DOUBLE_ENTRY(hipModuleUnload)(hipModule_t module) {
  ModuleRef found;  // goes behind the lock
  const Locked lock(state().mutex);
  found = state().modules.find(module);
  if (found == nullptr) {
    misuses().add("hipModuleUnload of what is no module, or no longer");
    return hipErrorInvalidHandle;
  }
  const hipError_t fault = fault_of(*found->device);
  found->unloaded = true;
  if (fault == hipSuccess && found->launches.load() != 0) {
    misuses().add("a module was unloaded while a kernel of it was queued or ran");
  }
  for (const auto& [name, function] : found->functions) state().functions.remove(function);
  state().modules.remove(module);
  return fault;
}

HIP_DOUBLE_ENTRY(hipModuleGetFunction)(hipFunction_t* function, hipModule_t module, const char* name) {
  if (is_null(function, name)) return hipErrorInvalidValue;
  const Locked lock(state().mutex);
  ModuleRef found;
  const hipError_t result = find_module(lock, module, found);
  if (result != hipSuccess) return result;
  if (const auto known = found->functions.find(name); known != found->functions.end()) {
    *function = known->second;
    return hipSuccess;
  }
  auto kernel = found->image->kernel(name);
  if (!kernel) return hipErrorNotFound;
  auto made = std::make_shared<Function>();
  made->name = name;
  made->module = found;
  made->kernel = std::move(*kernel);
  const hipFunction_t handle = state().functions.add(std::move(made));
  found->functions[name] = handle;
  *function = handle;
  return hipSuccess;
}

}  // namespace anyplace::doubles::hip
