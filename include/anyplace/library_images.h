// SPDX-License-Identifier: Apache-2.0
//
// What the library itself brings of kernels: random numbers (random.h), sums of collectives (communicator.h, comm.h).
// Which images are in it depends on what it was built with (ANYPLACE_IMAGES of CMake, docs/kernels.md); `anyplace
// version` shows them. Not included by anyplace.h: it is for tools.
#pragma once

#include <string>
#include <vector>

#include "export.h"
#include "kernel_images.h"

namespace anyplace {

/// The library's own kernels, each set with all its images. They live as long as the library. From any thread, as what
/// follows; neither throws anything but std::bad_alloc.
ANYPLACE_API std::vector<const KernelImages*> library_kernels();

/// The architectures that an image was compiled for: its own, or those of the code objects in a bundle of Clang's; none
/// if it doesn't say, as for PTX and SPIR-V of any device.
ANYPLACE_API std::vector<std::string> architectures_of(const KernelImage& image);

}  // namespace anyplace
