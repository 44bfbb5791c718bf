// SPDX-License-Identifier: Apache-2.0
//
// Copies and fills in a stream's order.
#pragma once

#include "anyplace/backend/kit/copies.h"
#include "stream.h"

namespace anyplace::cuda {

/// Converts the copy to a CUDA_MEMCPY2D, or to a CUDA_MEMCPY3D, which has the same members and a depth.
template <class Lines>
Lines lines_of(const anyplace_copy_2d& copy) noexcept {
  Lines made{};
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

/// The `Vendor` of anyplace/backend/kit/copies.h for CUDA.
struct CopyCalls {
  using Device = cuda::Device;
  using Scope = DeviceScope;
  using Stream = cuda::Stream;
  static constexpr const char* vendor = "CUDA";

  static Called<CUresult> to_device(anyplace_address destination, anyplace_address source, std::uint64_t bytes,
                                    CUstream stream) noexcept {
    return {driver().MemcpyHtoDAsync(destination, backend::from_handle<const void>(source), bytes, stream),
            "cuMemcpyHtoDAsync"};
  }
  static Called<CUresult> to_host(anyplace_address destination, anyplace_address source, std::uint64_t bytes,
                                  CUstream stream) noexcept {
    return {driver().MemcpyDtoHAsync(backend::from_handle<void>(destination), source, bytes, stream),
            "cuMemcpyDtoHAsync"};
  }
  static Called<CUresult> within(anyplace_address destination, anyplace_address source, std::uint64_t bytes,
                                 CUstream stream) noexcept {
    return {driver().MemcpyDtoDAsync(destination, source, bytes, stream), "cuMemcpyDtoDAsync"};
  }
  static std::uint64_t max_pitch(const Device& device);
  static Called<CUresult> lines(const anyplace_copy_2d& copy, CUstream stream) noexcept;
  /// The manual allows the call to fail within a device for pitches that cuMemAllocPitch didn't choose.
  static bool refuses_lines(CUresult result, const anyplace_copy_2d& copy) noexcept {
    return result == CUDA_ERROR_INVALID_VALUE && copy.kind == ANYPLACE_COPY_DEVICE_TO_DEVICE;
  }
  static Called<CUresult> between(anyplace_address destination, CUcontext to, anyplace_address source, CUcontext from,
                                  std::uint64_t bytes, CUstream stream) noexcept {
    return {driver().MemcpyPeerAsync(destination, to, source, from, bytes, stream), "cuMemcpyPeerAsync"};
  }
  static Called<CUresult> fill_8(anyplace_address address, std::uint8_t value, std::uint64_t count,
                                 CUstream stream) noexcept {
    return {driver().MemsetD8Async(address, value, count, stream), "cuMemsetD8Async"};
  }
  static Called<CUresult> fill_16(anyplace_address address, std::uint16_t value, std::uint64_t count,
                                  CUstream stream) noexcept {
    return {driver().MemsetD16Async(address, value, count, stream), "cuMemsetD16Async"};
  }
  static Called<CUresult> fill_32(anyplace_address address, std::uint32_t value, std::uint64_t count,
                                  CUstream stream) noexcept {
    return {driver().MemsetD32Async(address, value, count, stream), "cuMemsetD32Async"};
  }
};

using Copies = backend::Copies<CopyCalls>;

}  // namespace anyplace::cuda
