// SPDX-License-Identifier: Apache-2.0
// Finds the kernels in CUDA C++, so that they can be exported without ANYPLACE_EXPORT_KERNELS.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "anyplace/backend/compiler.h"

namespace anyplace::compilers {

struct KernelSource {
  /// The source, in which `extern __shared__ T name[];` is ANYPLACE_DYNAMIC_SHARED(T, name), and kernels that were
  /// `extern "C" __global__` are `__kernel__` (device_code/export.h): the function that is exported has the kernel's
  /// name. Every line has the number that it had.
  std::string text;
  /// What stands behind it to export those kernels, and those that ANYPLACE_EXPORT_KERNELS names. One that the
  /// preprocessor leaves out isn't exported.
  std::string exports;
  bool has_kernel = false;  ///< extern "C" or named by ANYPLACE_EXPORT_KERNELS, also if the preprocessor leaves it out
  bool has_list = false;    ///< there is an ANYPLACE_EXPORT_KERNELS

  /// A __global__ that isn't extern "C", or that stands in a macro, whose kernels aren't found.
  struct Hidden {
    std::string place;  ///< "kernels.cu:12"
    std::string name;   ///< "" in a macro
  };
  std::vector<Hidden> hidden;
};

/// Comments and literals are skipped. A kernel that a macro makes is found only if ANYPLACE_EXPORT_KERNELS names it.
/// What comes between `extern "C"` and `__global__` doesn't matter, and a kernel may be in a namespace. `name` is the
/// source's in messages.
KernelSource read_kernels(std::string_view source, std::string_view name);

/// For a compiler that exports kernels by itself. Tells the log of each kernel that can't be launched by its name,
/// which compilers take for what was meant.
void warn_of_kernels(const anyplace_compile_request& request, const anyplace_compile_sink& sink);

/// The file for a compiler that exports no kernel by itself: the dialect's header, the request's source, and behind it
/// what exports its kernels and those of the name expressions, of which this tells the sink. It is compiled with
/// ANYPLACE_RUN_TIME_SOURCE defined. Messages have the numbers of the caller's lines.
std::string unit_with_exports(const anyplace_compile_request& request, const anyplace_compile_sink& sink);

}  // namespace anyplace::compilers
