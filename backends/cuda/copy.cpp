// SPDX-License-Identifier: Apache-2.0
#include "copy.h"

#include <climits>

namespace anyplace::cuda {
namespace {

CUDA_MEMCPY2D to_cuda(const anyplace_copy_2d& copy) {
  CUDA_MEMCPY2D made{};
  if (copy.kind == ANYPLACE_COPY_HOST_TO_DEVICE) {
    made.srcMemoryType = CU_MEMORYTYPE_HOST;
    made.srcHost = backend::from_handle<const void>(copy.source);
  } else {
    made.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    made.srcDevice = copy.source;
  }
  if (copy.kind == ANYPLACE_COPY_DEVICE_TO_HOST) {
    made.dstMemoryType = CU_MEMORYTYPE_HOST;
    made.dstHost = backend::from_handle<void>(copy.destination);
  } else {
    made.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    made.dstDevice = copy.destination;
  }
  made.srcPitch = copy.source_pitch;
  made.dstPitch = copy.destination_pitch;
  made.WidthInBytes = copy.width;
  made.Height = copy.rows;
  return made;
}

}  // namespace

std::uint64_t CopyCalls::max_pitch(const Device& device) {
  return static_cast<std::uint64_t>(device.attribute(CU_DEVICE_ATTRIBUTE_MAX_PITCH, INT_MAX));
}

Called<CUresult> CopyCalls::lines(const anyplace_copy_2d& copy, CUstream stream) noexcept {
  const CUDA_MEMCPY2D lines = to_cuda(copy);
  return {driver().Memcpy2DAsync(&lines, stream), "cuMemcpy2DAsync"};
}

}  // namespace anyplace::cuda
