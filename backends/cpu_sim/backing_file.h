// SPDX-License-Identifier: Apache-2.0
//
// BackingFile: what is behind mapped memory. One file of this process that has no name and no size to speak of: what
// isn't touched takes nothing.
//
// Where in the file memory lies is free to choose as long as it holds nothing. So it goes to the offset that equals the
// address it is mapped at, if that is free: neighbours in the address space are then neighbours in the file, and the
// system keeps them as one mapping, of which a process may have only so many (vm.max_map_count). What is reserved and
// has nothing mapped is the file at that offset, too, without access: so to unmap is to take the access away, which
// needs no further mapping.
#ifndef ANYPLACE_BACKENDS_CPU_SIM_BACKING_FILE_H
#define ANYPLACE_BACKENDS_CPU_SIM_BACKING_FILE_H

#include <anyplace/backend/abi.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace anyplace::cpu_sim {

class BackingFile {
 public:
  /// The process's, made at the first call, kept until it ends.
  static BackingFile& get();
  BackingFile(const BackingFile&) = delete;  // places are given out once
  BackingFile& operator=(const BackingFile&) = delete;

  bool exists() const noexcept { return descriptor_ >= 0; }
  /// Why there is none, and which call said so.
  const std::string& why_not() const noexcept { return why_not_; }

  /// A place for `bytes` that holds nothing, at `wanted` if that is free. Throws Failure(OUT_OF_MEMORY).
  uint64_t place(uint64_t wanted, uint64_t bytes);
  /// Ends a place, and what it holds.
  void give_back(uint64_t offset, uint64_t bytes) noexcept;
  /// Ends a place if it holds nothing; false if it does.
  bool give_back_if_empty(uint64_t offset, uint64_t bytes) noexcept;

  // -- Of addresses that are the caller's. Returns 0 or the error's number.
  int reserve(anyplace_address address, uint64_t bytes) const noexcept;
  int map(anyplace_address address, uint64_t offset, uint64_t bytes) const noexcept;
  /// Where the system has no mapping left to say it with, what was there stays: nobody may touch it, and whatever is
  /// mapped there next replaces it.
  void unmap(anyplace_address address, uint64_t offset, uint64_t bytes) const noexcept;

 private:
  BackingFile();
  ~BackingFile() = delete;

  int map_with(int access, anyplace_address address, uint64_t offset, uint64_t bytes) const noexcept;
  bool holds_data(uint64_t offset, uint64_t bytes) const noexcept;
  void erase(uint64_t offset) noexcept;

  int descriptor_ = -1;
  std::string why_not_;

  std::mutex mutex_;
  std::map<uint64_t, uint64_t> places_;  // guarded by mutex_; offset -> end
  uint64_t elsewhere_;                   // guarded by mutex_; where a place that isn't the wanted one comes next
};

}  // namespace anyplace::cpu_sim

#endif  // ANYPLACE_BACKENDS_CPU_SIM_BACKING_FILE_H
