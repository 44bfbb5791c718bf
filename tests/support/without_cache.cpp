// SPDX-License-Identifier: Apache-2.0
// Linked into programs whose tests look at what a driver is asked for: there a buffer is the backend's own allocation.
#include <cstdlib>

namespace {

[[maybe_unused]] const int without_cache = setenv("ANYPLACE_ALLOCATOR", "caching:false", 1);

}  // namespace
