// SPDX-License-Identifier: Apache-2.0
#include "address_space.h"

#include <algorithm>
#include <iterator>

namespace anyplace::cpu_sim {

AddressSpace::AddressSpace() noexcept {
  for (std::atomic<uint64_t>& entry : cache_) entry.store(kEmpty, std::memory_order_relaxed);
}

void AddressSpace::add(anyplace_address begin, uint64_t bytes, int32_t owner) {
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

/// Of the pages that have bytes of it.
void AddressSpace::forget(anyplace_address begin, anyplace_address end) noexcept {
  const uint64_t first = begin / kPage, last = (end - 1) / kPage;
  const uint64_t count = std::min(last - first + 1, kEntries);
  for (uint64_t i = 0; i < count; ++i) {
    std::atomic<uint64_t>& entry = cache_[(first + i) % kEntries];
    const uint64_t page = entry.load(std::memory_order_relaxed) >> kOwnerBits;
    if (page >= first && page <= last) entry.store(kEmpty, std::memory_order_relaxed);
  }
}

void AddressSpace::enable(int32_t device, int32_t peer) {
  std::lock_guard lock(mutex_);
  peers_.emplace(device, peer);
}

void AddressSpace::disable(int32_t device, int32_t peer) noexcept {
  std::lock_guard lock(mutex_);
  peers_.erase({device, peer});
}

bool AddressSpace::allowed(int32_t device, int32_t owner) const noexcept {
  return owner == device || owner == kEveryDevice || (owner != kNoDevice && peers_.contains({device, owner}));
}

int32_t AddressSpace::owner_of(anyplace_address address) noexcept {
  const uint64_t page = address / kPage;
  const anyplace_address page_begin = page * kPage, page_end = page_begin + kPage;
  const auto next = ranges_.upper_bound(address);
  const auto before = next == ranges_.begin() ? ranges_.end() : std::prev(next);
  const bool inside = before != ranges_.end() && address < before->second.end;
  const int32_t owner = inside ? before->second.owner : kNoDevice;
  const bool whole = inside ? before->first <= page_begin && before->second.end >= page_end
                            : (before == ranges_.end() || before->second.end <= page_begin) &&
                                  (next == ranges_.end() || next->first >= page_end);
  if (whole) {
    cache_[page % kEntries].store(page << kOwnerBits | static_cast<uint64_t>(owner), std::memory_order_relaxed);
  }
  return owner;
}

AddressSpace::Reach AddressSpace::reach(int32_t device, anyplace_address address) noexcept {
  if (address == 0) return {true, kNoDevice};
  std::lock_guard lock(mutex_);
  const int32_t owner = owner_of(address);
  if (allowed(device, owner)) return {true, owner};
  const int32_t before = owner_of(address - 1);
  if (allowed(device, before)) return {true, before};
  return {false, owner != kNoDevice ? owner : before};
}

}  // namespace anyplace::cpu_sim
