// SPDX-License-Identifier: Apache-2.0
#include "ranks/nccl_library.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <link.h>

#include <iterator>
#include <memory>
#include <mutex>

#include "runtime/no_destructor.h"
#include "runtime/text.h"

namespace anyplace::detail {
namespace {

std::string version_text(int version) {
  // 2.9 and later: 2 * 10000 + minor * 100 + patch. Before: 2 * 1000.
  if (version < 10000) return fmt::format("{}.{}.{}", version / 1000, version / 100 % 10, version % 100);
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

std::unique_ptr<NcclLibrary> open_library(const NcclFlavor& flavor, std::string& reason) {
  void* const handle = dlopen(flavor.library, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    const char* const said = dlerror();
    reason = fmt::format("{}; {}", bounded(said == nullptr ? flavor.library : said), flavor.package);
    return nullptr;
  }
  auto library = std::make_unique<NcclLibrary>();
  library->flavor = &flavor;
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
    reason = fmt::format("{} is version {}, which is too old{}: {} or newer is needed; {}", library->path,
                         version_text(library->version), missing.empty() ? "" : " and lacks " + missing,
                         version_text(nccl_least_version), flavor.package);
    return nullptr;
  }
  return library;
}

struct OpenedNccl {
  std::mutex mutex;  // guards libraries; libraries are opened under it
  std::unique_ptr<NcclLibrary> libraries[std::size(nccl_flavors)];
};
NoDestructor<OpenedNccl> opened_nccl;

}  // namespace

const NcclLibrary* nccl_library(const NcclFlavor& flavor, CommunicatorEngine& status) {
  status = {flavor.engine, flavor.backend, flavor.library, false, "", ""};
  const std::lock_guard lock(opened_nccl.value.mutex);
  std::unique_ptr<NcclLibrary>& library = opened_nccl.value.libraries[&flavor - nccl_flavors];
  if (!library) library = open_library(flavor, status.reason);
  if (!library) return nullptr;
  status.library = library->path;
  status.usable = true;
  status.version = version_text(library->version);
  return library.get();
}

}  // namespace anyplace::detail
