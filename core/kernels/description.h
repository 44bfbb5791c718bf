// SPDX-License-Identifier: Apache-2.0
//
// The descriptions that the public headers and the boundary both have, as structs of the same layout. So an application
// includes nothing of the boundary, and its launch still goes to the backend as it was written.
#pragma once

#include <cstddef>

#include "anyplace/backend/abi.h"
#include "anyplace/kernel.h"

namespace anyplace::detail {

static_assert(sizeof(LaunchArgument) == sizeof(anyplace_argument) &&
              offsetof(LaunchArgument, kind) == offsetof(anyplace_argument, kind) &&
              offsetof(LaunchArgument, size) == offsetof(anyplace_argument, size) &&
              offsetof(LaunchArgument, value) == offsetof(anyplace_argument, value));
static_assert(static_cast<int>(LaunchArgument::Kind::value) == ANYPLACE_ARGUMENT_VALUE &&
              static_cast<int>(LaunchArgument::Kind::address) == ANYPLACE_ARGUMENT_ADDRESS);

static_assert(sizeof(LaunchDescription) == sizeof(anyplace_launch) &&
              offsetof(LaunchDescription, grid) == offsetof(anyplace_launch, grid) &&
              offsetof(LaunchDescription, block) == offsetof(anyplace_launch, block) &&
              offsetof(LaunchDescription, argument_count) == offsetof(anyplace_launch, argument_count) &&
              offsetof(LaunchDescription, argument_stride) == offsetof(anyplace_launch, argument_stride) &&
              offsetof(LaunchDescription, reserved) == offsetof(anyplace_launch, reserved) &&
              offsetof(LaunchDescription, shared_bytes) == offsetof(anyplace_launch, shared_bytes) &&
              offsetof(LaunchDescription, arguments) == offsetof(anyplace_launch, arguments));

static_assert(sizeof(BlockDescription) == sizeof(anyplace_block) &&
              offsetof(BlockDescription, grid) == offsetof(anyplace_block, grid) &&
              offsetof(BlockDescription, block) == offsetof(anyplace_block, block) &&
              offsetof(BlockDescription, index) == offsetof(anyplace_block, index) &&
              offsetof(BlockDescription, shared) == offsetof(anyplace_block, shared) &&
              offsetof(BlockDescription, shared_bytes) == offsetof(anyplace_block, shared_bytes));

// The casts are safe although the types differ: the core never writes through one type and reads through the other. The
// application or the backend wrote what is read here.
inline const anyplace_launch& boundary_launch(const LaunchDescription& launch) noexcept {
  return reinterpret_cast<const anyplace_launch&>(launch);
}
inline const BlockDescription& block_description(const anyplace_block& block) noexcept {
  return reinterpret_cast<const BlockDescription&>(block);
}

}  // namespace anyplace::detail
