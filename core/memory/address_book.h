// SPDX-License-Identifier: Apache-2.0
//
// The address book finds out whose memory an address is. Most memory is known elsewhere: the caching allocators know
// their blocks, and host_ranges.h knows the pinned memory. All other memory is entered here when it is made, and
// removed when its free is asked for: a backend's own allocations, memory of an application's allocator, memory that a
// Buffer wraps, and registered memory.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <shared_mutex>
#include <utility>

#include "anyplace/address.h"
#include "memory/found_address.h"
#include "runtime/backend.h"

namespace anyplace::detail {

/// The entries of one device. Made with the device and never destroyed.
class DeviceAddresses {
 public:
  explicit DeviceAddresses(DeviceState& device) noexcept : device_(device) {}
  DeviceAddresses(const DeviceAddresses&) = delete;  // it is in a list
  DeviceAddresses& operator=(const DeviceAddresses&) = delete;

  /// Ranges within a list don't overlap, except that those of `wrapped` may overlap each other and those of other
  /// lists.
  enum class List { allocations, registrations, wrapped };
  /// Throws bad_alloc.
  void add(List list, AddressKind kind, anyplace_address address, std::uint64_t bytes);
  /// Removes one entry that begins at `address`.
  void remove(List list, anyplace_address address, std::uint64_t bytes) noexcept;

  /// Notes that of an allocation that the caching allocator knows (`allocated` bytes at `allocation`) only the part of
  /// `bytes` at `address` belongs to a Buffer. The rest was allocated for its alignment and belongs to nobody. It has
  /// no effect if there is no such allocation. Throws bad_alloc.
  void add_aligned(anyplace_address allocation, std::uint64_t allocated, anyplace_address address, std::uint64_t bytes);
  void remove_aligned(anyplace_address allocation, std::uint64_t allocated) noexcept;

  /// Finds an address here or in the device's caching allocator. Returns false if it isn't the device's.
  bool find(anyplace_address address, FoundAddress& found) const noexcept;

  DeviceAddresses* next = nullptr;  ///< next in the list of all devices; set before this is in it

 private:
  struct Range {
    std::uint64_t bytes = 0;
    AddressKind kind = AddressKind::unknown;
  };
  using Ranges = std::multimap<anyplace_address, Range>;
  Ranges& ranges_of(List list) noexcept { return lists_[static_cast<std::size_t>(list)]; }
  const Ranges& ranges_of(List list) const noexcept { return lists_[static_cast<std::size_t>(list)]; }
  bool find_in(List list, anyplace_address address, FoundAddress& found) const noexcept;
  bool find_wrapped(anyplace_address address, FoundAddress& found) const noexcept;
  bool find_in_allocation(anyplace_address address, FoundAddress& found) const noexcept;

  /// An address, and the bytes from there on.
  using Extent = std::pair<anyplace_address, std::uint64_t>;

  DeviceState& device_;
  std::atomic<std::uint64_t> count_{0};  ///< entries in all lists; usually there are none, and no lock is taken
  std::atomic<std::uint64_t> aligned_count_{0};
  mutable std::shared_mutex mutex_;  // guards what follows; a leaf
  Ranges lists_[3];
  std::uint64_t largest_wrapped_ = 0;  ///< the most bytes that an entry of `wrapped` ever had
  /// The part of each allocation that belongs to a Buffer. An allocation inside another one's Buffer has fewer bytes
  /// than that.
  std::map<Extent, Extent> aligned_;
};

/// Makes the book that a DeviceState points to.
DeviceAddresses* make_device_addresses(DeviceState& device);

/// Looks at the device `first`, if it isn't null, before the others. Takes the locks of the allocators that it asks.
FoundAddress find_address(anyplace_address address, DeviceState* first) noexcept;

}  // namespace anyplace::detail
