// SPDX-License-Identifier: Apache-2.0
#include "module.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "device.h"

namespace anyplace::levelzero {
namespace {

constexpr std::uint32_t spirv_magic = 0x07230203;

std::string version_text(std::uint32_t version) {
  return std::to_string(ZE_MAJOR_VERSION(version)) + "." + std::to_string(ZE_MINOR_VERSION(version));
}

/// Why the image can't be SPIR-V that the device takes; empty if its header shows no problem.
std::string spirv_problem(const Device& device, const anyplace_module_desc& desc) {
  constexpr std::uint64_t header_bytes = 20;
  if (desc.image_bytes < header_bytes) return "the SPIR-V image is cut off: its header alone has 20 bytes";
  if (desc.image_bytes % 4 != 0) return "the SPIR-V image is cut off: it consists of words of 4 bytes";
  std::uint32_t magic = 0;
  std::memcpy(&magic, desc.image, sizeof(magic));
  if (magic == __builtin_bswap32(spirv_magic)) return "the SPIR-V image is of a machine with the other byte order";
  if (magic != spirv_magic) return "the image doesn't begin as SPIR-V does";
  // Drivers accept newer minor versions than they declare, but some compilers end the process when they get a major
  // version that they don't know. So only the major version is checked.
  std::uint32_t version = 0;
  std::memcpy(&version, static_cast<const std::byte*>(desc.image) + 4, sizeof(version));
  const std::uint32_t major = version >> 16, minor = version >> 8 & 0xff;
  if (major <= 1) return "";
  const std::uint32_t most = device.spirv_version();
  if (major <= ZE_MAJOR_VERSION(most)) return "";
  return "the image is SPIR-V " + std::to_string(major) + "." + std::to_string(minor) + ", and the driver takes " +
         version_text(most);
}

/// Returns the log's text and destroys the log.
std::string log_text(ze_module_build_log_handle_t log) {
  if (log == nullptr) return "";
  std::string text;
  std::size_t size = 0;
  if (api().ModuleBuildLogGetString(log, &size, nullptr) == ZE_RESULT_SUCCESS && size > 1) {
    text.resize(size);
    if (api().ModuleBuildLogGetString(log, &size, text.data()) != ZE_RESULT_SUCCESS) text.clear();
    text.resize(std::min(text.size(), std::strlen(text.c_str())));
  }
  api().ModuleBuildLogDestroy(log);
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

[[noreturn]] void fail_build(Device& device, const anyplace_module_desc& desc, ze_result_t result,
                             const std::string& log) {
  if (Results::is_sticky(result) || device.lost()) device.fail(result, "zeModuleCreate");
  anyplace_status status = Results::status_of(result);
  // This backend makes all other arguments, so only the image or the options can be invalid.
  if (status == ANYPLACE_STATUS_INVALID_ARGUMENT || status == ANYPLACE_STATUS_UNSUPPORTED) {
    status = ANYPLACE_STATUS_INVALID_IMAGE;
  }
  std::string more;
  if (status == ANYPLACE_STATUS_INVALID_IMAGE) {
    more = desc.format == ANYPLACE_IMAGE_NATIVE
               ? "a native binary must be built for this device, which is " + device.architecture() +
                     " (ocloc compile -device " + device.architecture() + ")"
               : "the driver takes SPIR-V for OpenCL kernels up to version " + version_text(device.spirv_version());
  }
  if (!log.empty()) more += (more.empty() ? "the compiler's log:\n" : "; the compiler's log:\n") + log;
  Results::fail(result, "zeModuleCreate", status, more);
}

}  // namespace

// ---- Module --------------------------------------------------------------------------------------------------------

Module::Module(Device& device, const anyplace_module_desc& desc) : device_(device) {
  if (desc.format == ANYPLACE_IMAGE_SPIRV) {
    if (const std::string problem = spirv_problem(device, desc); !problem.empty())
      refuse(ANYPLACE_STATUS_INVALID_IMAGE, problem);
  }
  for (std::uint32_t i = 0; i < desc.metadata_count; ++i) {
    const auto* const at = reinterpret_cast<const std::byte*>(desc.metadata) + std::size_t{i} * desc.metadata_stride;
    const auto& one = *reinterpret_cast<const anyplace_kernel_metadata*>(at);
    shared_arguments_.emplace(one.name, one.shared_argument);
  }
  device.retired_modules().sweep();
  ze_module_desc_t made{};
  made.stype = ZE_STRUCTURE_TYPE_MODULE_DESC;
  made.format = desc.format == ANYPLACE_IMAGE_NATIVE ? ZE_MODULE_FORMAT_NATIVE : ZE_MODULE_FORMAT_IL_SPIRV;
  made.inputSize = desc.image_bytes;
  made.pInputModule = static_cast<const std::uint8_t*>(desc.image);
  made.pBuildFlags = desc.options;
  ze_module_build_log_handle_t log = nullptr;
  const ze_result_t result = api().ModuleCreate(device.context(), device.native(), &made, &native_, &log);
  const std::string said = log_text(log);
  if (result != ZE_RESULT_SUCCESS) fail_build(device, desc, result, said);
  check_made(native_, "zeModuleCreate");
  try {
    device.retired_modules().add(*this);
  } catch (...) {
    api().ModuleDestroy(native_);
    throw;
  }
}

int Module::shared_argument_of(const char* kernel) const {
  const auto known = shared_arguments_.find(kernel);
  return known == shared_arguments_.end() ? -1 : known->second;
}

Kernel& Module::kernel(const char* name) {
  const std::lock_guard lock(mutex_);
  if (const auto known = kernels_.find(name); known != kernels_.end()) return *known->second;
  device_.require();
  const auto added = kernels_.emplace(name, nullptr).first;
  try {
    added->second = std::make_unique<Kernel>(device_, native_, name, shared_argument_of(name));
  } catch (...) {
    kernels_.erase(added);
    throw;
  }
  return *added->second;
}

void Module::global(const char* name, anyplace_global& out) const {
  device_.require();
  if (api().ModuleGetGlobalPointer == nullptr) {
    refuse(ANYPLACE_STATUS_UNSUPPORTED, "the loader has no zeModuleGetGlobalPointer");
  }
  std::size_t bytes = 0;
  void* address = nullptr;
  const ze_result_t result = api().ModuleGetGlobalPointer(native_, name, &bytes, &address);
  if (result == ZE_RESULT_ERROR_INVALID_GLOBAL_NAME) {
    Results::fail(
        result, "zeModuleGetGlobalPointer", ANYPLACE_STATUS_NO_SUCH_GLOBAL,
        std::string("the module has no variable \"") + name + "\"; compilers mangle names that aren't extern \"C\"");
  }
  device_.check(result, "zeModuleGetGlobalPointer");
  out.address = reinterpret_cast<std::uintptr_t>(address);
  out.bytes = bytes;
}

ze_result_t Module::end() noexcept {
  ze_result_t first = ZE_RESULT_SUCCESS;
  for (const auto& [name, kernel] : kernels_) {
    const ze_result_t result = kernel->end();
    if (first == ZE_RESULT_SUCCESS) first = result;
  }
  kernels_.clear();
  const ze_result_t result = api().ModuleDestroy(native_);
  return first == ZE_RESULT_SUCCESS ? result : first;
}

void Module::unload(Module* module) {
  Device& device = module->device_;
  if (!device.lost() && device.retired_modules().keep_until_over(*module)) return;
  const std::unique_ptr<Module> ended(module);
  device.retired_modules().forget(*module);
  device.ending().check(ended->end(), "zeModuleDestroy");
}

// ---- RetiredModules ------------------------------------------------------------------------------------------------

void RetiredModules::add(Module& module) {
  const std::lock_guard lock(mutex_);
  modules_.push_back({&module, false, {}});
}

void RetiredModules::forget(Module& module) noexcept {
  const std::lock_guard lock(mutex_);
  modules_.erase(
      std::remove_if(modules_.begin(), modules_.end(), [&](const Entry& entry) { return entry.module == &module; }),
      modules_.end());
}

bool RetiredModules::keep_until_over(Module& module) {
  PendingWork pending;
  bool known = false;
  try {
    sweep();
    pending = device_.work().pending();
    known = true;
    if (pending.is_over()) return false;
  } catch (...) {
    // A lost device doesn't need the module any more. After any other failure it isn't known what is pending, and the
    // module is kept until the exit.
    if (device_.lost()) return false;
  }
  const std::lock_guard lock(mutex_);
  for (Entry& entry : modules_) {
    if (entry.module != &module) continue;
    entry.retired = known;
    entry.pending = std::move(pending);
  }
  return true;
}

void RetiredModules::sweep() {
  std::vector<std::unique_ptr<Module>> over;
  {
    const std::lock_guard lock(mutex_);
    over.reserve(modules_.size());
    for (std::size_t i = modules_.size(); i-- > 0;) {
      if (!modules_[i].retired || !modules_[i].pending.is_over()) continue;
      over.emplace_back(modules_[i].module);
      std::swap(modules_[i], modules_.back());
      modules_.pop_back();
    }
  }
  const Ending ending = device_.ending();
  ze_result_t first = ZE_RESULT_SUCCESS;
  for (const auto& module : over) {
    const ze_result_t result = module->end();
    if (first == ZE_RESULT_SUCCESS) first = result;
  }
  ending.check(first, "zeModuleDestroy");
}

void RetiredModules::close(FirstFailure& failure) noexcept {
  const std::lock_guard lock(mutex_);
  for (const Entry& entry : modules_) {
    const std::unique_ptr<Module> ended(entry.module);
    failure.add(ended->end(), "zeModuleDestroy");
  }
  modules_.clear();
}

}  // namespace anyplace::levelzero
