// SPDX-License-Identifier: Apache-2.0
//
// RandomDraw says which generator a captured launch draws from. Each launch of the graph gives the kernel the
// generator's numbers of that moment (graphs/draws.h), in place of those of the capture.
#pragma once

#include <cstdint>
#include <memory>

#include "random/generator_state.h"

namespace anyplace::detail {

struct RandomDraw {
  std::shared_ptr<GeneratorState> generator;
  std::uint64_t words = 0;  ///< how many words of 32 bits a launch takes
};

/// A graph replaces these arguments of the kernels (kernels.cu).
constexpr std::uint32_t state_argument = 2;   ///< where seed and offset are, 8 bytes each; 0: both are arguments
constexpr std::uint32_t offset_argument = 4;  ///< in words; added to the offset at the address

/// The state argument points to so many bytes.
constexpr std::uint64_t device_state_bytes = 16;

}  // namespace anyplace::detail
