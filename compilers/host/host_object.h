// SPDX-License-Identifier: Apache-2.0
// Makes a shared object for the host of CUDA C++, by the machine's C++ compiler.
#pragma once

#include <cstdint>
#include <string>

#include "anyplace/backend/compiler.h"

namespace anyplace::compilers {

/// anyplace_compiler_table.library: the C++ compiler. In PATH that is the newest Clang that makes loops of barriers
/// (docs/barriers.md), else c++, g++ or clang++. ANYPLACE_CXX names another one.
anyplace_status host_library(void* self, std::uint32_t format, anyplace_compiler_library* out);

/// anyplace_compiler_table.supports: this machine, and of x86-64 its levels.
anyplace_status host_supports(void* self, std::uint32_t format, const char* architecture);

/// Compiles the request, and gives the sink all but the image, which is put into `object`.
anyplace_status make_host_object(const anyplace_compile_request& request, const anyplace_compile_sink& sink,
                                 std::string& object);

}  // namespace anyplace::compilers
