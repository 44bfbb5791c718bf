// SPDX-License-Identifier: Apache-2.0
//
// Heap: memory of one kind, up to a limit. This backend takes it from the host, so addresses are the host's.
#pragma once

#include <anyplace/backend/abi.h>

#include <cstdint>
#include <mutex>
#include <unordered_map>

namespace newname_backend {

class Heap {
 public:
  /// The alignment of every allocation, in bytes. anyplace asks for 256 at least.
  static constexpr std::uint64_t alignment = 256;

  explicit Heap(std::uint64_t total_bytes) : total_(total_bytes) {}
  Heap(const Heap&) = delete;  // its allocations are freed where they were made
  Heap& operator=(const Heap&) = delete;

  /// Throws Failure(OUT_OF_MEMORY).
  anyplace_address allocate(std::uint64_t bytes);
  /// Throws Failure(INVALID_ARGUMENT) for an address that allocate() didn't return.
  void free(anyplace_address address);

  std::uint64_t total_bytes() const noexcept { return total_; }
  std::uint64_t free_bytes() const;

 private:
  const std::uint64_t total_;
  mutable std::mutex mutex_;  // guards the members below; a leaf
  std::unordered_map<anyplace_address, std::uint64_t> sizes_;
  std::uint64_t used_ = 0;
};

}  // namespace newname_backend
