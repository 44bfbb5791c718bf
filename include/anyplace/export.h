// SPDX-License-Identifier: Apache-2.0
// Which symbols the library exports; all others are hidden. And what a program must be compiled with to use it.
#pragma once

// An include that can't be found ends the compilation there, so that this is the only error.
#if defined(__cplusplus) && __cplusplus < 202002L
#include "anyplace needs C++20: compile with -std=c++20 or newer (CMake: CMAKE_CXX_STANDARD 20)"
#endif

// Containers have another layout with it, so that the program and the library would overwrite each other's.
#if defined(_GLIBCXX_DEBUG) && !defined(ANYPLACE_BUILT_WITH_GLIBCXX_DEBUG)
#error \
    "_GLIBCXX_DEBUG is defined, and the anyplace library was built without it: use _GLIBCXX_ASSERTIONS, or build anyplace with -D_GLIBCXX_DEBUG, too"
#endif

#if defined(__GNUC__)
/// Marks what the library exports.
#define ANYPLACE_API __attribute__((visibility("default")))
#else
#define ANYPLACE_API
#endif

/// Marks a function that is called millions of times: it is called by its address instead of a stub that jumps to it.
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__)
#define ANYPLACE_HOT __attribute__((noplt))
#else
#define ANYPLACE_HOT
#endif
