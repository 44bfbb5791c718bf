// SPDX-License-Identifier: Apache-2.0
//
// MemorySource: gives a heap its memory. It calls a device's entries (table_source.h), or is a test's.
#pragma once

#include <cstdint>

#include "anyplace/backend/abi.h"

namespace anyplace::detail {

/// The outcome of a request to a source. Outputs are written only for `done`. A vendor's message stays with the thread
/// (take_message).
enum class SourceResult { done, out_of_memory, failed };

/// The methods are called under the allocator's lock, from any thread, never inside a callback. Sizes are in bytes.
class MemorySource {
 public:
  virtual ~MemorySource() = default;

  /// The unit of virtual memory, a power of two; 0 if the device has no virtual memory.
  virtual std::uint64_t page_bytes() noexcept = 0;
  /// The status behind the last result that wasn't `done`, for the Error.
  virtual anyplace_status last_status() const noexcept { return ANYPLACE_STATUS_BACKEND_FAILED; }

  // -- Memory with an address.
  virtual SourceResult allocate(std::uint64_t bytes, anyplace_address* address) noexcept = 0;
  virtual void free(anyplace_address address, std::uint64_t bytes) noexcept = 0;

  // -- Addresses and memory, made separately. All sizes and addresses are multiples of page_bytes().
  virtual SourceResult reserve(std::uint64_t bytes, anyplace_address* address) noexcept = 0;
  virtual void release(anyplace_address address, std::uint64_t bytes) noexcept = 0;
  virtual SourceResult create(std::uint64_t bytes, anyplace_physical* physical) noexcept = 0;
  virtual void destroy(anyplace_physical physical) noexcept = 0;
  /// Maps `count` memories of one page each, one behind the other. *mapped becomes how many of them, from the first on,
  /// are mapped: all if the result is `done`, otherwise those that the caller has to unmap.
  virtual SourceResult map_all(anyplace_address address, const anyplace_physical* physicals, std::uint64_t count,
                               std::uint64_t* mapped) noexcept = 0;
  /// If it returns false, it isn't known whether the range is still mapped. The memory may be destroyed and the range
  /// released nevertheless.
  virtual bool unmap(anyplace_address address, std::uint64_t bytes) noexcept = 0;
};

}  // namespace anyplace::detail
