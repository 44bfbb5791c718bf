// SPDX-License-Identifier: Apache-2.0
#include "copy.h"

#include <climits>

namespace anyplace::cuda {
std::uint64_t CopyCalls::max_pitch(const Device& device) {
  return static_cast<std::uint64_t>(device.attribute(CU_DEVICE_ATTRIBUTE_MAX_PITCH, INT_MAX));
}

Called<CUresult> CopyCalls::lines(const anyplace_copy_2d& copy, CUstream stream) noexcept {
  const auto lines = lines_of<CUDA_MEMCPY2D>(copy);
  return {driver().Memcpy2DAsync(&lines, stream), "cuMemcpy2DAsync"};
}

}  // namespace anyplace::cuda
