// SPDX-License-Identifier: Apache-2.0
//
// The virtual memory of a device, seen through its backend's table: the public API has no calls for it.
#pragma once

#include <cstdint>
#include <vector>

#include "table_backend.h"

namespace anyplace::conformance {

/// Calls fail the case unless the entry returns OK; the report shows the entry, and the message that it left.
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
  /// Skips the case where the backend hasn't got the entry.
  void require_map_all() const;
  void map_all(anyplace_address address, const std::vector<anyplace_physical>& physicals, Caller caller = {});
  /// What the entry returns, OK or not; its message is dropped. Whatever was made is `*out`'s.
  anyplace_status try_reserve(std::uint64_t bytes, anyplace_address* out, Caller caller = {});
  anyplace_status try_create(std::uint64_t bytes, anyplace_physical* out, Caller caller = {});

  // -- Its memory's contents, through a stream of the calling thread's own. They return when it is done.
  void fill(anyplace_address address, std::uint8_t value, std::uint64_t bytes, Caller caller = {});
  void write(anyplace_address address, const Bytes& contents, Caller caller = {});
  Bytes read(anyplace_address address, std::uint64_t bytes, Caller caller = {});
  void copy(anyplace_address destination, anyplace_address source, std::uint64_t bytes, Caller caller = {});
  /// Through a stream of the backend's other device.
  Bytes read_from_second(anyplace_address address, std::uint64_t bytes, Caller caller = {});
  /// The other device gets access to the memory of this one.
  void enable_second(Caller caller = {});

  /// Of the properties, or ANYPLACE_UNKNOWN.
  std::uint64_t total_memory(Caller caller = {});
  anyplace_memory_info memory(Caller caller = {});

 private:
  /// A stream for one piece of work, synchronised and destroyed by finish.
  anyplace_stream begin(std::int32_t device, Caller caller);
  void finish(anyplace_stream stream, Caller caller);
  std::int32_t second() const noexcept { return backend_.second(); }

  TableBackend backend_;
  std::int32_t device_;
  std::uint64_t granule_ = 0;
};

}  // namespace anyplace::conformance
