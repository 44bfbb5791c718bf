// SPDX-License-Identifier: Apache-2.0
// Finds the kernels in CUDA C++, so that they can be exported without ANYPLACE_EXPORT_KERNELS.
#pragma once

#include <string>
#include <string_view>

namespace anyplace::compilers {

struct KernelSource {
  /// The source, in which kernels that were `extern "C" __global__` are `static`: the function that is exported has the
  /// kernel's name. Every line has the number that it had.
  std::string text;
  /// What stands behind it to export those kernels, and those that ANYPLACE_EXPORT_KERNELS names. One that the
  /// preprocessor leaves out isn't exported.
  std::string exports;
};

/// Comments and literals are skipped. A kernel that a macro makes is found only if ANYPLACE_EXPORT_KERNELS names it.
/// `name` is the source's in messages.
KernelSource read_kernels(std::string_view source, std::string_view name);

}  // namespace anyplace::compilers
