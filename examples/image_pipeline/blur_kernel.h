// SPDX-License-Identifier: Apache-2.0
//
// BlurKernel: the blur's code in the form that a device takes: the C++ callable where the device runs host code, else
// the first of the program's images whose format the device takes.
#pragma once

#include <cstdint>

#include "anyplace/device.h"
#include "anyplace/kernel.h"

namespace image_pipeline {

class BlurKernel {
 public:
  /// Throws std::runtime_error, saying what the device takes, if the program has nothing for it.
  explicit BlurKernel(const anyplace::Device& device);

  /// Takes what blur_block takes: the source's address, the target's address, TileShape. Valid while this object lives.
  anyplace::KernelView view() const { return view_; }
  /// How much shared memory a launch with blocks of that width is to have, in bytes.
  std::uint64_t shared_bytes(std::uint32_t block_width, std::uint32_t channels) const;

 private:
  anyplace::Kernel callable_;
  anyplace::Module module_;
  anyplace::KernelView view_;
};

}  // namespace image_pipeline
