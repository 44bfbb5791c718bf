// SPDX-License-Identifier: Apache-2.0
// The version of the headers, and of the library at run time. It is written here only: CMake reads this file.
#pragma once

#include "export.h"

#define ANYPLACE_VERSION "0.1.0"

namespace anyplace {

/// The version of the library that is loaded, as "1.2.3". Never throws.
ANYPLACE_API const char* version() noexcept;

}  // namespace anyplace
