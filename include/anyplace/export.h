// SPDX-License-Identifier: Apache-2.0
// What the library shows to its users, as opposed to what it keeps hidden.
#pragma once

#if defined(__GNUC__)
#define ANYPLACE_API __attribute__((visibility("default")))
#else
#define ANYPLACE_API
#endif

/// Of a function that is called millions of times: by its address, not through a stub that jumps to it.
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__)
#define ANYPLACE_HOT __attribute__((noplt))
#else
#define ANYPLACE_HOT
#endif
