// SPDX-License-Identifier: Apache-2.0
//
// AddressSpace: which device's memory an address of this process is, and which devices reach it. All memory of the
// simulator is memory of this process, so a kernel could follow any address. On a real device it couldn't, so a launch
// is refused if an argument is an address that the kernel couldn't follow there.
//
// Invariant: an entry of cache_ is true for as long as it is in the cache. Entries are written and removed under
// mutex_.
#pragma once

#include <anyplace/backend/abi.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <utility>

namespace anyplace::cpu_sim {

/// These owners are no device: the indexes of devices are below 4096.
inline constexpr std::int32_t every_device = 0xfffe;  ///< All devices reach pinned and managed memory.
inline constexpr std::int32_t no_device = 0xffff;     ///< This is memory of the host that isn't pinned.

class AddressSpace {
 public:
  AddressSpace() noexcept;
  AddressSpace(const AddressSpace&) = delete;  // Devices hold its address.
  AddressSpace& operator=(const AddressSpace&) = delete;
  ~AddressSpace() = default;

  /// Makes `bytes` at `begin` the memory of `owner`. They overlap no range that was added. Throws std::bad_alloc.
  void add(anyplace_address begin, std::uint64_t bytes, std::int32_t owner);
  /// Removes a range that was added. The caller does it before the addresses go back to the host.
  void remove(anyplace_address begin) noexcept;

  /// From now on `device` reaches, or no longer reaches, the memory of `peer`. Both are idempotent.
  void enable(std::int32_t device, std::int32_t peer);
  void disable(std::int32_t device, std::int32_t peer) noexcept;

  /// Returns true if a kernel on `device` is known to reach the address or, with `host_too`, if the address is the
  /// host's own. False means that it isn't known; reach() finds out. It takes no lock.
  bool reaches_at_once(std::int32_t device, anyplace_address address, bool host_too) const noexcept {
    const std::uint64_t page = address / page_bytes;
    const std::uint64_t owner = cache_[page % all_entries].load(std::memory_order_relaxed) ^ page << owner_bits;
    return owner == static_cast<std::uint64_t>(device) || owner == every_device || (owner == no_device && host_too);
  }

  struct Reach {
    bool reached;
    std::int32_t owner;  ///< It is no_device if the address is in no range that was added.
  };
  /// Tells whether a kernel on `device` reaches the address. The address may be the end of a range, because kernels are
  /// given ends, too.
  Reach reach(std::int32_t device, anyplace_address address) noexcept;

 private:
  static constexpr std::uint64_t page_bytes = 4096;
  static constexpr std::uint64_t all_entries = 1024;
  static constexpr unsigned owner_bits = 16;
  static constexpr std::uint64_t empty = UINT64_MAX;  // No page of any process has this number.

  struct Range {
    anyplace_address end;
    std::int32_t owner;
  };

  std::int32_t owner_of(anyplace_address address) noexcept;
  void forget(anyplace_address begin, anyplace_address end) noexcept;
  bool allowed(std::int32_t device, std::int32_t owner) const noexcept;

  std::mutex mutex_;  // It is a leaf of the lock order.
  std::map<anyplace_address, Range>
      ranges_;  // mutex_ guards it; the ranges are disjoint, and keyed by their beginnings.
  // mutex_ guards it. An element is a device, and a peer whose memory it reaches.
  std::set<std::pair<std::int32_t, std::int32_t>> peers_;
  std::uint64_t cached_ = 0;  ///< mutex_ guards it; so many entries of cache_ aren't empty.
  /// An entry has the number of a page that has one owner, and that owner. It is written under mutex_.
  std::array<std::atomic<std::uint64_t>, all_entries> cache_;
};

}  // namespace anyplace::cpu_sim
