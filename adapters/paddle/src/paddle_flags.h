// SPDX-License-Identifier: Apache-2.0
//
// The one flag of Paddle's that a device without kernels of its own depends on.
#pragma once

namespace anyplace_paddle {

/// Turns FLAGS_use_stride_kernel off, unless the environment sets it. With it on, operations such as a transpose make
/// views, and what takes a view next asks for the device's own kernel `contiguous`: Paddle has no fallback for that
/// one. With it off they make copies. Says what to set where Paddle has no such flag to be found.
void turn_views_off() noexcept;

}  // namespace anyplace_paddle
