// SPDX-License-Identifier: Apache-2.0
//
// What a launch needs: a device with a module, and memory for its kernels.
#pragma once

#include <cstdint>
#include <vector>

#include "cuda_and_hip/support.h"

namespace vendor_test {

using anyplace::Dim3;

struct Launching {
  explicit Launching(Variables variables = {}) : driver(variables) {}

  Double driver;
  Device device{place(0)};
  Module module = load(device, read_image(any_image));
  anyplace::KernelView fill = module.kernel("fill");
  anyplace::KernelView sum = module.kernel("block_sum");
  Stream stream{device};
  Buffer numbers{stream, 1024 * 4};
  Buffer sums{stream, 4};

  template <class... Args>
  void check_refused(anyplace::KernelView kernel, Dim3 grid, Dim3 block, std::uint64_t shared, const Args&... args) {
    test::required_error(ErrorCode::invalid_argument, [&] { stream.launch(kernel, {grid, block, shared}, args...); });
    CHECK(driver.calls_of(call::launch_kernel) == 0);
  }

  /// Each size of shared memory is had by a launch, whose blocks sum what they loaded into it.
  void check_sums_with(const std::vector<std::uint64_t>& sizes) {
    stream.memset32(numbers, 3);
    for (const std::uint64_t shared : sizes) {
      INFO(shared << " bytes of shared memory");
      std::uint32_t result = 0;
      stream.launch(sum, {1, 1024, shared}, sums, numbers);
      stream.copy(anyplace::HostSpan(&result, sizeof(result)), sums);
      stream.synchronize();
      CHECK(result == 3 * 1024);
    }
  }
};

}  // namespace vendor_test
