// SPDX-License-Identifier: Apache-2.0
//
// VirtualMemory: reserves addresses, makes memory and maps the one to the other. Mapped memory is accessible to its
// device and to those that Sharing lists. It knows all mappings, so that a wrong range is refused before anything is
// unmapped.
//
// `Vendor` supplies the vendor's calls. All its members are static and, except is_supported, noexcept:
//
//   Device, Scope, End       DeviceBase, DeviceScope and EndScope of device_base.h, or with the same members
//   Sharing, Memory          the device's; Sharing of sharing.h; Memory has trim(), which gives back what is unused
//   Physical                 type: the vendor's handle of memory without an address
//   bool is_supported(const Device&)                            throws
//   Called<Result> granularity(Native, std::uint64_t&)
//   Called<Result> reserve(anyplace_address&, bytes)            release(address, bytes)
//   bool is_shareable(const Device&)                            whether to make memory that can be exported; throws
//   Called<Result> create(Native, Physical&, bytes, bool& shareable)      destroy(Physical)
//                            clears `shareable` where the driver makes none that can be exported, and makes other
//   Called<Result> map(address, bytes, Physical)                unmap(address, bytes)
//   Called<Result> set_access(address, bytes, const Access*, count)
//   Result out_of_memory
//   bool one_access_for_several   whether set_access takes a range of several mappings that adjoin
//
// These are for memory of several processes (mapped_sharing.h), and needed only where the vendor has it:
//
//   Called<Result> export_at(address, int& descriptor)          a new one, for the memory that is mapped there
//   Called<Result> import(int descriptor, Physical&)            which stays the caller's
//
// On a lost device release, destroy and unmap aren't called, and while the process exits their failures are ignored.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "../abi.h"
#include "results.h"

namespace anyplace::backend {

/// Throws INVALID_ARGUMENT unless the range is one mapping or several that adjoin, each whole. `mappings` is a map by
/// address, and bytes_of(value) is the size of a mapping.
template <class Mappings, class BytesOf>
void require_whole_mappings(const Mappings& mappings, anyplace_address address, std::uint64_t bytes,
                            BytesOf&& bytes_of) {
  std::uint64_t covered = 0;
  for (auto mapping = mappings.find(address);
       covered < bytes && mapping != mappings.end() && mapping->first == address + covered; ++mapping) {
    covered += bytes_of(mapping->second);
  }
  if (covered == bytes) return;
  refuse(ANYPLACE_STATUS_INVALID_ARGUMENT,
         "the " + std::to_string(bytes) + " bytes from address " + std::to_string(address) +
             " are not one mapping, nor several that adjoin, each whole: unmap what was mapped");
}

/// Thread-safe.
template <class Vendor>
class VirtualMemory {
 public:
  using Device = typename Vendor::Device;
  using Result = typename Device::Result;
  using Access = typename Vendor::Sharing::Access;

  /// Memory of a device without an address.
  struct Physical {
    Device* device = nullptr;            ///< whose memory it is
    typename Vendor::Physical handle{};  ///< the vendor's handle of it
    std::uint64_t bytes = 0;             ///< its size
  };

  /// Addresses and memory of `device`, which outlives it.
  VirtualMemory(Device& device, typename Vendor::Sharing& sharing, typename Vendor::Memory& memory)
      : device_(device),
        sharing_(sharing),
        memory_(memory),
        is_supported_(Vendor::is_supported(device)),
        is_shareable_(is_supported_ && Vendor::is_shareable(device)) {}
  VirtualMemory(const VirtualMemory&) = delete;  // one per device
  VirtualMemory& operator=(const VirtualMemory&) = delete;

  /// Whether the driver and the device have it. If not, nothing below may be called.
  bool is_supported() const noexcept { return is_supported_; }
  /// Throws UNSUPPORTED unless they have it.
  void require_supported() const {
    if (is_supported_) return;
    refuse(ANYPLACE_STATUS_UNSUPPORTED, "this device, or its driver, has no virtual memory management");
  }
  /// Whether new memory can be exported to other processes.
  bool is_shareable() const noexcept { return is_shareable_.load(std::memory_order_relaxed); }

  /// The granularity of sizes and addresses, in bytes.
  std::uint64_t granularity() const {
    std::uint64_t bytes = 0;
    device_.check(Vendor::granularity(device_.id(), bytes));
    return bytes;
  }
  /// Does what the entry virtual_reserve does.
  anyplace_address reserve(std::uint64_t bytes) {
    const typename Vendor::Scope scope(device_);
    anyplace_address address = 0;
    device_.check(Vendor::reserve(address, bytes));
    return address;
  }
  /// Does what the entry virtual_release does.
  void release(anyplace_address address, std::uint64_t bytes) {
    const typename Vendor::End scope(device_);
    const std::lock_guard lock(mutex_);
    scope.end([&] { return Vendor::release(address, bytes); });
    // Mappings that couldn't be unmapped are gone with their addresses, which may be reserved again.
    mappings_.erase(mappings_.lower_bound(address), mappings_.lower_bound(address + bytes));
  }
  /// Does what the entry physical_create does. The caller destroys it.
  Physical* create(std::uint64_t bytes);
  /// Does what the entry physical_destroy does. A failure is thrown, and the object is gone all the same.
  static void destroy(Physical* physical) {
    const std::unique_ptr<Physical> ended(physical);
    const typename Vendor::End scope(*ended->device);
    scope.end([&] { return Vendor::destroy(ended->handle); });
  }
  /// Does what the entry virtual_map does.
  void map(anyplace_address address, const Physical& physical) {
    map_all(address, 1, [&](std::uint64_t /*index*/) -> const Physical& { return physical; });
  }
  /// Maps memories one behind the other: physical_at(0), physical_at(1) and so on up to `count`. It maps all of them or
  /// none.
  template <class PhysicalAt>
  void map_all(anyplace_address address, std::uint64_t count, PhysicalAt physical_at);
  /// Unmaps a range. Throws INVALID_ARGUMENT, having unmapped nothing, unless the range is one mapping or several
  /// adjoining ones. Otherwise it tries each mapping and then throws the first failure; those that failed still count
  /// as mapped.
  void unmap(anyplace_address address, std::uint64_t bytes);

  /// The address and bytes of each mapping that overlaps these bytes; none if some of the bytes aren't mapped.
  std::vector<std::pair<anyplace_address, std::uint64_t>> mappings_behind(anyplace_address address,
                                                                          std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    std::vector<std::pair<anyplace_address, std::uint64_t>> found;
    auto mapping = mappings_.upper_bound(address);
    if (mapping == mappings_.begin()) return {};
    --mapping;
    const anyplace_address end = address + bytes;
    for (anyplace_address covered = mapping->first; covered < end; ++mapping) {
      if (mapping == mappings_.end() || mapping->first != covered) return {};
      covered += mapping->second;
      if (covered > address) found.emplace_back(*mapping);
    }
    return found;
  }

  /// Changes the access to every mapping. A failure is thrown by `reader`, whose call it is.
  void set_access(const Access& access, Device& reader) {
    const std::lock_guard lock(mutex_);
    for (const auto& [address, bytes] : mappings_) {
      const auto made = Vendor::set_access(address, bytes, &access, 1);
      if (made.result != Result{}) reader.fail_with(made.result, made.call, device_);
    }
  }

 private:
  Called<Result> give_access(anyplace_address address, std::uint64_t bytes, const std::vector<Access>& readers) const;
  void undo_mapping(anyplace_address begin, anyplace_address end) noexcept;

  Device& device_;
  typename Vendor::Sharing& sharing_;
  typename Vendor::Memory& memory_;
  const bool is_supported_;
  std::atomic<bool> is_shareable_;  // false once the driver refused it
  std::mutex mutex_;                // guards mappings_; taken under Sharing's; the vendor is called under it
  std::map<anyplace_address, std::uint64_t> mappings_;  ///< bytes by address
};

template <class Vendor>
auto VirtualMemory<Vendor>::create(std::uint64_t bytes) -> Physical* {
  const typename Vendor::Scope scope(device_);
  auto physical = std::make_unique<Physical>(Physical{&device_, {}, bytes});
  bool shareable = is_shareable();
  auto made = Vendor::create(device_.id(), physical->handle, bytes, shareable);
  if (made.result == Vendor::out_of_memory) {
    memory_.trim();
    made = Vendor::create(device_.id(), physical->handle, bytes, shareable);
  }
  if (made.result == Result{} && !shareable) is_shareable_.store(false, std::memory_order_relaxed);
  device_.check(made);
  return physical.release();
}

template <class Vendor>
template <class PhysicalAt>
void VirtualMemory<Vendor>::map_all(anyplace_address address, std::uint64_t count, PhysicalAt physical_at) {
  const typename Vendor::Scope scope(device_);
  sharing_.with_readers([&](std::vector<Access>& readers) {
    const std::lock_guard lock(mutex_);
    // The devices with access to the memory's device get access, and the device itself.
    readers.push_back(Vendor::Sharing::access_of(device_.id(), true));
    anyplace_address end = address;
    try {
      for (std::uint64_t i = 0; i < count; ++i) {
        const Physical& physical = physical_at(i);
        const auto [mapping, added] = mappings_.emplace(end, physical.bytes);
        if (!added) {
          refuse(ANYPLACE_STATUS_INVALID_ARGUMENT,
                 "there is memory mapped at address " + std::to_string(end) + " already; unmap it first");
        }
        const Called<Result> made = Vendor::map(end, physical.bytes, physical.handle);
        if (made.result != Result{}) {
          mappings_.erase(mapping);
          device_.fail(made);
        }
        end += physical.bytes;
      }
      device_.check(give_access(address, end - address, readers));
    } catch (...) {
      undo_mapping(address, end);
      throw;
    }
  });
}

/// Gives access to all mappings from `address` on.
template <class Vendor>
auto VirtualMemory<Vendor>::give_access(anyplace_address address, std::uint64_t bytes,
                                        const std::vector<Access>& readers) const -> Called<Result> {
  if constexpr (Vendor::one_access_for_several) {
    return Vendor::set_access(address, bytes, readers.data(), readers.size());
  } else {
    Called<Result> made{};
    for (auto at = mappings_.find(address); at != mappings_.end() && at->first < address + bytes; ++at) {
      made = Vendor::set_access(at->first, at->second, readers.data(), readers.size());
      if (made.result != Result{}) break;
    }
    return made;
  }
}

template <class Vendor>
void VirtualMemory<Vendor>::undo_mapping(anyplace_address begin, anyplace_address end) noexcept {
  for (auto at = mappings_.find(begin); at != mappings_.end() && at->first < end; at = mappings_.erase(at)) {
    if (!device_.lost()) static_cast<void>(Vendor::unmap(at->first, at->second));
  }
}

template <class Vendor>
void VirtualMemory<Vendor>::unmap(anyplace_address address, std::uint64_t bytes) {
  const typename Vendor::End scope(device_);
  const std::lock_guard lock(mutex_);
  require_whole_mappings(mappings_, address, bytes, [](std::uint64_t mapped) { return mapped; });
  const auto last = mappings_.lower_bound(address + bytes);
  scope.end([&] {
    Called<Result> first_failure{};
    for (auto mapping = mappings_.find(address); mapping != last;) {
      const Called<Result> made = Vendor::unmap(mapping->first, mapping->second);
      if (first_failure.result == Result{}) first_failure = made;
      mapping = made.result == Result{} ? mappings_.erase(mapping) : std::next(mapping);
    }
    return first_failure;
  });
  mappings_.erase(mappings_.lower_bound(address), last);  // the device was lost before, and nothing was erased
}

}  // namespace anyplace::backend
