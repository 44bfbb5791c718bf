// SPDX-License-Identifier: Apache-2.0
#include "address_space.h"

#include <algorithm>
#include <iterator>

namespace anyplace::cpu_sim {

AddressSpace::AddressSpace() noexcept {
  for (std::atomic<std::uint64_t>& entry : cache_) entry.store(empty, std::memory_order_relaxed);
}

void AddressSpace::add(anyplace_address begin, std::uint64_t bytes, std::int32_t owner) {
  std::lock_guard lock(mutex_);
  ranges_.emplace(begin, Range{begin + bytes, owner});
  forget(begin, begin + bytes);
}

void AddressSpace::remove(anyplace_address begin) noexcept {
  std::lock_guard lock(mutex_);
  const auto range = ranges_.find(begin);
  if (range == ranges_.end()) return;
  forget(begin, range->second.end);
  ranges_.erase(range);
}

/// Removes the cache's entries for pages that overlap the range.
void AddressSpace::forget(anyplace_address begin, anyplace_address end) noexcept {
  if (cached_ == 0) return;
  const std::uint64_t first = begin / page_bytes, last = (end - 1) / page_bytes;
  const std::uint64_t count = std::min(last - first + 1, all_entries);
  for (std::uint64_t i = 0; i < count; ++i) {
    std::atomic<std::uint64_t>& entry = cache_[(first + i) % all_entries];
    const std::uint64_t page = entry.load(std::memory_order_relaxed) >> owner_bits;
    if (page < first || page > last) continue;
    entry.store(empty, std::memory_order_relaxed);
    --cached_;
  }
}

void AddressSpace::enable(std::int32_t device, std::int32_t peer) {
  std::lock_guard lock(mutex_);
  peers_.emplace(device, peer);
}

void AddressSpace::disable(std::int32_t device, std::int32_t peer) noexcept {
  std::lock_guard lock(mutex_);
  peers_.erase({device, peer});
}

bool AddressSpace::allowed(std::int32_t device, std::int32_t owner) const noexcept {
  return owner == device || owner == every_device || (owner != no_device && peers_.contains({device, owner}));
}

std::int32_t AddressSpace::owner_of(anyplace_address address) noexcept {
  const std::uint64_t page = address / page_bytes;
  const anyplace_address page_begin = page * page_bytes, page_end = page_begin + page_bytes;
  const auto next = ranges_.upper_bound(address);
  const auto before = next == ranges_.begin() ? ranges_.end() : std::prev(next);
  const bool inside = before != ranges_.end() && address < before->second.end;
  const std::int32_t owner = inside ? before->second.owner : no_device;
  const bool whole = inside ? before->first <= page_begin && before->second.end >= page_end
                            : (before == ranges_.end() || before->second.end <= page_begin) &&
                                  (next == ranges_.end() || next->first >= page_end);
  if (whole) {
    std::atomic<std::uint64_t>& entry = cache_[page % all_entries];
    if (entry.load(std::memory_order_relaxed) == empty) ++cached_;
    entry.store(page << owner_bits | static_cast<std::uint64_t>(owner), std::memory_order_relaxed);
  }
  return owner;
}

AddressSpace::Reach AddressSpace::reach(std::int32_t device, anyplace_address address) noexcept {
  if (address == 0) return {true, no_device};
  std::lock_guard lock(mutex_);
  const std::int32_t owner = owner_of(address);
  if (allowed(device, owner)) return {true, owner};
  const std::int32_t before = owner_of(address - 1);
  if (allowed(device, before)) return {true, before};
  return {false, owner != no_device ? owner : before};
}

}  // namespace anyplace::cpu_sim
