// SPDX-License-Identifier: Apache-2.0
//
// What the kernels of a SPIR-V image take. OpenCL's own query of a kernel's parameters need not work for SPIR-V
// (CL_KERNEL_ARG_INFO_NOT_AVAILABLE), and the image says it. After Khronos' SPIR-V specification 1.6, chapters 2.3
// (physical layout), 3.7 (storage classes) and 3.42 (instructions).
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace opencl_backend {

/// How a launch sets a parameter of a kernel.
enum class Parameter { value, address, shared };

/// What is wrong with the layout of an image, or "". Drivers are known to crash where this finds something.
std::string spirv_fault(const void* image, std::size_t bytes);

/// The parameters of each kernel by its name. Reads no further than `bytes`; what it doesn't understand it leaves out,
/// so an image that no driver takes may give anything.
std::map<std::string, std::vector<Parameter>> spirv_kernels(const void* image, std::size_t bytes);

}  // namespace opencl_backend
