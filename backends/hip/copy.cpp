// SPDX-License-Identifier: Apache-2.0
#include "copy.h"

#include <climits>
#include <string>

#include "device.h"
#include "stream.h"

namespace anyplace::hip {
namespace {

using anyplace::backend::from_handle;

[[noreturn]] void refuse_kind(std::uint32_t kind) {
  refuse(ANYPLACE_STATUS_UNSUPPORTED, "HIP has no copy of kind " + std::to_string(kind));
}

/// With the context current.
void copy_line(const Stream& stream, anyplace_address destination, anyplace_address source, std::uint64_t bytes,
               std::uint32_t kind) {
  Device& device = stream.device();
  switch (kind) {
    case ANYPLACE_COPY_HOST_TO_DEVICE:
      device.check(driver().MemcpyHtoDAsync(from_handle<void>(destination), from_handle<const void>(source), bytes,
                                            stream.native()),
                   "hipMemcpyHtoDAsync");
      return;
    case ANYPLACE_COPY_DEVICE_TO_HOST:
      device.check(
          driver().MemcpyDtoHAsync(from_handle<void>(destination), from_handle<void>(source), bytes, stream.native()),
          "hipMemcpyDtoHAsync");
      return;
    case ANYPLACE_COPY_DEVICE_TO_DEVICE:
      device.check(
          driver().MemcpyDtoDAsync(from_handle<void>(destination), from_handle<void>(source), bytes, stream.native()),
          "hipMemcpyDtoDAsync");
      return;
    default:
      refuse_kind(kind);
  }
}

hipMemcpyKind to_hip(std::uint32_t kind) {
  switch (kind) {
    case ANYPLACE_COPY_HOST_TO_DEVICE:
      return hipMemcpyHostToDevice;
    case ANYPLACE_COPY_DEVICE_TO_HOST:
      return hipMemcpyDeviceToHost;
    case ANYPLACE_COPY_DEVICE_TO_DEVICE:
      return hipMemcpyDeviceToDevice;
    default:
      refuse_kind(kind);
  }
}

}  // namespace

void copy(const Stream& stream, anyplace_address destination, anyplace_address source, std::uint64_t bytes,
          std::uint32_t kind) {
  const DeviceScope scope(stream.device());
  copy_line(stream, destination, source, bytes, kind);
}

void copy_2d(const Stream& stream, const anyplace_copy_2d& copy) {
  const hipMemcpyKind kind = to_hip(copy.kind);
  Device& device = stream.device();
  const DeviceScope scope(device);
  const auto max_pitch = static_cast<std::uint64_t>(device.attribute(hipDeviceAttributeMaxPitch, INT_MAX));
  if (copy.source_pitch <= max_pitch && copy.destination_pitch <= max_pitch) {
    // Not the driver-style call that parallels CUDA's: its struct has hipMemoryType in it, which HIP 6 renumbered.
    const hipError_t result = driver().Memcpy2DAsync(from_handle<void>(copy.destination), copy.destination_pitch,
                                                     from_handle<const void>(copy.source), copy.source_pitch,
                                                     copy.width, copy.rows, kind, stream.native());
    if (!is_unimplemented(result)) return device.check(result, "hipMemcpy2DAsync");
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
  hipDevice_t const to = device.context_of(destination_device);
  hipDevice_t const from = device.context_of(source_device);
  const hipError_t result = driver().MemcpyPeerAsync(from_handle<void>(destination), to,
                                                     from_handle<const void>(source), from, bytes, stream.native());
  if (result == hipSuccess) return;
  device.fail_with(result, "hipMemcpyPeerAsync", &device == &destination_device ? source_device : destination_device);
}

void fill(const Stream& stream, anyplace_address address, std::uint32_t value, std::uint32_t width,
          std::uint64_t count) {
  Device& device = stream.device();
  const DeviceScope scope(device);
  void* const start = from_handle<void>(address);
  switch (width) {
    case 1:
      return device.check(driver().MemsetD8Async(start, static_cast<unsigned char>(value), count, stream.native()),
                          "hipMemsetD8Async");
    case 2:
      return device.check(driver().MemsetD16Async(start, static_cast<unsigned short>(value), count, stream.native()),
                          "hipMemsetD16Async");
    case 4:
      return device.check(driver().MemsetD32Async(start, static_cast<int>(value), count, stream.native()),
                          "hipMemsetD32Async");
    default:
      refuse(ANYPLACE_STATUS_INVALID_ARGUMENT,
             "elements of " + std::to_string(width) + " bytes; HIP fills with 1, 2 or 4");
  }
}

}  // namespace anyplace::hip
