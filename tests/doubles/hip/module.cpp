// SPDX-License-Identifier: Apache-2.0
//
// Modules: the stand-in formats (stand_in.h) loaded; functions by name.
#include <cstring>
#include <utility>

#include "../engine/elf_mark.h"
#include "runtime.h"
#include "stand_in.h"

namespace anyplace::doubles::hip {
namespace {

int image_of_code_object(std::string_view object, std::string& image) {
  if (object.size() < 64 || !is_elf_for(object.data(), amd_machine)) return hipErrorInvalidImage;
  if (machine_of_code_object(object.data()) != machine_of(config().arch)) return hipErrorNoBinaryForGpu;
  auto found = unmark_elf(object);
  if (!found) return hipErrorNoBinaryForGpu;  // a true one, and the double runs stand-ins alone
  image = std::move(*found);
  return hipSuccess;
}

/// The entry for the device's architecture.
int image_of_bundle(const void* bundle, std::string& image) {
  int result = hipErrorNoBinaryForGpu;
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

int host_image_of(const void* bytes, std::string& image) {
  if (begins_with(bytes, bundle_magic)) return image_of_bundle(bytes, image);
  if (!begins_with(bytes,
                   "\x7f"
                   "ELF"))
    return hipErrorInvalidImage;
  return image_of_code_object({static_cast<const char*>(bytes), elf_bytes(bytes)}, image);
}

}  // namespace

HIP_DOUBLE_ENTRY(hipModuleLoadData)(hipModule_t* module, const void* image) {
  if (is_null(module, image)) return hipErrorInvalidValue;
  ContextRef context;
  if (const int result = current_context(context); result != hipSuccess) return result;
  std::string bytes;
  std::string why;
  const int result = host_image_of(image, bytes);
  return result == hipSuccess ? add_module(module, context, bytes, {}, why) : result;
}

HIP_DOUBLE_ENTRY(hipModuleUnload)(hipModule_t module) { return unload_module(module, nullptr); }

HIP_DOUBLE_ENTRY(hipModuleGetFunction)(hipFunction_t* function, hipModule_t module, const char* name) {
  return get_function(function, module, name);
}

HIP_DOUBLE_ENTRY(hipModuleGetGlobal)(hipDeviceptr_t* address, size_t* bytes, hipModule_t module, const char* name) {
  return get_variable(address, bytes, module, name);
}

}  // namespace anyplace::doubles::hip
