// SPDX-License-Identifier: Apache-2.0
#include "copy.h"

#include <climits>

namespace anyplace::hip {

std::uint64_t CopyCalls::max_pitch(const Device& device) {
  return static_cast<std::uint64_t>(device.attribute(hipDeviceAttributeMaxPitch, INT_MAX));
}

hipMemcpyKind CopyCalls::kind_of(const anyplace_copy_2d& copy) noexcept {
  if (copy.kind == ANYPLACE_COPY_HOST_TO_DEVICE) return hipMemcpyHostToDevice;
  return copy.kind == ANYPLACE_COPY_DEVICE_TO_HOST ? hipMemcpyDeviceToHost : hipMemcpyDeviceToDevice;
}

Called<hipError_t> CopyCalls::lines(const anyplace_copy_2d& copy, hipStream_t stream) noexcept {
  // The driver-style call that corresponds to CUDA's isn't used: its struct contains hipMemoryType, which HIP 6
  // renumbered.
  return {driver().Memcpy2DAsync(at(copy.destination), copy.destination_pitch, at(copy.source), copy.source_pitch,
                                 copy.width, copy.rows, kind_of(copy), stream),
          "hipMemcpy2DAsync"};
}

}  // namespace anyplace::hip
