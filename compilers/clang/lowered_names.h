// SPDX-License-Identifier: Apache-2.0
// The names that kernels have in an image: of variables "anyplace_expression_0" and so on, which hold their addresses.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace anyplace::compilers {

/// The kernels' names in PTX, where each variable's line ends with one:
/// `.visible .const .align 8 .u64 anyplace_expression_0 = _Z5scaleIfEvPT_;`. None if a variable isn't there.
std::optional<std::vector<std::string>> names_in_ptx(std::string_view ptx, std::size_t count);

/// The same of a code object for AMD's devices, alone or in a bundle: a relocation writes the address of a kernel into
/// each variable.
std::optional<std::vector<std::string>> names_in_code_object(std::string_view image, std::size_t count);

}  // namespace anyplace::compilers
