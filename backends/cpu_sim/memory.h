// SPDX-License-Identifier: Apache-2.0
//
// DeviceMemory knows what a device has allocated, against its limit; HostRegistrations knows which of the host's memory
// is registered with it. Addresses are addresses of this process. copy.h has the copies and fills.
//
// Device and managed memory and the physical memory of virtual_memory.h count against the limit; pinned memory doesn't.
// Large blocks take no real memory until they are touched. Memory that is freed in a stream's order counts, and isn't
// given out again, until the stream reaches the free.
#pragma once

#include <anyplace/backend/abi.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <unordered_map>

#include "address_space.h"
#include "command.h"
#include "file_run.h"
#include "freed_blocks.h"
#include "host_memory.h"
#include "operation.h"

namespace anyplace::cpu_sim {

class DeviceMemory {
 public:
  DeviceMemory(std::int32_t device, std::uint64_t limit, AddressSpace& addresses)
      : device_(device), limit_(limit), addresses_(addresses) {}
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  ~DeviceMemory() = default;  // Memory that was not freed stays until the process ends.

  std::uint64_t limit() const noexcept { return limit_; }
  std::uint64_t free_bytes() const;

  /// Throws Failure(OUT_OF_MEMORY) with the bytes requested, free, pending and the limit; for SHAREABLE memory as
  /// FileMemory::take, too. `operation` is a literal for reports.
  anyplace_address allocate(std::uint32_t kind, std::uint64_t bytes, const char* operation = "memory_allocate");
  /// Throws Failure(INVALID_ARGUMENT) for memory that wasn't allocated here, is of another kind, or is being freed
  /// already.
  void free(std::uint32_t kind, anyplace_address address);

  /// These are the two halves of a free in a stream's order. begin_free throws as free does; cancel_free undoes it.
  void begin_free(anyplace_address address);
  void cancel_free(anyplace_address address) noexcept;
  void finish_free(anyplace_address address) noexcept;

  /// Tells where the SHAREABLE memory that begins at the address is in the file. It is empty if none does.
  FileRun run_at(anyplace_address address) const noexcept;

  /// Counts bytes against the limit for memory that is kept elsewhere. Throws as allocate does.
  void take(std::uint64_t bytes) { reserve(ANYPLACE_MEMORY_DEVICE, bytes); }
  void give_back(std::uint64_t bytes) noexcept;

 private:
  struct Block {
    std::uint64_t bytes;
    std::uint32_t kind;  // It is DEVICE for SHAREABLE, too.
    bool freeing;
    FileRun run;  // It is empty for memory that can't be shared.
  };

  Block take_from_host(std::uint32_t kind, std::uint64_t bytes, anyplace_address& address, const char* operation);
  void give_to_host(anyplace_address address, const Block& block, const char* operation) noexcept;
  Block& find(anyplace_address address);
  void erase(anyplace_address address, const Block& block) noexcept;
  void reserve(std::uint32_t kind, std::uint64_t bytes);
  [[noreturn]] void out_of_memory(std::uint64_t bytes, const std::string& why) const;

  const std::int32_t device_;
  const std::uint64_t limit_;
  AddressSpace& addresses_;  // It has the same ranges as blocks_.

  mutable std::mutex mutex_;
  std::unordered_map<anyplace_address, Block> blocks_;  // mutex_ guards it.
  std::uint64_t used_ = 0;                              // mutex_ guards it.
  std::uint64_t freeing_ = 0;                           // mutex_ guards it; it is a part of used_.
  FreedBlocks freed_;                                   // They don't count against the limit.
};

/// This command frees memory in a stream's order.
class FreeMemory final : public Command {
 public:
  FreeMemory(DeviceMemory& memory, anyplace_address address) noexcept : memory_(memory), address_(address) {}

  Progress execute(Stream&) noexcept override {
    memory_.finish_free(address_);
    return Progress::done;
  }
  void describe(Operation& out) const override {
    out.what = "free memory";
    out.touches_all = true;
  }

 private:
  DeviceMemory& memory_;
  anyplace_address address_;
};

/// HostRegistrations has the host memory that is registered with one device. Copies don't need it here, but misuse is
/// refused as a vendor's driver does.
class HostRegistrations {
 public:
  /// Throws Failure(INVALID_ARGUMENT) for an empty or impossible range and for one that overlaps a registered one.
  void add(const void* address, std::uint64_t bytes);
  /// Throws Failure(INVALID_ARGUMENT) for an address that doesn't begin a registered range.
  void remove(const void* address);
  /// Returns whether the address is in a registered range or is the end of one.
  bool contain(anyplace_address address) const noexcept;

 private:
  mutable std::mutex mutex_;
  std::map<std::uint64_t, std::uint64_t> ranges_;  // mutex_ guards it; it maps begins to ends, which are disjoint.
};

}  // namespace anyplace::cpu_sim
