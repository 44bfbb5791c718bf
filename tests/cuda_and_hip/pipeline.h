// SPDX-License-Identifier: Apache-2.0
//
// A little of everything, on one device.
#pragma once

#include <cstdint>
#include <vector>

#include "cuda_and_hip/support.h"

namespace vendor_test {

/// A pipeline of a few steps on one device; whether its result is right.
inline bool pipeline_works(const Device& device) {
  const Module module = load(device, read_image(any_image));
  const Stream first(device), second(device);
  const Buffer a(first, 256 * 4), b(second, 256 * 4);
  std::vector<std::uint32_t> back(256);
  first.launch(module.kernel("fill"), {4, 64}, a, 256u, 7u);
  second.wait_stream(first);
  second.copy(b, a);
  a.record_stream(second);
  second.copy(back, b);
  second.synchronize();
  return back == std::vector<std::uint32_t>(256, 7);
}

}  // namespace vendor_test
