// SPDX-License-Identifier: Apache-2.0
#include "vendor_scope.h"

#include <dlfcn.h>

#include <cstdint>
#include <string_view>

namespace anyplace::engines {
namespace {

/// Returns a function of a library that the backend has loaded; null if it hasn't loaded the library.
template <class Function>
Function loaded(const char* library, const char* name) noexcept {
  void* const handle = dlopen(library, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
  return handle == nullptr ? nullptr : reinterpret_cast<Function>(dlsym(handle, name));
}

struct Cuda {
  int (*push)(void* context) = loaded<int (*)(void*)>("libcuda.so.1", "cuCtxPushCurrent_v2");
  int (*pop)(void** context) = loaded<int (*)(void**)>("libcuda.so.1", "cuCtxPopCurrent_v2");
};
const Cuda& cuda() noexcept {
  static const Cuda entries;
  return entries;
}

struct Hip {
  int (*get)(int* device) = nullptr;
  int (*set)(int device) = nullptr;
  Hip() noexcept {
    for (const char* const library : {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so"}) {
      get = loaded<int (*)(int*)>(library, "hipGetDevice");
      set = loaded<int (*)(int)>(library, "hipSetDevice");
      if (get != nullptr && set != nullptr) return;
    }
  }
};
const Hip& hip() noexcept {
  static const Hip entries;
  return entries;
}

}  // namespace

VendorScope::VendorScope(const anyplace_engine_device& device) noexcept {
  const std::string_view backend = device.backend;
  if (backend == "cuda" && cuda().push != nullptr && cuda().pop != nullptr) {
    if (cuda().push(reinterpret_cast<void*>(static_cast<std::uintptr_t>(device.native_context))) == 0) {
      kind_ = Kind::cuda;
    }
  } else if (backend == "hip" && hip().get != nullptr && hip().set != nullptr) {
    if (hip().get(&before_) == 0 && hip().set(device.index) == 0) kind_ = Kind::hip;
  }
}

VendorScope::~VendorScope() {
  void* popped = nullptr;
  if (kind_ == Kind::cuda) cuda().pop(&popped);
  if (kind_ == Kind::hip) hip().set(before_);
}

}  // namespace anyplace::engines
