// SPDX-License-Identifier: Apache-2.0
#include "loader_check.h"

#include <dlfcn.h>

#include <string>

#include "log.h"

namespace anyplace_ur {

namespace {

constexpr const char* functions[] = {
#define _UR_API(function) #function,
#include <unified-runtime/ur_api_funcs.def>
#undef _UR_API
};

/// The first function of the headers that the loader lacks; null if it has all.
const char* first_missing() {
  void* const loader = dlopen("libur_loader.so.0", RTLD_NOW | RTLD_NOLOAD);
  if (loader == nullptr) return nullptr;
  const char* missing = nullptr;
  for (const char* function : functions) {
    if (missing == nullptr && dlsym(loader, function) == nullptr) missing = function;
  }
  dlclose(loader);
  return missing;
}

bool check() noexcept {
  try {
    const char* const missing = first_missing();
    if (missing == nullptr) return true;
    log_always(
        std::string("this libur_loader.so.0 has no ")
            .append(missing)
            .append(
                ": it is of an older release than the headers that the adapter was built with, and its tables differ; "
                "build the adapter with the headers of the wheel that runs (-DUR_INCLUDE_DIR), or install "
                "intel-sycl-rt 2026.2"));
  } catch (...) {
    // No memory for the message; the answer stands.
  }
  return false;
}

}  // namespace

bool loader_is_known() noexcept {
  static const bool known = check();
  return known;
}

}  // namespace anyplace_ur
