// SPDX-License-Identifier: Apache-2.0
//
// MemoryPool: the backend's own memory pool of a device, made at its first use, for a vendor with stream-ordered
// memory.
//
// The device's default pool isn't used, because it and its settings belong to other libraries in the process as well.
// Two settings of this pool differ from the default. Freed memory stays in the pool, up to a share of the device's
// memory, because otherwise every synchronisation returns it to the system, and taking it again costs a thousand times
// more. And the pool adds no dependencies between streams in order to reuse memory, because a stream that is held back
// would then hold back one that only allocates.
//
// `Vendor` supplies the vendor's calls. All its members are static and noexcept:
//
//   Device, Sharing        DeviceBase of device_base.h and Sharing of sharing.h, or with the same members
//   Pool                   type: the vendor's handle of a pool
//   Called<Result> total_memory(Native, std::size_t&)
//   Called<Result> create(Native, Pool&)            destroy(Pool)
//   Called<Result> set_up(Pool, std::uint64_t kept)           those two settings
//   Called<Result> set_access(Pool, const Access*, count)
//   bool figures(Pool, std::uint64_t& reserved, std::uint64_t& used)     false where the vendor doesn't tell
//   void trim(Pool)
//   Result out_of_memory
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "results.h"

namespace anyplace::backend {

/// Thread-safe.
template <class Vendor>
class MemoryPool {
 public:
  using Device = typename Vendor::Device;
  using Result = typename Device::Result;
  using Pool = typename Vendor::Pool;
  using Access = typename Vendor::Sharing::Access;

  /// A pool of `device`, which isn't made before it is needed.
  MemoryPool(Device& device, typename Vendor::Sharing& sharing) noexcept : device_(device), sharing_(sharing) {}
  MemoryPool(const MemoryPool&) = delete;  // it owns the pool
  MemoryPool& operator=(const MemoryPool&) = delete;

  /// Whether the vendor's pool was made.
  bool is_made() const noexcept { return made() != Pool{}; }
  /// Runs allocate(pool) and returns its Result. If there was no memory, it gives unused memory of the pool back to the
  /// system and runs allocate once more. Throws if no pool can be made.
  template <class Allocate>
  Result allocate_from(Allocate&& allocate) {
    const Pool pool = made() != Pool{} ? made() : make();
    const Result result = allocate(pool);
    if (result != Vendor::out_of_memory) return result;
    trim();
    return allocate(pool);
  }
  /// The bytes that the pool holds and nobody uses.
  std::uint64_t idle() const noexcept {
    std::uint64_t reserved = 0;
    std::uint64_t used = 0;
    const Pool pool = made();
    return pool != Pool{} && Vendor::figures(pool, reserved, used) && reserved > used ? reserved - used : 0;
  }
  /// Gives unused memory back to the system, for an allocation elsewhere that failed.
  void trim() noexcept {
    if (const Pool pool = made(); pool != Pool{}) Vendor::trim(pool);
  }
  /// Changes the access to the pool, if there is one. A failure is thrown by `reader`, whose call it is.
  void set_access(const Access& access, Device& reader) {
    const Pool pool = made();
    if (pool == Pool{}) return;
    const auto set = Vendor::set_access(pool, &access, 1);
    if (set.result != Result{}) reader.fail_with(set.result, set.call, device_);
  }
  /// Destroys the pool, if there is one. Returns the vendor's result.
  Result close() noexcept {
    const Pool pool = pool_.exchange(Pool{}, std::memory_order_acq_rel);
    return pool == Pool{} ? Result{} : Vendor::destroy(pool).result;
  }

 private:
  /// The divisor of the device's memory that gives how much may stay in the pool unused.
  static constexpr std::size_t kept_share = 16;

  Pool made() const noexcept { return pool_.load(std::memory_order_acquire); }
  Pool make() {
    return sharing_.with_readers([this](const std::vector<Access>& readers) {
      if (const Pool pool = made(); pool != Pool{}) return pool;
      std::size_t total = 0;
      device_.check(Vendor::total_memory(device_.id(), total));
      Pool pool{};
      device_.check(Vendor::create(device_.id(), pool));
      auto set = Vendor::set_up(pool, total / kept_share);
      if (set.result == Result{} && !readers.empty()) set = Vendor::set_access(pool, readers.data(), readers.size());
      if (set.result != Result{}) {
        static_cast<void>(Vendor::destroy(pool));
        device_.fail(set);
      }
      pool_.store(pool, std::memory_order_release);
      return pool;
    });
  }

  Device& device_;
  typename Vendor::Sharing& sharing_;
  std::atomic<Pool> pool_{Pool{}};  ///< made under Sharing's mutex
};

}  // namespace anyplace::backend
