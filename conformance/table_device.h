// SPDX-License-Identifier: Apache-2.0
//
// The virtual memory of a device, used through its backend's table, because the public API has no calls for it.
#pragma once

#include <cstdint>
#include <vector>

#include "table_backend.h"

namespace anyplace::conformance {

/// Calls fail the case unless the entry returns OK; the report shows the entry and its message.
class TableDevice {
 public:
  /// Loads the plugin of the place under test.
  explicit TableDevice(const Run& run, Caller caller = {});

  // -- Virtual memory. Sizes are in granules.
  const TableBackend& backend() const noexcept { return backend_; }
  std::uint64_t granule() const noexcept { return granule_; }
  anyplace_address reserve(std::uint64_t granules, Caller caller = {});
  void release(anyplace_address address, std::uint64_t granules, Caller caller = {});
  anyplace_physical create(std::uint64_t granules, Caller caller = {});
  void destroy(anyplace_physical physical, Caller caller = {});
  void map(anyplace_address address, anyplace_physical physical, Caller caller = {});
  void unmap(anyplace_address address, std::uint64_t granules, Caller caller = {});
  /// Skips the case if the backend lacks the entry.
  void require_map_all() const;
  void map_all(anyplace_address address, const std::vector<anyplace_physical>& physicals, Caller caller = {});
  /// Returns the entry's status, OK or not, and drops its message. `*out` has what was made.
  anyplace_status try_reserve(std::uint64_t bytes, anyplace_address* out, Caller caller = {});
  anyplace_status try_create(std::uint64_t bytes, anyplace_physical* out, Caller caller = {});

  // -- Contents of memory, through a stream of the calling thread. The calls return when the work is done.
  void fill(anyplace_address address, std::uint8_t value, std::uint64_t bytes, Caller caller = {});
  void write(anyplace_address address, const Bytes& contents, Caller caller = {});
  Bytes read(anyplace_address address, std::uint64_t bytes, Caller caller = {});
  void copy(anyplace_address destination, anyplace_address source, std::uint64_t bytes, Caller caller = {});
  /// Reads through a stream of the backend's other device.
  Bytes read_from_second(anyplace_address address, std::uint64_t bytes, Caller caller = {});
  /// Gives the other device access to the memory of this one.
  void enable_second(Caller caller = {});

  /// The total memory in the properties, or ANYPLACE_UNKNOWN.
  std::uint64_t total_memory(Caller caller = {});
  anyplace_memory_info memory(Caller caller = {});

 private:
  /// Makes a stream for one piece of work; finish() synchronises and destroys it.
  anyplace_stream begin(std::int32_t device, Caller caller);
  void finish(anyplace_stream stream, Caller caller);
  std::int32_t second() const noexcept { return backend_.second(); }

  TableBackend backend_;
  std::int32_t device_;
  std::uint64_t granule_ = 0;
};

}  // namespace anyplace::conformance
