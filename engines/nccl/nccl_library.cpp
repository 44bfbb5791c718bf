// SPDX-License-Identifier: Apache-2.0
#include "nccl_library.h"

#include <dlfcn.h>
#include <link.h>

#include <memory>
#include <mutex>

namespace anyplace::nccl {
namespace {

std::unique_ptr<NcclLibrary> open_library(std::string& reason) {
  void* const handle = dlopen(flavor.library, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* const said = dlerror();
    reason = std::string(said == nullptr ? flavor.library : said) + "; " + flavor.package;
    return nullptr;
  }
  auto library = std::make_unique<NcclLibrary>();
  const link_map* map = nullptr;
  library->path = dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr ? map->l_name : flavor.library;
  std::string missing;
#define ANYPLACE_NCCL_READ(name, required, result, parameters)                     \
  library->name = reinterpret_cast<decltype(library->name)>(dlsym(handle, #name)); \
  if (library->name == nullptr && (required) != 0 && missing.empty()) missing = #name;
  ANYPLACE_NCCL_ENTRIES(ANYPLACE_NCCL_READ)
#undef ANYPLACE_NCCL_READ
  if (library->ncclGetVersion != nullptr) library->ncclGetVersion(&library->version);
  if (library->version < nccl_least_version || !missing.empty()) {
    reason = library->path + " is version " + version_text(library->version) + ", which is too old" +
             (missing.empty() ? "" : " and lacks " + missing) + ": " + version_text(nccl_least_version) +
             " or newer is needed; " + flavor.package;
    return nullptr;
  }
  return library;
}

constinit std::mutex opening;  // guards writing nccl; the library is opened under it

}  // namespace

constinit const NcclLibrary* nccl = nullptr;  // never freed: it is called until the process has ended

std::string version_text(int version) {
  // Since 2.9 a version is major * 10000 + minor * 100 + patch; before, it was major * 1000 + minor * 100 + patch.
  const int major = version < 10000 ? 1000 : 10000;
  return std::to_string(version / major) + "." + std::to_string(version / 100 % (major / 100)) + "." +
         std::to_string(version % 100);
}

bool open_nccl(std::string& reason) {
  const std::lock_guard lock(opening);
  if (nccl == nullptr) nccl = open_library(reason).release();
  return nccl != nullptr;
}

}  // namespace anyplace::nccl
