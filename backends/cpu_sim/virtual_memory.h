// SPDX-License-Identifier: Apache-2.0
//
// VirtualMemory is that of all devices: addresses are reserved and memory is made separately. Addresses are
// addresses of this process. Memory counts against its device's limit from its making to its end, whether it is mapped
// or not; ranges cost nothing. Mapped memory lies in the file of backing_file.h.
//
// Unlike the rest of the backend, this keeps tables of its live handles, because it has to look up what is mapped where
// anyway.
#pragma once

#include <anyplace/backend/abi.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "address_space.h"
#include "backing_file.h"
#include "device.h"
#include "file_run.h"

namespace anyplace::cpu_sim {

inline constexpr std::uint64_t page_granularity = 2 << 20;

/// Physical is memory without an address. Its destructor gives back its bytes of the limit and its range of the file.
class Physical {
 public:
  Physical(Device& device, std::uint64_t bytes);
  ~Physical();
  Physical(const Physical&) = delete;
  Physical& operator=(const Physical&) = delete;

  const Device& device() const noexcept { return device_; }
  std::uint64_t bytes() const noexcept { return bytes_; }

  // -- The caller holds the mutex of VirtualMemory.
  /// Notes one mapping more, at that address. Throws Failure(OUT_OF_MEMORY).
  void add_mapping(anyplace_address address);
  void remove_mapping() noexcept;
  /// Returns true at the first call: nobody has written to the memory.
  bool take_fresh() noexcept { return std::exchange(fresh_, false); }
  std::uint64_t offset() const noexcept { return offset_; }  ///< Only mapped memory has one.

 private:
  Device& device_;
  const std::uint64_t bytes_;
  std::uint32_t mappings_ = 0;
  bool fresh_ = true;
  bool placed_ = false;       ///< It has a range of the file; memory that is neither mapped nor written to needs none.
  std::uint64_t offset_ = 0;  ///< It is valid if placed_.
};

class VirtualMemory {
 public:
  explicit VirtualMemory(AddressSpace& addresses) noexcept : addresses_(addresses) {}
  VirtualMemory(const VirtualMemory&) = delete;
  VirtualMemory& operator=(const VirtualMemory&) = delete;
  ~VirtualMemory() = default;  // Only an unused object is destroyed: mapped memory stays until the process ends.

  static bool is_supported() { return BackingFile::get().exists(); }

  // These throw Failure: UNSUPPORTED where the process can't have virtual memory; INVALID_ARGUMENT for sizes and
  // addresses that aren't multiples of the granularity, or aren't reserved, made or mapped in that way; OUT_OF_MEMORY.
  anyplace_address reserve(const Device& device, std::uint64_t bytes);
  void release(const Device& device, anyplace_address address, std::uint64_t bytes);
  anyplace_physical create(Device& device, std::uint64_t bytes);
  void destroy(anyplace_physical physical);
  void map(const Device& device, anyplace_address address, anyplace_physical physical) {
    map_all(device, address, {&physical, 1});
  }
  /// Maps them one behind the other: all of them or none.
  void map_all(const Device& device, anyplace_address address, std::span<const anyplace_physical> physicals);
  void unmap(const Device& device, anyplace_address address, std::uint64_t bytes);

  /// Returns the stretches of the file behind the mappings that have these bytes, each whole, neighbours as one; empty
  /// if some of the bytes aren't mapped. `into` says how far the address is from the first stretch's beginning.
  std::vector<FileRun> runs_behind(anyplace_address address, std::uint64_t bytes, std::uint64_t& into);

 private:
  struct Range {
    std::int32_t device;
    std::uint64_t bytes;
  };
  using Mappings = std::map<anyplace_address, std::shared_ptr<Physical>>;

  const std::shared_ptr<Physical>& memory_for(const Device& device, anyplace_physical physical) const;
  void protect(const Device& device, anyplace_address begin, anyplace_address end);
  void map_in_file(const Device& device, anyplace_address begin, anyplace_address end);
  void unmap_all(anyplace_address begin, anyplace_address end) noexcept;
  void require_reserved(const Device& device, anyplace_address address, std::uint64_t bytes) const;
  void require_unmapped(anyplace_address address, std::uint64_t bytes) const;
  void require_whole_mappings(const Device& device, anyplace_address address, std::uint64_t bytes) const;

  AddressSpace& addresses_;  // It has the same ranges as mappings_.
  std::mutex mutex_;         // It guards all below, and is taken before those of DeviceMemory and BackingFile.
  std::map<anyplace_address, Range> reserved_;  // They are disjoint.
  Mappings mappings_;                           // They are disjoint, and each is inside a reserved range.
  std::unordered_map<anyplace_physical, std::shared_ptr<Physical>>
      physicals_;               // The keys are handles; mappings hold them, too.
  anyplace_physical last_ = 0;  // Handles are never used again.
};

}  // namespace anyplace::cpu_sim
