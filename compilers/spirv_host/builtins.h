// SPDX-License-Identifier: Apache-2.0
// Makes plain variables of SPIR-V's built-in ones, which say where a work item is.
#pragma once

#include <string>
#include <string_view>

namespace anyplace::compilers {

/// The image with each variable that is decorated as built-in number N turned into one that is imported by the name
/// anyplace_builtin_N. llvm-spirv would make calls of functions of their uses, but only of those that it knows, and
/// ends itself at others. What isn't SPIR-V comes out as it is.
std::string with_plain_builtins(std::string_view image);

}  // namespace anyplace::compilers
