// SPDX-License-Identifier: Apache-2.0
// Finds the kernels in CUDA C++, so that they can be exported without ANYPLACE_EXPORT_KERNELS.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace anyplace::compilers {

struct KernelSource {
  /// The source, in which kernels that were `extern "C" __global__` are `static`: the function that is exported has the
  /// kernel's name. Every line is where it was.
  std::string text;
  /// The names of those kernels, and of those that ANYPLACE_EXPORT_KERNELS names, each once.
  std::vector<std::string> names;
};

/// Comments and literals are skipped. A kernel that a macro makes is found only if ANYPLACE_EXPORT_KERNELS names it.
KernelSource read_kernels(std::string_view source);

}  // namespace anyplace::compilers
