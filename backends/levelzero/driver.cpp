// SPDX-License-Identifier: Apache-2.0
#include "driver.h"

#include <dlfcn.h>
#include <link.h>

#include <cerrno>
#include <cstring>

#include "anyplace/backend/kit/shortage.h"
#include "error.h"

namespace anyplace::levelzero {

Api loaded_api{};

namespace {

constexpr const char* library_name = "libze_loader.so.1";

/// Never closed: the drivers' threads and exit handlers live behind it.
void* library = nullptr;

/// Where the file is that the linker found; its name where that can't be told.
std::string library_path() {
  const link_map* map = nullptr;
  if (dlinfo(library, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr || *map->l_name == '\0') return library_name;
  return map->l_name;
}

void open_library() {
  errno = 0;
  library = dlopen(library_name, RTLD_NOW | RTLD_LOCAL);
  const int error = errno;
  if (library != nullptr) return;
  const char* const said = dlerror();
  if (const int shortage = anyplace::backend::linker_shortage(error, said); shortage != 0) {
    throw Failure(ANYPLACE_STATUS_OUT_OF_MEMORY,
                  std::string(library_name) + " can't be opened for now: " + std::strerror(shortage) + " (" +
                      (said == nullptr ? "no reason given" : said) + ")",
                  shortage, "dlopen");
  }
  refuse(ANYPLACE_STATUS_LIBRARY_MISSING,
         std::string(library_name) + " can't be opened (" + (said == nullptr ? "no reason given" : said) +
             ")\nit is the Level Zero loader: install it (Debian: apt-get install libze1), and a driver for the "
             "device, which for Intel's GPUs is libze_intel_gpu.so.1");
}

enum class Need { REQUIRED, OPTIONAL };

void require(Need need, const void* found, const char* name) {
  if (need == Need::OPTIONAL || found != nullptr) return;
  refuse(ANYPLACE_STATUS_LIBRARY_MISSING,
         library_path() + " lacks " + name +
             ", which this backend can't do without: it is no Level Zero loader, or too old\ninstall one of version "
             "1.4 of the API or newer (Debian: apt-get install libze1)");
}

void fill_table() {
#define ANYPLACE_LEVELZERO_FIND(need, Name)                                            \
  loaded_api.Name = reinterpret_cast<decltype(Api::Name)>(dlsym(library, "ze" #Name)); \
  require(Need::need, reinterpret_cast<const void*>(loaded_api.Name), "ze" #Name);
  ANYPLACE_LEVELZERO_ENTRIES(ANYPLACE_LEVELZERO_FIND)
#undef ANYPLACE_LEVELZERO_FIND
#define ANYPLACE_LEVELZERO_FIND(Name, parameters) \
  loaded_api.Name = reinterpret_cast<decltype(Api::Name)>(dlsym(library, "ze" #Name));
  ANYPLACE_LEVELZERO_NEWER_ENTRIES(ANYPLACE_LEVELZERO_FIND)
#undef ANYPLACE_LEVELZERO_FIND
}

void start() {
  // All kinds of drivers: which ones a process has is decided by its first zeInit, and others may want theirs.
  const ze_result_t result = api().Init(0);
  if (result == ZE_RESULT_SUCCESS) return;
  if (result == ZE_RESULT_ERROR_UNINITIALIZED) {
    fail_call(result, "zeInit", ANYPLACE_STATUS_NO_DRIVER,
              library_path() +
                  " finds no driver that works: install the device's (for Intel's GPUs libze_intel_gpu.so.1, in the "
                  "package libze-intel-gpu1 or intel-level-zero-gpu), and see that this user may open "
                  "/dev/dri/renderD* (often: be in the group render); in a container, start it with --device /dev/dri");
  }
  anyplace_status status = status_of(result);
  if (status != ANYPLACE_STATUS_LIBRARY_MISSING) status = ANYPLACE_STATUS_NO_DRIVER;
  fail_call(result, "zeInit", status, "asked through " + library_path());
}

}  // namespace

void load_loader() {
  open_library();
  fill_table();
  start();
}

std::string version_text(ze_api_version_t version) {
  const auto number = static_cast<uint32_t>(version);
  return std::to_string(ZE_MAJOR_VERSION(number)) + "." + std::to_string(ZE_MINOR_VERSION(number));
}

}  // namespace anyplace::levelzero
