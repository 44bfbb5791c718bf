// SPDX-License-Identifier: Apache-2.0
// OpenCL's functions of vectors: functions in LLVM's text that call those of the elements' type.
#pragma once

#include <set>
#include <string>

#include "ir_text.h"

namespace anyplace::compilers {

/// The text of a function with a vector among its types, `declared.name` without address spaces; empty if it has none.
/// Its pointers are written with their types.
/// `called` gets the declarations of what it calls.
std::string vector_function(const IrFunction& declared, std::set<std::string>& called);

}  // namespace anyplace::compilers
