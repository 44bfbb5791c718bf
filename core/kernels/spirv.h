// SPDX-License-Identifier: Apache-2.0
//
// What the library itself reads of a SPIR-V image. OpenCL's and Level Zero's drivers get dynamic shared memory as an
// argument, and no call of theirs says which one it is. Of an image that needs doubles on a device without them they
// say whatever their compilers come upon first.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "anyplace/kernel.h"

namespace anyplace::detail {

/// The kernels of the image that have exactly one parameter which points to shared memory, and its index. Reads no
/// further than the image's end, and leaves out what it doesn't understand.
std::vector<KernelMetadata> shared_arguments_in_spirv(std::span<const std::byte> image);

/// Whether the image declares that it computes with 64-bit floating point. A device without that can take none of the
/// image's kernels, not even those that don't.
bool spirv_needs_doubles(std::span<const std::byte> image);

}  // namespace anyplace::detail
