// SPDX-License-Identifier: Apache-2.0
// The archive of functions/ and of host_threads.cpp, compiled when anyplace is built. CMake makes the bytes.
#pragma once

#include <span>

namespace anyplace::compilers {

extern const std::span<const unsigned char> opencl_functions_archive;

}  // namespace anyplace::compilers
