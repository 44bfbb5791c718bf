// SPDX-License-Identifier: Apache-2.0
// cmake/kernels/host_threads.cpp, compiled when anyplace is built: it is two thirds of what the compiler would have to
// do for a small kernel. CMake makes the bytes of the object file.
#pragma once

#include <span>

namespace anyplace::compilers {

extern const std::span<const unsigned char> host_threads_object;

}  // namespace anyplace::compilers
