// SPDX-License-Identifier: Apache-2.0
//
// Memory: a device's memory as shared virtual memory, so that an address is a number that commands take as it is, also
// from the middle of an allocation. Coarse-grained, which every driver with SVM has; managed memory is fine-grained.
//
// Two things that OpenCL doesn't do are done here: alignment past that of its largest type (128 bytes), and a limit:
// some drivers hand out SVM until the host has no more.
#pragma once

#include <cstdint>
#include <mutex>
#include <unordered_map>

#include "opencl.h"

namespace opencl_backend {

constexpr std::uint64_t address_alignment = 256;

class Memory {
 public:
  /// `largest`: of one allocation. Both in bytes.
  Memory(std::uint64_t total, std::uint64_t largest) : total_(total), largest_(largest) {}

  /// Throws OUT_OF_MEMORY.
  anyplace_address allocate(const Context& context, bool managed, std::uint64_t bytes);
  void free(const Context& context, anyplace_address address);
  bool is_empty();
  std::uint64_t total() const noexcept { return total_; }

 private:
  struct Block {
    void* base = nullptr;  // what OpenCL gave; the address handed out is within it
    std::uint64_t bytes = 0;
  };

  const std::uint64_t total_;
  const std::uint64_t largest_;
  std::mutex mutex_;  // guards all below; a leaf
  std::unordered_map<anyplace_address, Block> blocks_;
  std::uint64_t in_use_ = 0;
};

/// Host memory for copies. OpenCL has no pinning: page-aligned memory is what drivers copy from and to best.
anyplace_address allocate_host(std::uint64_t bytes);
void free_host(anyplace_address address) noexcept;

}  // namespace opencl_backend
