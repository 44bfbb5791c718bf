// SPDX-License-Identifier: Apache-2.0
// A library that has kernels of its own, which its users load.
#include "library_kernels.h"

extern const anyplace::KernelImages& kernels_of_library();
const anyplace::KernelImages& kernels_of_library() { return library_kernels; }
