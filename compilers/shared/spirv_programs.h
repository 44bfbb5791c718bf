// SPDX-License-Identifier: Apache-2.0
// The two programs that make SPIR-V and read it: Clang 14 or 15, and llvm-spirv of the same major version.
#pragma once

#include <string>

#include "anyplace/backend/compiler.h"

namespace anyplace::compilers {

/// anyplace_compiler_table.library of a compiler that works with both: the path is Clang's. ANYPLACE_KERNEL_CLANG and
/// ANYPLACE_LLVM_SPIRV name other programs than those in PATH. `what` begins the message about a missing one: "SPIR-V
/// is made".
anyplace_status spirv_programs(const std::string& what, anyplace_compiler_library* out);

/// The llvm-spirv for a Clang; "" if there is none.
std::string spirv_translator_of(const std::string& clang);

/// Whether a Clang that spirv_programs() gave is of version 14, which has no opaque pointers to be told not to write.
bool is_clang_14(const std::string& clang);

}  // namespace anyplace::compilers
