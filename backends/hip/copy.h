// SPDX-License-Identifier: Apache-2.0
//
// Copies and fills in a stream's order.
#pragma once

#include "anyplace/backend/kit/copies.h"
#include "stream.h"

namespace anyplace::hip {

/// The `Vendor` of anyplace/backend/kit/copies.h for HIP.
struct CopyCalls {
  using Device = hip::Device;
  using Scope = DeviceScope;
  using Stream = hip::Stream;
  static constexpr const char* vendor = "HIP";

  static Called<hipError_t> to_device(anyplace_address destination, anyplace_address source, std::uint64_t bytes,
                                      hipStream_t stream) noexcept {
    return {driver().MemcpyHtoDAsync(at(destination), at(source), bytes, stream), "hipMemcpyHtoDAsync"};
  }
  static Called<hipError_t> to_host(anyplace_address destination, anyplace_address source, std::uint64_t bytes,
                                    hipStream_t stream) noexcept {
    return {driver().MemcpyDtoHAsync(at(destination), at(source), bytes, stream), "hipMemcpyDtoHAsync"};
  }
  static Called<hipError_t> within(anyplace_address destination, anyplace_address source, std::uint64_t bytes,
                                   hipStream_t stream) noexcept {
    return {driver().MemcpyDtoDAsync(at(destination), at(source), bytes, stream), "hipMemcpyDtoDAsync"};
  }
  static std::uint64_t max_pitch(const Device& device);
  static Called<hipError_t> lines(const anyplace_copy_2d& copy, hipStream_t stream) noexcept;
  static hipMemcpyKind kind_of(const anyplace_copy_2d& copy) noexcept;
  static bool refuses_lines(hipError_t result, const anyplace_copy_2d&) noexcept { return is_unimplemented(result); }
  static Called<hipError_t> between(anyplace_address destination, hipDevice_t to, anyplace_address source,
                                    hipDevice_t from, std::uint64_t bytes, hipStream_t stream) noexcept {
    return {driver().MemcpyPeerAsync(at(destination), to, at(source), from, bytes, stream), "hipMemcpyPeerAsync"};
  }
  static Called<hipError_t> fill_8(anyplace_address address, std::uint8_t value, std::uint64_t count,
                                   hipStream_t stream) noexcept {
    return {driver().MemsetD8Async(at(address), value, count, stream), "hipMemsetD8Async"};
  }
  static Called<hipError_t> fill_16(anyplace_address address, std::uint16_t value, std::uint64_t count,
                                    hipStream_t stream) noexcept {
    return {driver().MemsetD16Async(at(address), value, count, stream), "hipMemsetD16Async"};
  }
  static Called<hipError_t> fill_32(anyplace_address address, std::uint32_t value, std::uint64_t count,
                                    hipStream_t stream) noexcept {
    return {driver().MemsetD32Async(at(address), static_cast<int>(value), count, stream), "hipMemsetD32Async"};
  }

 private:
  static void* at(anyplace_address address) noexcept { return backend::from_handle<void>(address); }
};

using Copies = backend::Copies<CopyCalls>;

}  // namespace anyplace::hip
