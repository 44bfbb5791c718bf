// SPDX-License-Identifier: Apache-2.0
//
// Copies: the copies and fills in a stream's order that ClassBackend calls. The core has checked sizes and ranges.
//
// `Vendor` supplies the vendor's calls. All its members are static and, except max_pitch, noexcept:
//
//   Device, Scope        DeviceBase and DeviceScope of device_base.h, or with the same members
//   Stream               the backend's class for a stream: device() and native()
//   const char* vendor   its name in a sentence: "CUDA"
//   Called<Result> to_device(destination, source, bytes, native stream);  to_host;  within       the context is current
//   Called<Result> lines(const anyplace_copy_2d&, native stream)      several lines in one go
//   bool refuses_lines(Result, const anyplace_copy_2d&)               so that each line is copied alone instead
//   std::uint64_t max_pitch(const Device&)                            that lines() takes
//   Called<Result> between(destination, Handle to, source, Handle from, bytes, native stream)
//   Called<Result> fill_8(address, value, count, native stream);  fill_16;  fill_32
#pragma once

#include <cstdint>

#include "refusals.h"
#include "results.h"

namespace anyplace::backend {

/// The entries that copy and fill, as static functions, with what the vendor has for each.
template <class Vendor>
struct Copies {
  using Device = typename Vendor::Device;
  using Stream = typename Vendor::Stream;
  using Result = typename Device::Result;

  /// `kind` is ANYPLACE_COPY_*.
  static void copy(const Stream& stream, anyplace_address destination, anyplace_address source, std::uint64_t bytes,
                   std::uint32_t kind) {
    const typename Vendor::Scope scope(stream.device());
    copy_line(stream, destination, source, bytes, kind);
  }
  /// Copies line by line where one call of the vendor's can't copy all lines.
  static void copy_2d(const Stream& stream, const anyplace_copy_2d& copy) {
    if (copy.kind < ANYPLACE_COPY_HOST_TO_DEVICE || copy.kind > ANYPLACE_COPY_DEVICE_TO_DEVICE) {
      refuse_copy_kind(Vendor::vendor, copy.kind);
    }
    Device& device = stream.device();
    const typename Vendor::Scope scope(device);
    const std::uint64_t max_pitch = Vendor::max_pitch(device);
    if (copy.source_pitch <= max_pitch && copy.destination_pitch <= max_pitch) {
      const Called<Result> made = Vendor::lines(copy, stream.native());
      if (!Vendor::refuses_lines(made.result, copy)) return device.check(made);
    }
    for (std::uint64_t row = 0; row < copy.rows; ++row) {
      copy_line(stream, copy.destination + row * copy.destination_pitch, copy.source + row * copy.source_pitch,
                copy.width, copy.kind);
    }
  }
  /// The stream belongs to either device.
  static void copy_peer(const Stream& stream, Device& destination_device, anyplace_address destination,
                        Device& source_device, anyplace_address source, std::uint64_t bytes) {
    Device& device = stream.device();
    const typename Vendor::Scope scope(device);
    const auto to = device.context_of(destination_device);
    const auto from = device.context_of(source_device);
    const Called<Result> made = Vendor::between(destination, to, source, from, bytes, stream.native());
    if (made.result == Result{}) return;
    device.fail_with(made.result, made.call, &device == &destination_device ? source_device : destination_device);
  }
  /// Sets `count` elements of `width` 1, 2 or 4 bytes.
  static void fill(const Stream& stream, anyplace_address address, std::uint32_t value, std::uint32_t width,
                   std::uint64_t count) {
    Device& device = stream.device();
    const typename Vendor::Scope scope(device);
    switch (width) {
      case 1:
        return device.check(Vendor::fill_8(address, static_cast<std::uint8_t>(value), count, stream.native()));
      case 2:
        return device.check(Vendor::fill_16(address, static_cast<std::uint16_t>(value), count, stream.native()));
      case 4:
        return device.check(Vendor::fill_32(address, value, count, stream.native()));
      default:
        refuse_fill_width(Vendor::vendor, width);
    }
  }

 private:
  /// The context is current.
  static void copy_line(const Stream& stream, anyplace_address destination, anyplace_address source,
                        std::uint64_t bytes, std::uint32_t kind) {
    Device& device = stream.device();
    switch (kind) {
      case ANYPLACE_COPY_HOST_TO_DEVICE:
        return device.check(Vendor::to_device(destination, source, bytes, stream.native()));
      case ANYPLACE_COPY_DEVICE_TO_HOST:
        return device.check(Vendor::to_host(destination, source, bytes, stream.native()));
      case ANYPLACE_COPY_DEVICE_TO_DEVICE:
        return device.check(Vendor::within(destination, source, bytes, stream.native()));
      default:
        refuse_copy_kind(Vendor::vendor, kind);
    }
  }
};

}  // namespace anyplace::backend
