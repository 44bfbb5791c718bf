// SPDX-License-Identifier: Apache-2.0
// The version of the headers, and of the library at run time. It is written here only: CMake reads this file.
#pragma once

#include "export.h"

/// The version of the headers, as text.
#define ANYPLACE_VERSION "0.1.0"

/// The same in numbers, for the preprocessor.
#define ANYPLACE_VERSION_MAJOR 0
/// The second number: before 1.0 another one may break a program.
#define ANYPLACE_VERSION_MINOR 1
/// The third number: it breaks nothing.
#define ANYPLACE_VERSION_PATCH 0

/// Whether the headers' version is this one or a later one: #if ANYPLACE_VERSION_AT_LEAST(0, 2, 0)
#define ANYPLACE_VERSION_AT_LEAST(major, minor, patch) \
  (ANYPLACE_VERSION_MAJOR > (major) ||                 \
   (ANYPLACE_VERSION_MAJOR == (major) &&               \
    (ANYPLACE_VERSION_MINOR > (minor) || (ANYPLACE_VERSION_MINOR == (minor) && ANYPLACE_VERSION_PATCH >= (patch)))))

namespace anyplace {

/// The version of the library that is loaded, as "1.2.3". Never throws.
ANYPLACE_API const char* version() noexcept;

}  // namespace anyplace
