// SPDX-License-Identifier: Apache-2.0
//
// Address: memory named by where it is, not by a handle, and what anyplace knows of it. It is for code that was handed
// a pointer by somebody else, such as the adapters of frameworks: what has a Buffer is better off with the Buffer,
// whose use after its end is an error.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>

#include "device.h"
#include "export.h"

namespace anyplace {

/// An address of device memory, or of the host's memory.
class Address {
 public:
  constexpr Address() noexcept = default;
  /// The address as a number, as vendors' calls and handles of other libraries give it.
  constexpr Address(std::uint64_t value) noexcept : value_(value) {}
  /// The address that a pointer of this process has; nothing is dereferenced.
  Address(const void* pointer) noexcept : value_(reinterpret_cast<std::uintptr_t>(pointer)) {}

  /// The address as a number; 0 for none.
  constexpr std::uint64_t value() const noexcept { return value_; }

  friend constexpr bool operator==(Address, Address) noexcept = default;
  friend constexpr auto operator<=>(Address, Address) noexcept = default;

 private:
  std::uint64_t value_ = 0;
};

/// What an address is in, as far as anyplace made it.
enum class AddressKind {
  unknown,     ///< anyplace didn't make it: copies take it for ordinary memory of the host
  device,      ///< memory of a Buffer or of an Allocator that a device has, or memory that Buffer::from_native wraps
  managed,     ///< memory of a managed Buffer
  pinned,      ///< memory of a HostBuffer
  registered,  ///< memory within a HostRegistration
};

/// "unknown", "device" and so on. Never null.
ANYPLACE_API const char* to_string(AddressKind kind) noexcept;

/// What is known of an address. For an unknown address every member but `kind` is empty or 0.
struct PointerAttributes {
  AddressKind kind = AddressKind::unknown;  ///< what it is in; tells whether the other members say something
  std::optional<Device> device;             ///< whose memory it is; for host memory, the device that it was pinned for
  std::uint64_t allocation = 0;             ///< the address at which the allocation begins
  std::uint64_t size_bytes = 0;             ///< the size of that allocation, as it was asked for
  std::uint64_t offset = 0;                 ///< bytes from the allocation's beginning to the address
};

/// Looks `address` up among the memory that is handed out at the time of the call. Unknown are allocations whose free
/// was asked for, and memory of an application's own Allocator that isn't in a Buffer. Devices of several vendors can
/// give the same address if DeviceProperties::unified_addressing is false; the result then names one of them. An
/// address that nobody knows is no error. May be called from any thread; takes locks that an allocation of the same
/// device holds. Throws forked, shut_down, and not_permitted inside a host function or kernel.
ANYPLACE_API PointerAttributes pointer_attributes(Address address);

}  // namespace anyplace
