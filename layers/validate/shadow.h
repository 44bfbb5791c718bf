// SPDX-License-Identifier: Apache-2.0
//
// Shadow: what is remembered of memory: for each range of bytes the last write and the reads since. An access that
// happened before the newest one is forgotten when the newest covers it, so a range has one write and at most one read
// of each stream.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "clock.h"

namespace anyplace::validate {

/// A range of bytes of an address space.
struct Range {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;

  std::uint64_t bytes() const noexcept { return end - begin; }
  bool overlaps(const Range& other) const noexcept { return begin < other.end && other.begin < end; }
};

/// An access that is remembered. `operation` is a number of the Operations (operations.h).
struct Access {
  std::uint64_t number = 0;  ///< of its component; 0: there is none
  Component component = 0;
  std::uint32_t operation = 0;
  std::uint32_t allocation = 0;  ///< whose memory it was then; 0 if that isn't known
  std::uint64_t submitted = 0;   ///< the how many-th submission of the process
  bool at_the_call = false;      ///< a read that may have been made before the stream's earlier work
  Range range;

  bool same_as(const Access& other) const noexcept { return number == other.number && component == other.component; }
};

/// Two accesses without an order.
struct Conflict {
  Access first;
  bool first_writes = false;
  Range bytes;             ///< that both access
  bool unwritten = false;  ///< there is no first access: nobody wrote the bytes
};

class Shadow {
 public:
  /// Adds to `found` what an access would race with: writes that `before` doesn't cover and, for a write, reads.
  /// Where `writes_before` isn't null, writes are compared with it.
  void look(const Range& range, bool writes, const Clock& before, const Clock* writes_before, bool wants_unwritten,
            std::vector<Conflict>& found) const;
  /// Remembers the access.
  void put(const Access& access, bool writes, const Clock& before);
  void forget(const Range& range);
  /// Forgets all but what `keep` says of each access.
  template <class Keep>
  void filter(const Range& range, Keep&& keep);
  /// Calls visit(access, writes) for all accesses of the range.
  template <class Visit>
  void each(const Range& range, Visit&& visit) const;
  /// Says that nobody wrote the range yet.
  void mark_unwritten(const Range& range);
  /// Forgets what happened before `past`, once there is much. Returns the number of cells that are left.
  std::size_t sweep(const Clock& past);
  std::size_t size() const noexcept { return cells_.size(); }

 private:
  struct Cell {
    std::uint64_t end = 0;
    bool unwritten = false;
    Access write;
    std::vector<Access> reads;
  };
  using Cells = std::map<std::uint64_t, Cell>;

  /// Makes `at` a boundary of cells.
  void split(std::uint64_t at);
  Cells::const_iterator first_in(const Range& range) const;

  Cells cells_;
};

template <class Keep>
void Shadow::filter(const Range& range, Keep&& keep) {
  split(range.begin);
  split(range.end);
  for (auto cell = cells_.lower_bound(range.begin); cell != cells_.end() && cell->first < range.end;) {
    Cell& content = cell->second;
    if (content.write.number != 0 && !keep(content.write)) content.write = {};
    std::erase_if(content.reads, [&](const Access& read) { return !keep(read); });
    const bool empty = content.write.number == 0 && content.reads.empty();
    cell = empty ? cells_.erase(cell) : std::next(cell);
  }
}

template <class Visit>
void Shadow::each(const Range& range, Visit&& visit) const {
  for (auto cell = first_in(range); cell != cells_.end() && cell->first < range.end; ++cell) {
    if (cell->second.write.number != 0) visit(cell->second.write, true);
    for (const Access& read : cell->second.reads) visit(read, false);
  }
}

}  // namespace anyplace::validate
