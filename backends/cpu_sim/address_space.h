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

/// Owners that are no device. The indexes of devices are below 4096.
inline constexpr std::int32_t every_device = 0xfffe;  ///< pinned and managed memory: all devices reach it
inline constexpr std::int32_t no_device = 0xffff;     ///< memory of the host that isn't pinned

class AddressSpace {
 public:
  AddressSpace() noexcept;
  AddressSpace(const AddressSpace&) = delete;  // devices hold its address
  AddressSpace& operator=(const AddressSpace&) = delete;
  ~AddressSpace() = default;

  /// Makes `bytes` at `begin` the memory of `owner`. They overlap no range that was added. Throws std::bad_alloc.
  void add(anyplace_address begin, std::uint64_t bytes, std::int32_t owner);
  /// Removes a range that was added. Called before the addresses go back to the host.
  void remove(anyplace_address begin) noexcept;

  /// From now on `device` reaches, or no longer reaches, the memory of `peer`. Idempotent.
  void enable(std::int32_t device, std::int32_t peer);
  void disable(std::int32_t device, std::int32_t peer) noexcept;

  /// True if a kernel on `device` is known to reach the address or, with `host_too`, if the address is the host's own.
  /// False means that it isn't known; reach() finds out. Takes no lock.
  bool reaches_at_once(std::int32_t device, anyplace_address address, bool host_too) const noexcept {
    const std::uint64_t page = address / page_bytes;
    const std::uint64_t owner = cache_[page % all_entries].load(std::memory_order_relaxed) ^ page << owner_bits;
    return owner == static_cast<std::uint64_t>(device) || owner == every_device || (owner == no_device && host_too);
  }

  struct Reach {
    bool reached;
    std::int32_t owner;  ///< no_device if the address is in no range that was added
  };
  /// Whether a kernel on `device` reaches the address. The address may be the end of a range, because kernels are given
  /// ends, too.
  Reach reach(std::int32_t device, anyplace_address address) noexcept;

 private:
  static constexpr std::uint64_t page_bytes = 4096;
  static constexpr std::uint64_t all_entries = 1024;
  static constexpr unsigned owner_bits = 16;
  static constexpr std::uint64_t empty = UINT64_MAX;  // no page of any process

  struct Range {
    anyplace_address end;
    std::int32_t owner;
  };

  std::int32_t owner_of(anyplace_address address) noexcept;
  void forget(anyplace_address begin, anyplace_address end) noexcept;
  bool allowed(std::int32_t device, std::int32_t owner) const noexcept;

  std::mutex mutex_;                          // a leaf
  std::map<anyplace_address, Range> ranges_;  // guarded by mutex_; disjoint, by their beginnings
  // Guarded by mutex_; a device, and a peer whose memory it reaches.
  std::set<std::pair<std::int32_t, std::int32_t>> peers_;
  std::uint64_t cached_ = 0;  ///< guarded by mutex_; entries of cache_ that aren't empty
  /// For pages that have one owner: the page's number and the owner. Written under mutex_.
  std::array<std::atomic<std::uint64_t>, all_entries> cache_;
};

}  // namespace anyplace::cpu_sim
