// SPDX-License-Identifier: Apache-2.0
//
// The address book: whose memory an address is. Most is found where it is kept anyway: the caching allocators know
// their blocks, and host_ranges.h the pinned memory. What those don't know is entered here when it comes and struck out
// when its free is asked for: allocations of a backend's own, memory of an application's allocator, memory that a
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

/// What is entered of one device. Made with it, never destroyed.
class DeviceAddresses {
 public:
  explicit DeviceAddresses(DeviceState& device) noexcept : device_(device) {}
  DeviceAddresses(const DeviceAddresses&) = delete;  // in a list
  DeviceAddresses& operator=(const DeviceAddresses&) = delete;

  /// Ranges of one list don't overlap, but those in `wrapped`, which may lie in any other, too.
  enum class List { allocations, registrations, wrapped };
  /// Throws bad_alloc.
  void add(List list, AddressKind kind, anyplace_address address, std::uint64_t bytes);
  /// One entry that begins there.
  void remove(List list, anyplace_address address, std::uint64_t bytes) noexcept;

  /// Of the `allocated` bytes that the caching allocator knows from `allocation` on, only those from `address` on are a
  /// Buffer's; the others were allocated for its alignment, and are nobody's. Without effect if it knows no such
  /// allocation. Throws bad_alloc.
  void add_aligned(anyplace_address allocation, std::uint64_t allocated, anyplace_address address, std::uint64_t bytes);
  void remove_aligned(anyplace_address allocation, std::uint64_t allocated) noexcept;

  /// Looks here and in the device's caching allocator. False if it isn't the device's.
  bool find(anyplace_address address, FoundAddress& found) const noexcept;

  DeviceAddresses* next = nullptr;  ///< in the list of all; set before this is in it

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
  std::atomic<std::uint64_t> count_{0};  ///< in the lists: none is the usual case, and takes no lock
  std::atomic<std::uint64_t> aligned_count_{0};
  mutable std::shared_mutex mutex_;  // guards what follows; a leaf
  Ranges lists_[3];
  std::uint64_t largest_wrapped_ = 0;  ///< bytes, of all that there ever was
  /// Buffers, by their allocations. An allocation that lies in another one's Buffer has fewer bytes than that.
  std::map<Extent, Extent> aligned_;
};

/// What a DeviceState points to.
DeviceAddresses* make_device_addresses(DeviceState& device);

/// Looks at `first`, if it isn't null, before the other devices. Takes the locks of the allocators that it looks at.
FoundAddress find_address(anyplace_address address, DeviceState* first) noexcept;

}  // namespace anyplace::detail
