// SPDX-License-Identifier: Apache-2.0
//
// BackingFile: the file behind mapped memory. The process has one, a sparse file without a name: pages that aren't
// touched take no memory.
//
// Where memory lies in the file can be chosen until the memory holds data. It is put at the offset that equals the
// address at which it is mapped, if that offset is free. Neighbours in the address space are then neighbours in the
// file, and the system keeps them as one mapping; the number of a process's mappings is limited (vm.max_map_count).
// Reserved addresses without memory are a mapping of the file at that offset too, without access. So mapping only gives
// the access, for any number of neighbours by one call, and unmapping takes it away. Either may split a mapping in two.
#pragma once

#include <anyplace/backend/abi.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace anyplace::cpu_sim {

class BackingFile {
 public:
  /// The process's file. It is made at the first call and kept until the process ends.
  static BackingFile& get();
  BackingFile(const BackingFile&) = delete;  // A copy would give out the same ranges again.
  BackingFile& operator=(const BackingFile&) = delete;

  bool exists() const noexcept { return descriptor_ >= 0; }
  /// Tells why there is no file, and which system call failed.
  const std::string& why_not() const noexcept { return why_not_; }
  int descriptor() const noexcept { return descriptor_; }

  /// Takes an empty range of `bytes` of the file, at offset `wanted` if that is free. Returns its offset. Throws
  /// Failure(OUT_OF_MEMORY).
  std::uint64_t place(std::uint64_t wanted, std::uint64_t bytes);
  /// Gives a range back and drops its data.
  void give_back(std::uint64_t offset, std::uint64_t bytes) noexcept;
  /// Gives a range back if it has no data. Returns false if it has.
  bool give_back_if_empty(std::uint64_t offset, std::uint64_t bytes) noexcept;

  // -- Mappings at addresses that belong to the caller. Each returns 0 or the errno.
  int reserve(anyplace_address address, std::uint64_t bytes) const noexcept;
  int map(anyplace_address address, std::uint64_t offset, std::uint64_t bytes) const noexcept;
  /// If the system has no further mapping left, the old mapping stays, without access, until the next one replaces it.
  void unmap(anyplace_address address, std::uint64_t offset, std::uint64_t bytes) noexcept;

 private:
  BackingFile();
  ~BackingFile() = delete;

  int map_with(int access, anyplace_address address, std::uint64_t offset, std::uint64_t bytes) const noexcept;
  bool holds_data(std::uint64_t offset, std::uint64_t bytes) const noexcept;
  void erase(std::uint64_t offset) noexcept;

  int descriptor_ = -1;
  std::string why_not_;
  /// Somewhere in a reserved range an old mapping stayed: not every address has the file at that offset any more. It is
  /// so rare, and so late in a process's life, that nobody keeps where.
  std::atomic<bool> has_old_mappings_{false};

  std::mutex mutex_;
  std::map<std::uint64_t, std::uint64_t> places_;  // mutex_ guards it; it maps offsets to ends.
  std::uint64_t elsewhere_;  // mutex_ guards it; memory whose wanted offset isn't free comes here.
};

}  // namespace anyplace::cpu_sim
