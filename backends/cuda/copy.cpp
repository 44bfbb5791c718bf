// SPDX-License-Identifier: Apache-2.0
#include "copy.h"

#include <climits>
#include <string>

#include "device.h"
#include "stream.h"

namespace anyplace::cuda {
namespace {

using anyplace::backend::from_handle;

[[noreturn]] void refuse_kind(std::uint32_t kind) {
  refuse(ANYPLACE_STATUS_UNSUPPORTED, "CUDA has no copy of kind " + std::to_string(kind));
}

/// With the context current.
void copy_line(const Stream& stream, anyplace_address destination, anyplace_address source, std::uint64_t bytes,
               std::uint32_t kind) {
  Device& device = stream.device();
  switch (kind) {
    case ANYPLACE_COPY_HOST_TO_DEVICE:
      device.check(driver().MemcpyHtoDAsync(destination, from_handle<const void>(source), bytes, stream.native()),
                   "cuMemcpyHtoDAsync");
      return;
    case ANYPLACE_COPY_DEVICE_TO_HOST:
      device.check(driver().MemcpyDtoHAsync(from_handle<void>(destination), source, bytes, stream.native()),
                   "cuMemcpyDtoHAsync");
      return;
    case ANYPLACE_COPY_DEVICE_TO_DEVICE:
      device.check(driver().MemcpyDtoDAsync(destination, source, bytes, stream.native()), "cuMemcpyDtoDAsync");
      return;
    default:
      refuse_kind(kind);
  }
}

CUDA_MEMCPY2D to_cuda(const anyplace_copy_2d& copy) {
  CUDA_MEMCPY2D made{};
  if (copy.kind == ANYPLACE_COPY_HOST_TO_DEVICE) {
    made.srcMemoryType = CU_MEMORYTYPE_HOST;
    made.srcHost = from_handle<const void>(copy.source);
  } else {
    made.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    made.srcDevice = copy.source;
  }
  if (copy.kind == ANYPLACE_COPY_DEVICE_TO_HOST) {
    made.dstMemoryType = CU_MEMORYTYPE_HOST;
    made.dstHost = from_handle<void>(copy.destination);
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

void copy(const Stream& stream, anyplace_address destination, anyplace_address source, std::uint64_t bytes,
          std::uint32_t kind) {
  const DeviceScope scope(stream.device());
  copy_line(stream, destination, source, bytes, kind);
}

void copy_2d(const Stream& stream, const anyplace_copy_2d& copy) {
  if (copy.kind < ANYPLACE_COPY_HOST_TO_DEVICE || copy.kind > ANYPLACE_COPY_DEVICE_TO_DEVICE) refuse_kind(copy.kind);
  Device& device = stream.device();
  const DeviceScope scope(device);
  const auto max_pitch = static_cast<std::uint64_t>(device.attribute(CU_DEVICE_ATTRIBUTE_MAX_PITCH, INT_MAX));
  if (copy.source_pitch <= max_pitch && copy.destination_pitch <= max_pitch) {
    const CUDA_MEMCPY2D lines = to_cuda(copy);
    const CUresult result = driver().Memcpy2DAsync(&lines, stream.native());
    // The manual lets it fail within a device for pitches that cuMemAllocPitch didn't choose.
    const bool pitch_is_odd = result == CUDA_ERROR_INVALID_VALUE && copy.kind == ANYPLACE_COPY_DEVICE_TO_DEVICE;
    if (!pitch_is_odd) return device.check(result, "cuMemcpy2DAsync");
  }
  for (std::uint64_t row = 0; row < copy.rows; ++row) {
    copy_line(stream, copy.destination + row * copy.destination_pitch, copy.source + row * copy.source_pitch,
              copy.width, copy.kind);
  }
}

void copy_peer(const Stream& stream, Device& destination_device, anyplace_address destination, Device& source_device,
               anyplace_address source, std::uint64_t bytes) {
  Device& device = stream.device();
  const DeviceScope scope(device);
  CUcontext const to = device.context_of(destination_device);
  CUcontext const from = device.context_of(source_device);
  const CUresult result = driver().MemcpyPeerAsync(destination, to, source, from, bytes, stream.native());
  if (result == CUDA_SUCCESS) return;
  device.fail_with(result, "cuMemcpyPeerAsync", &device == &destination_device ? source_device : destination_device);
}

void fill(const Stream& stream, anyplace_address address, std::uint32_t value, std::uint32_t width,
          std::uint64_t count) {
  Device& device = stream.device();
  const DeviceScope scope(device);
  switch (width) {
    case 1:
      return device.check(driver().MemsetD8Async(address, static_cast<unsigned char>(value), count, stream.native()),
                          "cuMemsetD8Async");
    case 2:
      return device.check(driver().MemsetD16Async(address, static_cast<unsigned short>(value), count, stream.native()),
                          "cuMemsetD16Async");
    case 4:
      return device.check(driver().MemsetD32Async(address, value, count, stream.native()), "cuMemsetD32Async");
    default:
      refuse(ANYPLACE_STATUS_INVALID_ARGUMENT,
             "elements of " + std::to_string(width) + " bytes; CUDA fills with 1, 2 or 4");
  }
}

}  // namespace anyplace::cuda
