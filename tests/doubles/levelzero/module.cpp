// SPDX-License-Identifier: Apache-2.0
//
// Modules of stand-ins (stand_in.h), with what a compiler would say in the log; kernels and their arguments.
//
// Stricter than the reference: a kernel destroyed while a launch of it is queued is noted, and so is a module destroyed
// before its kernels.
#include <cstring>

#include "stand_in.h"
#include "state.h"

namespace anyplace::doubles::levelzero {
namespace {

ze_result_t load(const ze_module_desc_t& desc, Module& module, std::string& log) {
  const std::string_view input(reinterpret_cast<const char*>(desc.pInputModule), desc.inputSize);
  const bool native = desc.format == ZE_MODULE_FORMAT_NATIVE;
  const ze_result_t refused = native ? ZE_RESULT_ERROR_INVALID_NATIVE_BINARY : ZE_RESULT_ERROR_MODULE_BUILD_FAILURE;
  if (desc.pBuildFlags != nullptr && std::strstr(desc.pBuildFlags, "-not-an-option") != nullptr) {
    log = "error: unrecognized build option: -not-an-option";
    return refused;
  }
  StandIn stand_in;
  if (!read_stand_in(input, native, stand_in, log)) return refused;
  const auto newest = state().config.spirv_version;
  const uint32_t word = ZE_MAJOR_VERSION(newest) << 16U | ZE_MINOR_VERSION(newest) << 8U;
  if (!native && stand_in.spirv_version > word) {
    log = "error: the module is of a newer version of SPIR-V";
    return refused;
  }
  module.image = HostImage::load(stand_in.image, log);
  if (module.image == nullptr) return refused;
  module.shared_arguments = std::move(stand_in.shared_arguments);
  return ZE_RESULT_SUCCESS;
}

}  // namespace

ze_result_t do_zeModuleCreate(ze_context_handle_t context_handle, ze_device_handle_t device_handle,
                              const ze_module_desc_t* desc, ze_module_handle_t* out,
                              ze_module_build_log_handle_t* log_out) {
  ContextRef context;
  DeviceRef device;
  LEVELZERO_DOUBLE_TRY(find(state().contexts, context_handle, context, "context"));
  LEVELZERO_DOUBLE_TRY(find(state().device_table, device_handle, device, "device"));
  LEVELZERO_DOUBLE_TRY(health_of(*device));
  LEVELZERO_DOUBLE_TRY(check_desc(desc, ZE_STRUCTURE_TYPE_MODULE_DESC, "ze_module_desc_t"));
  if (out == nullptr || desc->pInputModule == nullptr) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  if (desc->inputSize == 0) return ZE_RESULT_ERROR_INVALID_SIZE;
  if (desc->format > ZE_MODULE_FORMAT_NATIVE) return ZE_RESULT_ERROR_INVALID_ENUMERATION;
  auto module = std::make_shared<Module>();
  module->context = context;
  module->device = device;
  auto log = std::make_shared<BuildLog>();
  const ze_result_t result = load(*desc, *module, log->text);
  const Locked lock(state().mutex);
  if (log_out != nullptr) *log_out = state().logs.add(std::move(log));
  if (result == ZE_RESULT_SUCCESS) *out = state().modules.add(std::move(module));
  return result;
}

ze_result_t do_zeModuleDestroy(ze_module_handle_t handle) {
  ModuleRef module;
  LEVELZERO_DOUBLE_TRY(find(state().modules, handle, module, "module"));
  const Locked lock(state().mutex);
  if (module->kernels != 0)
    return misuse("a module was destroyed before its kernels", ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE);
  state().modules.remove(handle);
  return ZE_RESULT_SUCCESS;
}

Module::~Module() {
  for (const auto& [name, block] : variables) state().memory.free(block.start, block.id);
}

ze_result_t do_zeModuleGetGlobalPointer(ze_module_handle_t handle, const char* name, size_t* bytes, void** address) {
  ModuleRef module;
  LEVELZERO_DOUBLE_TRY(find(state().modules, handle, module, "module"));
  if (name == nullptr) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  const Locked lock(state().mutex);
  auto known = module->variables.find(name);
  if (known == module->variables.end()) {
    const auto variable = module->image->variable(name);
    if (!variable || variable->bytes == 0) return ZE_RESULT_ERROR_INVALID_GLOBAL_NAME;
    Block model;
    model.kind = MemoryKind::device;
    model.owner = module->context->id;
    model.device = module->device->index;
    const auto start = reinterpret_cast<uint64_t>(variable->address);
    if (!state().memory.add_registered(model, start, variable->bytes)) return ZE_RESULT_ERROR_INVALID_GLOBAL_NAME;
    known = module->variables.emplace(name, *state().memory.block_at(start)).first;
  }
  if (bytes != nullptr) *bytes = known->second.bytes;
  if (address != nullptr) *address = reinterpret_cast<void*>(known->second.start);  // NOLINT: an address
  return ZE_RESULT_SUCCESS;
}

ze_result_t do_zeModuleBuildLogGetString(ze_module_build_log_handle_t handle, size_t* bytes, char* text) {
  std::shared_ptr<BuildLog> log;
  LEVELZERO_DOUBLE_TRY(find(state().logs, handle, log, "build log"));
  if (bytes == nullptr) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  const size_t there = log->text.size() + 1;
  if (text == nullptr) {
    *bytes = there;
    return ZE_RESULT_SUCCESS;
  }
  if (*bytes < there) return ZE_RESULT_ERROR_INVALID_SIZE;
  std::memcpy(text, log->text.c_str(), there);
  *bytes = there;
  return ZE_RESULT_SUCCESS;
}

ze_result_t do_zeModuleBuildLogDestroy(ze_module_build_log_handle_t handle) {
  std::shared_ptr<BuildLog> log;
  LEVELZERO_DOUBLE_TRY(find(state().logs, handle, log, "build log"));
  remove(state().logs, handle);
  return ZE_RESULT_SUCCESS;
}

// ---- Kernels
// ---------------------------------------------------------------------------------------------------------

ze_result_t do_zeKernelCreate(ze_module_handle_t module_handle, const ze_kernel_desc_t* desc, ze_kernel_handle_t* out) {
  ModuleRef module;
  LEVELZERO_DOUBLE_TRY(find(state().modules, module_handle, module, "module"));
  LEVELZERO_DOUBLE_TRY(check_desc(desc, ZE_STRUCTURE_TYPE_KERNEL_DESC, "ze_kernel_desc_t"));
  if (out == nullptr || desc->pKernelName == nullptr) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  if (desc->flags > 3) return ZE_RESULT_ERROR_INVALID_ENUMERATION;
  const auto host = module->image->kernel(desc->pKernelName);
  if (!host) return ZE_RESULT_ERROR_INVALID_KERNEL_NAME;
  auto kernel = std::make_shared<Kernel>();
  kernel->module = module;
  kernel->name = desc->pKernelName;
  kernel->host = *host;
  kernel->values.resize(host->sizes.size());
  const auto shared = module->shared_arguments.find(kernel->name);
  if (shared != module->shared_arguments.end()) kernel->shared_argument = static_cast<int>(shared->second);
  const Locked lock(state().mutex);
  ++module->kernels;
  *out = state().kernels.add(std::move(kernel));
  return ZE_RESULT_SUCCESS;
}

ze_result_t do_zeKernelDestroy(ze_kernel_handle_t handle) {
  KernelRef kernel;
  LEVELZERO_DOUBLE_TRY(find(state().kernels, handle, kernel, "kernel"));
  const OneAtATime alone(kernel->busy, "kernel");
  if (alone.result() != ZE_RESULT_SUCCESS) return ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE;
  const Locked lock(state().mutex);
  const bool over = kernel->launches.load() == 0 || health_of(*kernel->module->device) != ZE_RESULT_SUCCESS ||
                    state().engine.stopped();
  if (!over) {
    return misuse("a kernel was destroyed while a launch of it was queued or ran",
                  ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE);
  }
  --kernel->module->kernels;
  state().kernels.remove(handle);
  return ZE_RESULT_SUCCESS;
}

ze_result_t do_zeKernelSetGroupSize(ze_kernel_handle_t handle, uint32_t x, uint32_t y, uint32_t z) {
  KernelRef kernel;
  LEVELZERO_DOUBLE_TRY(find(state().kernels, handle, kernel, "kernel"));
  const OneAtATime alone(kernel->busy, "kernel");
  LEVELZERO_DOUBLE_TRY(alone.result());
  constexpr uint32_t most = 1024;  // of a dimension and of all
  const bool each = x != 0 && y != 0 && z != 0 && x <= most && y <= most && z <= most;
  const bool fits = each && uint64_t{x} * y * z <= most;
  if (!fits) return ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION;
  kernel->group[0] = x;
  kernel->group[1] = y;
  kernel->group[2] = z;
  return ZE_RESULT_SUCCESS;
}

ze_result_t do_zeKernelSetArgumentValue(ze_kernel_handle_t handle, uint32_t index, size_t bytes, const void* value) {
  KernelRef kernel;
  LEVELZERO_DOUBLE_TRY(find(state().kernels, handle, kernel, "kernel"));
  const OneAtATime alone(kernel->busy, "kernel");
  LEVELZERO_DOUBLE_TRY(alone.result());
  const auto shared = static_cast<uint32_t>(kernel->shared_argument);
  if (kernel->shared_argument >= 0 && index == shared) {
    if (value != nullptr || bytes == 0)
      return misuse("local memory was set to a value", ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE);
    kernel->shared_bytes = bytes;
    return ZE_RESULT_SUCCESS;
  }
  if (kernel->shared_argument >= 0 && index > shared) --index;
  if (index >= kernel->values.size()) return ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_INDEX;
  if (bytes != kernel->host.sizes[index]) return ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE;
  auto& kept = kernel->values[index];
  kept.assign(bytes, 0);
  if (value != nullptr) std::memcpy(kept.data(), value, bytes);
  return ZE_RESULT_SUCCESS;
}

ze_result_t do_zeKernelSetIndirectAccess(ze_kernel_handle_t handle, ze_kernel_indirect_access_flags_t flags) {
  KernelRef kernel;
  LEVELZERO_DOUBLE_TRY(find(state().kernels, handle, kernel, "kernel"));
  const OneAtATime alone(kernel->busy, "kernel");
  LEVELZERO_DOUBLE_TRY(alone.result());
  return flags > 7 ? ZE_RESULT_ERROR_INVALID_ENUMERATION : ZE_RESULT_SUCCESS;
}

ze_result_t do_zeKernelGetProperties(ze_kernel_handle_t handle, ze_kernel_properties_t* properties) {
  KernelRef kernel;
  LEVELZERO_DOUBLE_TRY(find(state().kernels, handle, kernel, "kernel"));
  LEVELZERO_DOUBLE_TRY(check_desc(properties, ZE_STRUCTURE_TYPE_KERNEL_PROPERTIES, "ze_kernel_properties_t"));
  ze_kernel_properties_t with{};
  with.stype = properties->stype;
  with.pNext = properties->pNext;
  with.numKernelArgs = static_cast<uint32_t>(kernel->values.size()) + (kernel->shared_argument >= 0 ? 1U : 0U);
  with.maxSubgroupSize = 32;
  with.maxNumSubgroups = 32;
  *properties = with;
  return ZE_RESULT_SUCCESS;
}

}  // namespace anyplace::doubles::levelzero
