// SPDX-License-Identifier: Apache-2.0
//
// History: what happened to a device's memory, oldest first, a bounded number of entries. Off by default; whoever adds
// asks first whether it is on. Guarded by the allocator's lock.
#pragma once

#include <cstdint>
#include <vector>

#include "books.h"

namespace anyplace::detail {

class History {
 public:
  bool on() const noexcept { return max_entries_ != 0; }
  std::uint64_t max_entries() const noexcept { return max_entries_; }
  bool overflowed() const noexcept { return overflowed_; }  ///< the oldest entries were dropped
  /// Forgets what was; 0 turns it off.
  void start(std::uint64_t max_entries);
  /// Stamps the time. Without memory for it the entry is lost.
  void add(TraceEntry entry) noexcept;
  std::vector<TraceEntry> entries() const;

 private:
  std::uint64_t max_entries_ = 0;
  std::vector<TraceEntry> ring_;
  std::size_t oldest_ = 0;
  bool overflowed_ = false;
};

}  // namespace anyplace::detail
