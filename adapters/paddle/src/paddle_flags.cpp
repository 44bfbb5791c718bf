// SPDX-License-Identifier: Apache-2.0
#include "paddle_flags.h"

#include <dlfcn.h>

#include <cstdlib>

#include "report.h"

namespace anyplace_paddle {
namespace {

constexpr const char* flag_name = "FLAGS_use_stride_kernel";
/// Where the wheel defines the flag, and as what: PHI_DEFINE_EXPORTED_bool of paddle/common/flags.h.
constexpr const char* library_name = "libphi_core.so";
constexpr const char* symbol_name = "_ZN12paddle_flags23FLAGS_use_stride_kernelE";

/// Null if Paddle has it elsewhere. The library stays open: it is Paddle's.
bool* find_flag() noexcept {
  void* const library = ::dlopen(library_name, RTLD_LAZY | RTLD_NOLOAD);
  return library == nullptr ? nullptr : static_cast<bool*>(::dlsym(library, symbol_name));
}

}  // namespace

void turn_views_off() noexcept {
  if (std::getenv(flag_name) != nullptr) return;  // Paddle has read it: the user decides
  if (bool* const flag = find_flag(); flag != nullptr)
    *flag = false;
  else
    report(
        "this Paddle keeps FLAGS_use_stride_kernel elsewhere; set FLAGS_use_stride_kernel=0 in the environment, else "
        "what follows a transpose or a slice fails for want of the kernel `contiguous`");
}

}  // namespace anyplace_paddle
