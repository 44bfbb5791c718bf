// SPDX-License-Identifier: Apache-2.0
//
// Copies of tensors between host and device and between devices, of any types and strides.
#pragma once

#include <ATen/core/Tensor.h>

namespace anyplace_torch {

/// Copies `source` into `destination` (broadcast, converted), at least one of them of an anyplace device, in the order
/// of the current streams. Where the host takes part and its memory isn't pinned, or `non_blocking` is false, a copy to
/// the host is done when this returns, and the source of a copy from it may be overwritten.
void copy_tensor(const at::Tensor& destination, const at::Tensor& source, bool non_blocking);

}  // namespace anyplace_torch
