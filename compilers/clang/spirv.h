// SPDX-License-Identifier: Apache-2.0
// SPIR-V, by two programs: Clang 14 to 19 makes bitcode, and llvm-spirv of the same major version translates it.
#pragma once

#include "anyplace/backend/compiler.h"

namespace anyplace::compilers {

/// anyplace_compiler_table.compile for SPIR-V of version 1.2.
anyplace_status compile_spirv(const anyplace_compile_request& request, const anyplace_compile_sink& sink);

}  // namespace anyplace::compilers
