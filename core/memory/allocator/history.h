// SPDX-License-Identifier: Apache-2.0
//
// History: what happened to a device's memory, in a bounded number of entries, the oldest first. It is off by default,
// and callers of add() check first whether it is on. The allocator's lock guards it.
#pragma once

#include <cstdint>
#include <vector>

#include "memory/figures/statistics.h"

namespace anyplace::detail {

class History {
 public:
  bool on() const noexcept { return max_entries_ != 0; }
  std::uint64_t max_entries() const noexcept { return max_entries_; }
  bool overflowed() const noexcept { return overflowed_; }  ///< whether the oldest entries were dropped
  /// Forgets all entries. 0 turns the history off.
  void start(std::uint64_t max_entries);
  /// Adds the entry with the present time. The entry is lost if the host has no memory for it.
  void add(TraceEntry entry) noexcept;
  std::vector<TraceEntry> entries() const;

 private:
  std::uint64_t max_entries_ = 0;
  std::vector<TraceEntry> ring_;
  std::size_t oldest_ = 0;
  bool overflowed_ = false;
};

}  // namespace anyplace::detail
