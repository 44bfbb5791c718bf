// SPDX-License-Identifier: Apache-2.0
// Which symbols the library exports; all others are hidden.
#pragma once

#if defined(__GNUC__)
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
