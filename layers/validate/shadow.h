// SPDX-License-Identifier: Apache-2.0
//
// Shadow: what is remembered of memory: for each range of bytes the last write and the reads since. An access that
// happened before the newest one is forgotten when the newest covers it, so a range has one write and at most one read
// of each stream.
#pragma once

#include <cstddef>
#include <cstdint>
#include <forward_list>
#include <iterator>
#include <map>
#include <memory_resource>
#include <utility>
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

/// An access that is remembered. There may be millions, so it is kept small.
struct Access {
  std::uint64_t number : 62 = 0;  ///< of its component; 0: there is none
  std::uint64_t writes : 1 = 0;
  std::uint64_t at_the_call : 1 = 0;  ///< a read that may have been made before the stream's earlier work
  Component component = 0;
  std::uint32_t operation = 0;   ///< a number of Engine::operation_of()
  std::uint32_t allocation = 0;  ///< whose memory it was then; 0 if that isn't known
  std::uint32_t submitted = 0;   ///< the how many-th submission of the process, which wraps around
  Range range;

  static constexpr std::uint64_t number_mask = ~std::uint64_t{0} >> 2;

  bool is_there() const noexcept { return number != 0; }
  bool same_as(const Access& other) const noexcept { return number == other.number && component == other.component; }
  /// Whether it was submitted after the `number`-th submission.
  bool is_after(std::uint64_t submission) const noexcept {
    return static_cast<std::int32_t>(submitted - static_cast<std::uint32_t>(submission)) > 0;
  }
};
static_assert(sizeof(Access) == 40);

/// Two accesses without an order.
struct Conflict {
  Access first;
  Range bytes;             ///< that both access
  bool unwritten = false;  ///< there is no first access: nobody wrote the bytes
};

class Shadow {
 public:
  /// Adds to `found` what an access would race with: writes that `before` doesn't cover and, for a write, reads.
  /// Where `writes_before` isn't null, writes are compared with it.
  void look(const Range& range, bool writes, const Clock& before, const Clock* writes_before, bool wants_unwritten,
            std::vector<Conflict>& found) const;
  /// Remembers the access. `before` is what is ordered before it.
  void put(const Access& access, const Clock& before);
  void forget(const Range& range);
  /// Forgets all but what `keep` says of each access.
  template <class Keep>
  void filter(const Range& range, Keep&& keep);
  /// Calls visit(access) for all accesses of the range.
  template <class Visit>
  void each(const Range& range, Visit&& visit) const;
  /// Says that its present owner didn't write the range yet. What earlier owners did stays.
  void mark_unwritten(const Range& range);
  /// Forgets what `is_past` says of.
  template <class IsPast>
  void sweep(IsPast&& is_past);

  /// Accesses that are remembered, each as often as there are cells that it is in, and the memory that they take.
  std::size_t accesses() const noexcept { return cells_.size() + more_; }
  std::size_t bytes() const noexcept { return cells_.size() * bytes_of_cell + more_ * bytes_of_more; }

 private:
  /// Bytes whose accesses are the same: the last write and the reads since. `first` is one of them, and the only one of
  /// most cells.
  struct Cell {
    static constexpr std::uint64_t end_mask = ~std::uint64_t{0} >> 1;

    std::uint64_t end : 63 = 0;
    std::uint64_t unwritten : 1 = 0;
    Access first;
    std::forward_list<Access> more;

    bool is_empty() const noexcept { return !first.is_there() && unwritten == 0; }
    template <class Visit>
    void each(Visit&& visit) const {
      if (first.is_there()) visit(first);
      for (const Access& access : more) visit(access);
    }
  };
  using Cells = std::pmr::map<std::uint64_t, Cell>;
  static constexpr std::size_t bytes_of_cell = 32 + sizeof(std::pair<const std::uint64_t, Cell>);  // a node of a tree
  static constexpr std::size_t bytes_of_more = 64;  // sizeof(Access), the list's pointer, and malloc's share

  /// Makes `at` a boundary of cells.
  void split(std::uint64_t at);
  Cells::const_iterator first_in(const Range& range) const;
  /// Takes accesses out of a cell.
  template <class IsGone>
  void erase_if(Cell& cell, IsGone&& is_gone);
  void add(Cell& cell, const Access& access);
  Cells::iterator erase(Cells::iterator from, Cells::iterator to);

  std::pmr::unsynchronized_pool_resource nodes_;
  Cells cells_{&nodes_};
  std::size_t more_ = 0;  ///< accesses in lists
};

template <class IsGone>
void Shadow::erase_if(Cell& cell, IsGone&& is_gone) {
  more_ -= cell.more.remove_if(is_gone);
  if (!cell.first.is_there() || !is_gone(cell.first)) return;
  cell.first = {};
  if (cell.more.empty()) return;
  cell.first = cell.more.front();
  cell.more.pop_front();
  --more_;
}

template <class Keep>
void Shadow::filter(const Range& range, Keep&& keep) {
  split(range.begin);
  split(range.end);
  for (auto cell = cells_.lower_bound(range.begin); cell != cells_.end() && cell->first < range.end;) {
    erase_if(cell->second, [&](const Access& access) { return !keep(access); });
    cell = cell->second.is_empty() ? cells_.erase(cell) : std::next(cell);
  }
}

template <class Visit>
void Shadow::each(const Range& range, Visit&& visit) const {
  for (auto cell = first_in(range); cell != cells_.end() && cell->first < range.end; ++cell) cell->second.each(visit);
}

template <class IsPast>
void Shadow::sweep(IsPast&& is_past) {
  for (auto cell = cells_.begin(); cell != cells_.end();) {
    erase_if(cell->second, is_past);
    cell = cell->second.is_empty() ? cells_.erase(cell) : std::next(cell);
  }
}

}  // namespace anyplace::validate
