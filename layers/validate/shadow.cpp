// SPDX-License-Identifier: Apache-2.0
#include "shadow.h"

#include <algorithm>
#include <iterator>
#include <utility>

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
  cell->second.end = at;
  cells_.emplace_hint(std::next(cell), at, std::move(upper));
}

void Shadow::look(const Range& range, bool writes, const Clock& before, const Clock* writes_before,
                  bool wants_unwritten, std::vector<Conflict>& found) const {
  const Clock& before_write = writes_before != nullptr ? *writes_before : before;
  const auto add = [&](const Access& access, bool wrote, const Range& cell) {
    const Range both{std::max(range.begin, cell.begin), std::min(range.end, cell.end)};
    for (Conflict& known : found) {
      if (known.unwritten || !known.first.same_as(access) || known.first_writes != wrote) continue;
      if (known.bytes.end == both.begin) known.bytes.end = both.end;
      return;
    }
    found.push_back({access, wrote, both, false});
  };
  for (auto cell = first_in(range); cell != cells_.end() && cell->first < range.end; ++cell) {
    const Cell& content = cell->second;
    const Range bytes{cell->first, content.end};
    if (content.unwritten && wants_unwritten && !writes) {
      found.push_back({{}, false, {std::max(range.begin, bytes.begin), std::min(range.end, bytes.end)}, true});
      wants_unwritten = false;
    }
    if (content.write.number != 0 && !before_write.covers(content.write.component, content.write.number)) {
      add(content.write, true, bytes);
    }
    if (!writes) continue;
    for (const Access& read : content.reads) {
      if (!before.covers(read.component, read.number)) add(read, false, bytes);
    }
  }
}

void Shadow::put(const Access& access, bool writes, const Clock& before) {
  const Range& range = access.range;
  const auto whole = cells_.find(range.begin);
  if (writes && whole != cells_.end() && whole->second.end == range.end) {
    whole->second.unwritten = false;
    whole->second.write = access;
    whole->second.reads.clear();
    return;
  }
  split(range.begin);
  split(range.end);
  if (writes) {
    auto from = cells_.lower_bound(range.begin);
    auto to = from;
    while (to != cells_.end() && to->first < range.end) ++to;
    from = cells_.erase(from, to);
    Cell cell;
    cell.end = range.end;
    cell.write = access;
    cells_.emplace_hint(from, range.begin, std::move(cell));
    return;
  }
  std::uint64_t at = range.begin;
  auto cell = cells_.lower_bound(at);
  while (at < range.end) {
    if (cell == cells_.end() || cell->first > at) {
      Cell fresh;
      fresh.end = cell == cells_.end() ? range.end : std::min(range.end, cell->first);
      cell = cells_.emplace_hint(cell, at, std::move(fresh));
    }
    std::vector<Access>& reads = cell->second.reads;
    std::erase_if(reads, [&](const Access& read) {
      return read.component == access.component || before.covers(read.component, read.number);
    });
    reads.push_back(access);
    at = cell->second.end;
    ++cell;
  }
}

void Shadow::forget(const Range& range) {
  split(range.begin);
  split(range.end);
  auto from = cells_.lower_bound(range.begin);
  auto to = from;
  while (to != cells_.end() && to->first < range.end) ++to;
  cells_.erase(from, to);
}

void Shadow::mark_unwritten(const Range& range) {
  forget(range);
  Cell cell;
  cell.end = range.end;
  cell.unwritten = true;
  cells_.emplace(range.begin, std::move(cell));
}

std::size_t Shadow::sweep(const Clock& past) {
  const auto is_past = [&](const Access& access) { return past.covers(access.component, access.number); };
  for (auto cell = cells_.begin(); cell != cells_.end();) {
    Cell& content = cell->second;
    if (content.write.number != 0 && is_past(content.write)) content.write = {};
    std::erase_if(content.reads, is_past);
    const bool empty = !content.unwritten && content.write.number == 0 && content.reads.empty();
    cell = empty ? cells_.erase(cell) : std::next(cell);
  }
  return cells_.size();
}

}  // namespace anyplace::validate
