// SPDX-License-Identifier: Apache-2.0
//
// RandomDraw: what a captured launch says of its generator. A graph's launch gives the kernel its numbers then
// (graphs/draws.h), in place of those of the capture.
#pragma once

#include <cstdint>
#include <memory>

#include "random/generator_state.h"

namespace anyplace::detail {

struct RandomDraw {
  std::shared_ptr<GeneratorState> generator;
  std::uint64_t words = 0;  ///< that the launch takes, of 32 bits
};

/// Which arguments of the kernels (kernels.cu) those are that a graph replaces.
constexpr std::uint32_t state_argument = 2;   ///< the address of seed and offset, 8 bytes each; 0: both are arguments
constexpr std::uint32_t offset_argument = 4;  ///< in words; added to the offset at the address

/// Bytes of what the state argument points to.
constexpr std::uint64_t device_state_bytes = 16;

}  // namespace anyplace::detail
