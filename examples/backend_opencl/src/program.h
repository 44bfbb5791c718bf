// SPDX-License-Identifier: Apache-2.0
//
// A module's image as a program that is built for one device: OpenCL C as text, or SPIR-V where the driver takes it.
#pragma once

#include "device.h"
#include "opencl.h"

namespace opencl_backend {

/// Throws INVALID_IMAGE with the compiler's log.
Program build_program(Device& device, const anyplace_module_desc& desc);

}  // namespace opencl_backend
