// SPDX-License-Identifier: Apache-2.0
//
// VirtualMemory: addresses and the memory behind them, made apart, of all devices. Addresses are addresses of this
// process. Memory counts against its device's limit from its making to its end, mapped or not; ranges cost nothing.
// What is in it when it is mapped is in backing_file.h.
//
// Unlike the rest of the backend this knows its live handles: what is mapped where has to be looked up in any case.
#ifndef ANYPLACE_BACKENDS_CPU_SIM_VIRTUAL_MEMORY_H
#define ANYPLACE_BACKENDS_CPU_SIM_VIRTUAL_MEMORY_H

#include <anyplace/backend/abi.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "address_space.h"
#include "backing_file.h"
#include "device.h"

namespace anyplace::cpu_sim {

inline constexpr uint64_t kGranularity = 2 << 20;

/// Memory without an address. Gives back its bytes and its place when it ends.
class Physical {
 public:
  Physical(Device& device, uint64_t bytes);
  ~Physical();
  Physical(const Physical&) = delete;
  Physical& operator=(const Physical&) = delete;

  const Device& device() const noexcept { return device_; }
  uint64_t bytes() const noexcept { return bytes_; }

  // -- Under the mutex of VirtualMemory.
  /// Throws Failure(OUT_OF_MEMORY).
  void map_at(anyplace_address address);
  /// From where map_at put it.
  void unmap_at(anyplace_address address) noexcept;

 private:
  void forget_mapping() noexcept;

  Device& device_;
  const uint64_t bytes_;
  uint32_t mappings_ = 0;
  bool placed_ = false;  ///< has a place; memory that is neither mapped nor written to needs none
  uint64_t offset_ = 0;  ///< if placed_
};

class VirtualMemory {
 public:
  explicit VirtualMemory(AddressSpace& addresses) noexcept : addresses_(addresses) {}
  VirtualMemory(const VirtualMemory&) = delete;
  VirtualMemory& operator=(const VirtualMemory&) = delete;
  ~VirtualMemory() = default;  // only of an unused one: what is mapped stays until the process ends

  static bool is_supported() { return BackingFile::get().exists(); }

  // Throw Failure: UNSUPPORTED where the process can't have it; INVALID_ARGUMENT for what isn't a multiple of the
  // granularity, or isn't reserved, made or mapped in that way; OUT_OF_MEMORY.
  anyplace_address reserve(const Device& device, uint64_t bytes);
  void release(const Device& device, anyplace_address address, uint64_t bytes);
  anyplace_physical create(Device& device, uint64_t bytes);
  void destroy(anyplace_physical physical);
  void map(const Device& device, anyplace_address address, anyplace_physical physical);
  void unmap(const Device& device, anyplace_address address, uint64_t bytes);

 private:
  struct Range {
    int32_t device;
    uint64_t bytes;
  };
  using Mappings = std::map<anyplace_address, std::shared_ptr<Physical>>;

  void require_reserved(const Device& device, anyplace_address address, uint64_t bytes) const;
  void require_unmapped(anyplace_address address, uint64_t bytes) const;
  void require_whole_mappings(const Device& device, anyplace_address address, uint64_t bytes) const;

  AddressSpace& addresses_;                     // holds what is in mappings_
  std::mutex mutex_;                            // guards all below; before those of DeviceMemory and BackingFile
  std::map<anyplace_address, Range> reserved_;  // disjoint
  Mappings mappings_;                           // disjoint, each inside a reserved range
  std::unordered_map<anyplace_physical, std::shared_ptr<Physical>> physicals_;  // by handle; mappings hold them, too
  anyplace_physical last_ = 0;                                                  // handles are never used again
};

}  // namespace anyplace::cpu_sim

#endif  // ANYPLACE_BACKENDS_CPU_SIM_VIRTUAL_MEMORY_H
