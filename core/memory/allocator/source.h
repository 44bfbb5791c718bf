// SPDX-License-Identifier: Apache-2.0
//
// MemorySource: where a heap's memory comes from: a device's entries (table_source.h), or a test's numbers.
#pragma once

#include <cstdint>

#include "anyplace/backend/abi.h"

namespace anyplace::detail {

/// What a request to a source came to. Only `done` writes the outputs. A vendor's message stays with the thread
/// (take_message).
enum class SourceResult { done, out_of_memory, failed };

/// Calls are made under the allocator's lock, from any thread, never inside a callback. Sizes are in bytes.
class MemorySource {
 public:
  virtual ~MemorySource() = default;

  /// The unit of virtual memory, a power of two; 0 where the device hasn't got any.
  virtual std::uint64_t page_bytes() noexcept = 0;
  /// The status behind the last result that wasn't `done`, for the Error.
  virtual anyplace_status last_status() const noexcept { return ANYPLACE_STATUS_BACKEND_FAILED; }

  // -- Memory with an address.
  virtual SourceResult allocate(std::uint64_t bytes, anyplace_address* address) noexcept = 0;
  virtual void free(anyplace_address address, std::uint64_t bytes) noexcept = 0;

  // -- Addresses and memory apart. All sizes and addresses are multiples of page_bytes().
  virtual SourceResult reserve(std::uint64_t bytes, anyplace_address* address) noexcept = 0;
  virtual void release(anyplace_address address, std::uint64_t bytes) noexcept = 0;
  virtual SourceResult create(std::uint64_t bytes, anyplace_physical* physical) noexcept = 0;
  virtual void destroy(anyplace_physical physical) noexcept = 0;
  /// `count` memories of one page each, one behind the other. *mapped: how many of them, from the first on, are mapped
  /// afterwards; all if it is done. Those that are when it isn't are the caller's to unmap.
  virtual SourceResult map_all(anyplace_address address, const anyplace_physical* physicals, std::uint64_t count,
                               std::uint64_t* mapped) noexcept = 0;
  /// False: it is unknown whether the range is still mapped. The memory may be destroyed and the range released all the
  /// same.
  virtual bool unmap(anyplace_address address, std::uint64_t bytes) noexcept = 0;
};

}  // namespace anyplace::detail
