// SPDX-License-Identifier: Apache-2.0
// The two programs that make SPIR-V and read it: Clang, and llvm-spirv of the same major version.
#pragma once

#include <string>
#include <vector>

#include "anyplace/backend/compiler.h"

namespace anyplace::compilers {

/// anyplace_compiler_table.library of a compiler that works with both: the path is Clang's, of version 14 to `newest`.
/// ANYPLACE_KERNEL_CLANG and ANYPLACE_LLVM_SPIRV name other programs than those in PATH. `what` begins the message
/// about a missing one: "SPIR-V is made".
anyplace_status spirv_programs(const std::string& what, int newest, anyplace_compiler_library* out);

/// The llvm-spirv for a Clang; "" if there is none.
std::string spirv_translator_of(const std::string& clang);

/// The version of a Clang that spirv_programs() gave.
int clang_major(const std::string& clang);

/// Words with which a Clang that spirv_programs() gave writes pointers with their types, as 14 always does, and
/// llvm-spirv of 15 and 16 knows them. From 17 on there are only pointers without.
std::vector<std::string> typed_pointer_words(const std::string& clang);

}  // namespace anyplace::compilers
