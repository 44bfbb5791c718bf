// SPDX-License-Identifier: Apache-2.0
#include "shadow.h"

#include <algorithm>

namespace anyplace::validate {

Shadow::Cells::const_iterator Shadow::first_in(const Range& range) const {
  auto cell = cells_.upper_bound(range.begin);
  if (cell != cells_.begin() && std::prev(cell)->second.end > range.begin) --cell;
  return cell;
}

void Shadow::split(std::uint64_t at) {
  auto cell = cells_.upper_bound(at);
  if (cell == cells_.begin()) return;
  --cell;
  if (cell->first >= at || cell->second.end <= at) return;
  Cell upper = cell->second;
  more_ += static_cast<std::size_t>(std::distance(upper.more.begin(), upper.more.end()));
  cell->second.end = at & Cell::end_mask;
  cells_.emplace_hint(std::next(cell), at, std::move(upper));
}

void Shadow::add(Cell& cell, const Access& access) {
  if (cell.first.is_there()) {
    cell.more.push_front(cell.first);
    ++more_;
  }
  cell.first = access;
}

Shadow::Cells::iterator Shadow::erase(Cells::iterator from, Cells::iterator to) {
  for (auto cell = from; cell != to; ++cell) {
    more_ -= static_cast<std::size_t>(std::distance(cell->second.more.begin(), cell->second.more.end()));
  }
  return cells_.erase(from, to);
}

void Shadow::look(const Range& range, bool writes, const Clock& before, const Clock* writes_before,
                  bool wants_unwritten, std::vector<Conflict>& found) const {
  const Clock& before_write = writes_before != nullptr ? *writes_before : before;
  const auto add = [&](const Access& access, const Range& cell) {
    const Range both{std::max(range.begin, cell.begin), std::min(range.end, cell.end)};
    for (Conflict& known : found) {
      if (known.unwritten || !known.first.same_as(access) || known.first.writes != access.writes) continue;
      if (known.bytes.end == both.begin) known.bytes.end = both.end;
      return;
    }
    found.push_back({access, both, false});
  };
  for (auto cell = first_in(range); cell != cells_.end() && cell->first < range.end; ++cell) {
    const Cell& content = cell->second;
    const Range bytes{cell->first, content.end};
    if (content.unwritten != 0 && wants_unwritten && !writes) {
      found.push_back({{}, {std::max(range.begin, bytes.begin), std::min(range.end, bytes.end)}, true});
      wants_unwritten = false;
    }
    content.each([&](const Access& access) {
      if (access.writes == 0 && !writes) return;
      const Clock& clock = access.writes != 0 ? before_write : before;
      if (!clock.covers(access.component, access.number)) add(access, bytes);
    });
  }
}

void Shadow::put(const Access& access, const Clock& before) {
  const Range& range = access.range;
  const auto whole = cells_.find(range.begin);
  if (access.writes != 0 && whole != cells_.end() && whole->second.end == range.end) {
    Cell& cell = whole->second;
    more_ -= static_cast<std::size_t>(std::distance(cell.more.begin(), cell.more.end()));
    cell.more.clear();
    cell.first = access;
    cell.unwritten = 0;
    return;
  }
  split(range.begin);
  split(range.end);
  auto cell = cells_.lower_bound(range.begin);
  if (access.writes != 0) {
    auto to = cell;
    while (to != cells_.end() && to->first < range.end) ++to;
    Cell fresh;
    fresh.end = range.end & Cell::end_mask;
    fresh.first = access;
    cells_.emplace_hint(erase(cell, to), range.begin, std::move(fresh));
    return;
  }
  for (std::uint64_t at = range.begin; at < range.end; ++cell) {
    if (cell == cells_.end() || cell->first > at) {
      Cell fresh;
      const std::uint64_t end = cell == cells_.end() ? range.end : std::min<std::uint64_t>(range.end, cell->first);
      fresh.end = end & Cell::end_mask;
      cell = cells_.emplace_hint(cell, at, std::move(fresh));
    }
    // Reads that come before this one are no more than it is. The write stays: another may race with it alone.
    erase_if(cell->second, [&](const Access& old) {
      return old.writes == 0 && (old.component == access.component || before.covers(old.component, old.number));
    });
    add(cell->second, access);
    at = cell->second.end;
  }
}

void Shadow::forget(const Range& range) {
  split(range.begin);
  split(range.end);
  const auto from = cells_.lower_bound(range.begin);
  auto to = from;
  while (to != cells_.end() && to->first < range.end) ++to;
  erase(from, to);
}

void Shadow::mark_unwritten(const Range& range) {
  split(range.begin);
  split(range.end);
  auto cell = cells_.lower_bound(range.begin);
  for (std::uint64_t at = range.begin; at < range.end; ++cell) {
    if (cell == cells_.end() || cell->first > at) {
      Cell fresh;
      const std::uint64_t end = cell == cells_.end() ? range.end : std::min<std::uint64_t>(range.end, cell->first);
      fresh.end = end & Cell::end_mask;
      cell = cells_.emplace_hint(cell, at, std::move(fresh));
    }
    cell->second.unwritten = 1;
    at = cell->second.end;
  }
}

}  // namespace anyplace::validate
