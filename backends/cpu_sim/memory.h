// SPDX-License-Identifier: Apache-2.0
//
// Memory: what a device has handed out, against its limit, and which memory of the host's is registered with it.
// Addresses are addresses of this process. Contents are copy.h's business.
//
// Device and managed memory, and memory apart from its address (virtual_memory.h), count against the limit, pinned
// memory doesn't. Large blocks take no real memory until they are touched. Memory that is freed in a stream's order
// counts, and isn't handed out again, until the stream gets there.
#ifndef ANYPLACE_BACKENDS_CPU_SIM_MEMORY_H
#define ANYPLACE_BACKENDS_CPU_SIM_MEMORY_H

#include <anyplace/backend/abi.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>

#include "address_space.h"
#include "command.h"

namespace anyplace::cpu_sim {

inline constexpr uint64_t kAddressAlignment = 256;

class DeviceMemory {
 public:
  DeviceMemory(int32_t device, uint64_t limit, AddressSpace& addresses)
      : device_(device), limit_(limit), addresses_(addresses) {}
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  ~DeviceMemory() = default;  // what was not freed stays until the process ends

  uint64_t limit() const noexcept { return limit_; }
  uint64_t free_bytes() const;

  /// Throws Failure(OUT_OF_MEMORY) with the bytes requested, free, pending and the limit.
  anyplace_address allocate(uint32_t kind, uint64_t bytes);
  /// Throws Failure(INVALID_ARGUMENT) for what isn't allocated here, is of another kind, or is being freed already.
  void free(uint32_t kind, anyplace_address address);

  /// The two halves of a free in a stream's order. begin_free throws as free does; cancel_free takes it back.
  void begin_free(anyplace_address address);
  void cancel_free(anyplace_address address) noexcept;
  void finish_free(anyplace_address address) noexcept;

  /// Bytes of the limit for memory that is kept elsewhere. Throws as allocate does.
  void take(uint64_t bytes) { reserve(ANYPLACE_MEMORY_DEVICE, bytes); }
  void give_back(uint64_t bytes) noexcept;

 private:
  struct Block {
    uint64_t bytes;
    uint32_t kind;
    bool freeing;
  };

  Block& find(anyplace_address address);
  void erase(anyplace_address address, const Block& block) noexcept;
  void reserve(uint32_t kind, uint64_t bytes);
  [[noreturn]] void out_of_memory(uint64_t bytes, const std::string& why) const;

  const int32_t device_;
  const uint64_t limit_;
  AddressSpace& addresses_;  // holds what is in blocks_

  mutable std::mutex mutex_;
  std::unordered_map<anyplace_address, Block> blocks_;  // guarded by mutex_
  uint64_t used_ = 0;                                   // guarded by mutex_
  uint64_t freeing_ = 0;                                // guarded by mutex_; part of used_
};

/// A free that takes effect in a stream's order.
class FreeMemory final : public Command {
 public:
  FreeMemory(DeviceMemory& memory, anyplace_address address) noexcept : memory_(memory), address_(address) {}

  Progress execute(Stream&) noexcept override {
    memory_.finish_free(address_);
    return Progress::kDone;
  }

 private:
  DeviceMemory& memory_;
  anyplace_address address_;
};

/// Host memory registered with one device. Nothing depends on it here; misuse is told, as a vendor would.
class HostRegistrations {
 public:
  /// Throws Failure(INVALID_ARGUMENT) for an empty or impossible range and for one that overlaps a registered one.
  void add(const void* address, uint64_t bytes);
  /// Throws Failure(INVALID_ARGUMENT) for an address that doesn't begin a registered range.
  void remove(const void* address);
  /// Whether the address is in a registered range or is the end of one.
  bool contain(anyplace_address address) const noexcept;

 private:
  mutable std::mutex mutex_;
  std::map<uint64_t, uint64_t> ranges_;  // guarded by mutex_; begin -> end, disjoint
};

}  // namespace anyplace::cpu_sim

#endif  // ANYPLACE_BACKENDS_CPU_SIM_MEMORY_H
