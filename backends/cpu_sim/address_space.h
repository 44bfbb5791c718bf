// SPDX-License-Identifier: Apache-2.0
//
// AddressSpace: whose memory an address of this process is, and which devices reach it. All memory of the simulator is
// memory of this process, so a kernel could follow any address; on a device it can't, and here it isn't given one that
// it couldn't follow there.
//
// Invariant: an entry of cache_ is true while it stands. It is written, and taken back, under mutex_.
#ifndef ANYPLACE_BACKENDS_CPU_SIM_ADDRESS_SPACE_H
#define ANYPLACE_BACKENDS_CPU_SIM_ADDRESS_SPACE_H

#include <anyplace/backend/abi.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <utility>

namespace anyplace::cpu_sim {

/// Beside the indexes of devices, which are below 4096.
inline constexpr int32_t kEveryDevice = 0xfffe;  ///< pinned and managed memory: all devices reach it
inline constexpr int32_t kNoDevice = 0xffff;     ///< the host's own

class AddressSpace {
 public:
  AddressSpace() noexcept;
  AddressSpace(const AddressSpace&) = delete;  // devices hold its address
  AddressSpace& operator=(const AddressSpace&) = delete;
  ~AddressSpace() = default;

  /// From now on `bytes` at `begin` are `owner`'s. They overlap nothing that is somebody's. Throws std::bad_alloc.
  void add(anyplace_address begin, uint64_t bytes, int32_t owner);
  /// What add() was given. Before the addresses go back to the host.
  void remove(anyplace_address begin) noexcept;

  /// Device `device` reaches what is `peer`'s, or no longer. Idempotent.
  void enable(int32_t device, int32_t peer);
  void disable(int32_t device, int32_t peer) noexcept;

  /// True if a kernel on `device` is known to reach the address, or, with `host_too`, if it is the host's own. False
  /// says nothing: reach() knows. Takes no lock.
  bool reaches_at_once(int32_t device, anyplace_address address, bool host_too) const noexcept {
    const uint64_t page = address / kPage;
    const uint64_t owner = cache_[page % kEntries].load(std::memory_order_relaxed) ^ page << kOwnerBits;
    return owner == static_cast<uint64_t>(device) || owner == kEveryDevice || (owner == kNoDevice && host_too);
  }

  struct Reach {
    bool reached;
    int32_t owner;  ///< kNoDevice if the address is in nobody's memory
  };
  /// Whether a kernel on `device` reaches the address, which may be the end of a range: kernels get ends, too.
  Reach reach(int32_t device, anyplace_address address) noexcept;

 private:
  static constexpr uint64_t kPage = 4096;
  static constexpr uint64_t kEntries = 1024;
  static constexpr unsigned kOwnerBits = 16;
  static constexpr uint64_t kEmpty = UINT64_MAX;  // no page of any process

  struct Range {
    anyplace_address end;
    int32_t owner;
  };

  int32_t owner_of(anyplace_address address) noexcept;
  void forget(anyplace_address begin, anyplace_address end) noexcept;
  bool allowed(int32_t device, int32_t owner) const noexcept;

  std::mutex mutex_;                             // a leaf
  std::map<anyplace_address, Range> ranges_;     // guarded by mutex_; by their beginnings, disjoint
  std::set<std::pair<int32_t, int32_t>> peers_;  // guarded by mutex_; who reaches whom
  /// Of pages that are wholly somebody's, or nobody's: the page's number and the owner. Written under mutex_.
  std::array<std::atomic<uint64_t>, kEntries> cache_;
};

}  // namespace anyplace::cpu_sim

#endif  // ANYPLACE_BACKENDS_CPU_SIM_ADDRESS_SPACE_H
