// SPDX-License-Identifier: Apache-2.0
//
// AddressSide: one side of a copy or fill by address, with what is known of the address and the checks that follow from
// it.
#pragma once

#include <cstdint>

#include "memory/address_book.h"
#include "memory/copy_checks.h"
#include "memory/host_ranges.h"
#include "streams/stream_state.h"

namespace anyplace::detail {

class AddressSide {
 public:
  /// `name` is "source" or "destination". The caller owns the memory and keeps it during the call.
  AddressSide(const char* name, anyplace_address address, DeviceState& stream_device) noexcept
      : name_(name), address_(address), found_(find_address(address, &stream_device)) {
    // Managed memory is the host's too; for a stream of another device it is only the host's.
    const bool own_managed = found_.kind == AddressKind::managed && found_.device == &stream_device;
    is_device_ = found_.kind == AddressKind::device || own_managed;
  }

  const char* name() const noexcept { return name_; }
  anyplace_address address() const noexcept { return address_; }
  /// The device whose memory this is for a copy; null if a copy has to treat it as host memory.
  DeviceState* device() const noexcept { return is_device_ ? found_.device : nullptr; }
  /// The bytes from the address to the end of its allocation; if that isn't known, to the end of the address space.
  std::uint64_t available() const noexcept {
    const bool bounded = found_.kind != AddressKind::unknown && found_.kind != AddressKind::registered;
    return bounded ? found_.bytes - (address_ - found_.allocation) : UINT64_MAX - address_;
  }

  /// Throws invalid_argument if there can't be `bytes` bytes of memory at the address.
  void require(std::uint64_t bytes, const DeviceState& device, const char* operation) const {
    if (address_ == 0) [[unlikely]]
      refuse_null(bytes, name_, device, operation);
    if (bytes <= available()) [[likely]]
      return;
    if (found_.kind == AddressKind::unknown || found_.kind == AddressKind::registered) {
      refuse_wrapping(name_, address_, bytes, device, operation);
    }
    refuse_beyond(name_, address_, bytes, found_.allocation, found_.bytes, device, operation);
  }
  /// Throws invalid_argument if there can't be memory for these lines at the address.
  void require_lines(std::uint64_t pitch, std::uint64_t width, std::uint64_t rows, const DeviceState& device,
                     const char* operation) const {
    if (address_ == 0) [[unlikely]]
      refuse_null(width, name_, device, operation);
    require_lines_within(pitch, width, rows, available(), name_, device, operation);
  }

  /// Whether note_use() has nothing to do.
  bool is_noted(const StreamState& stream) const noexcept {
    return found_.kind != AddressKind::pinned || host_ranges().is_noted(address_, stream.id);
  }
  /// Called before the work is submitted, so that a HostBuffer keeps the memory until it is done.
  void note_use(StreamState& stream, const char* operation) const {
    if (found_.kind == AddressKind::pinned) host_ranges().note_use_once(address_, stream, operation);
  }

 private:
  const char* name_;
  anyplace_address address_;
  FoundAddress found_;
  bool is_device_ = false;
};

}  // namespace anyplace::detail
