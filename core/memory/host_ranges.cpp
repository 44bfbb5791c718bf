// SPDX-License-Identifier: Apache-2.0
// The array of host ranges, and the notes in it. host_ranges.h says how it is read without a lock.
#include "memory/host_ranges.h"

#include <algorithm>

#include "memory/found_address.h"
#include "memory/host_block.h"
#include "memory/memory_state.h"
#include "streams/stream_state.h"

namespace anyplace::detail {

constinit NoDestructor<HostRanges> host_range_table;

// ---- Reading -------------------------------------------------------------------------------------------------------

std::size_t HostRanges::find(const Array& array, std::uintptr_t address) noexcept {
  const std::size_t count = std::min(array.count.load(std::memory_order_relaxed), array.room);
  std::size_t first = 0;
  std::size_t last = count;
  // Finds the first range that ends behind the address.
  while (first != last) {
    const std::size_t middle = first + (last - first) / 2;
    if (array.ranges[middle].end.load(std::memory_order_relaxed) <= address) {
      first = middle + 1;
    } else {
      last = middle;
    }
  }
  if (first == count || array.ranges[first].begin.load(std::memory_order_relaxed) > address) return count;
  return first;
}

bool HostRanges::look_up(std::uintptr_t address, std::uint64_t stream_id) const noexcept {
  for (;;) {
    const std::uint64_t before = version_.load(std::memory_order_acquire);
    if (before % 2 != 0) continue;
    const Array* const array = array_.load(std::memory_order_acquire);
    if (array == nullptr) return true;
    const std::size_t index = find(*array, address);
    const bool found = index < std::min(array->count.load(std::memory_order_relaxed), array->room);
    const std::uint64_t noted = found ? array->ranges[index].last_stream.load(std::memory_order_relaxed) : stream_id;
    std::atomic_thread_fence(std::memory_order_acquire);
    if (version_.load(std::memory_order_relaxed) == before) return noted == stream_id;
  }
}

bool HostRanges::contains(std::uintptr_t address) const noexcept {
  constexpr std::uint64_t no_stream = UINT64_MAX;
  return !is_noted(address, no_stream);
}

bool HostRanges::find(std::uintptr_t address, FoundAddress& found) const noexcept {
  if (address < lowest_.load(std::memory_order_relaxed) || address >= end_.load(std::memory_order_relaxed)) {
    return false;
  }
  const std::lock_guard lock(mutex_);
  const Array* const array = array_.load(std::memory_order_relaxed);
  const std::size_t index = array == nullptr ? blocks_.size() : find(*array, address);
  if (index == blocks_.size()) return false;
  const HostBlock& block = *blocks_[index];
  const std::uint64_t requested = block.handed_out.load(std::memory_order_relaxed);
  if (address - block.address >= requested) return false;
  found = {AddressKind::pinned, &block.device, block.address, requested};
  return true;
}

// ---- Changes, under the lock ---------------------------------------------------------------------------------------

void HostRanges::begin_change() noexcept {
  version_.store(version_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
}

void HostRanges::end_change() noexcept {
  version_.store(version_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
}

std::size_t HostRanges::index_of(const HostBlock& block) const noexcept {
  const Array* const array = array_.load(std::memory_order_relaxed);
  const std::size_t index = array == nullptr ? 0 : find(*array, block.address);
  return index < blocks_.size() && blocks_[index] == &block ? index : blocks_.size();
}

void HostRanges::move(Array& from, std::size_t first, Array& to, std::size_t target) noexcept {
  Range& source = from.ranges[first];
  Range& destination = to.ranges[target];
  destination.begin.store(source.begin.load(std::memory_order_relaxed), std::memory_order_relaxed);
  destination.end.store(source.end.load(std::memory_order_relaxed), std::memory_order_relaxed);
  destination.last_stream.store(source.last_stream.load(std::memory_order_relaxed), std::memory_order_relaxed);
}

void HostRanges::add(HostBlock& block) {
  const std::lock_guard lock(mutex_);
  constexpr std::size_t first_room = 64;
  Array* const old = array_.load(std::memory_order_relaxed);
  Array* to = old;
  if (old == nullptr || blocks_.size() == old->room) {
    arrays_.push_back(std::make_unique<Array>(old == nullptr ? first_room : old->room * 2));
    to = arrays_.back().get();
  }
  const auto place =
      std::upper_bound(blocks_.begin(), blocks_.end(), block.address,
                       [](anyplace_address address, const HostBlock* other) { return address < other->address; });
  const auto index = static_cast<std::size_t>(place - blocks_.begin());
  const std::size_t count = blocks_.size();
  blocks_.insert(place, &block);

  begin_change();
  for (std::size_t i = count; i > index; --i) move(*old, i - 1, *to, i);
  if (to != old) {
    for (std::size_t i = 0; i < index; ++i) move(*old, i, *to, i);
  }
  Range& added = to->ranges[index];
  added.begin.store(block.address, std::memory_order_relaxed);
  added.end.store(block.address + block.bytes, std::memory_order_relaxed);
  added.last_stream.store(0, std::memory_order_relaxed);
  to->count.store(count + 1, std::memory_order_relaxed);
  array_.store(to, std::memory_order_release);
  lowest_.store(std::min<std::uintptr_t>(lowest_.load(std::memory_order_relaxed), block.address),
                std::memory_order_relaxed);
  end_.store(std::max<std::uintptr_t>(end_.load(std::memory_order_relaxed), block.address + block.bytes),
             std::memory_order_relaxed);
  end_change();
}

void HostRanges::remove(const HostBlock& block) noexcept {
  const std::lock_guard lock(mutex_);
  const std::size_t index = index_of(block);
  if (index == blocks_.size()) return;
  blocks_.erase(blocks_.begin() + static_cast<std::ptrdiff_t>(index));
  Array& array = *array_.load(std::memory_order_relaxed);
  begin_change();
  for (std::size_t i = index; i < blocks_.size(); ++i) move(array, i + 1, array, i);
  array.count.store(blocks_.size(), std::memory_order_relaxed);
  end_change();
}

// ---- Uses ----------------------------------------------------------------------------------------------------------

void HostRanges::note_use(std::uintptr_t address, StreamState& stream, const char* operation) {
  HostBlock* block = nullptr;
  {
    const std::lock_guard lock(mutex_);
    const Array* const array = array_.load(std::memory_order_relaxed);
    if (array == nullptr) return;
    const std::size_t index = find(*array, address);
    if (index == blocks_.size()) return;
    block = blocks_[index];
  }
  // The caller uses the memory, so its block can't be freed meanwhile.
  add_use(*block->later, streams().pin(stream.id, operation));
  const std::lock_guard lock(mutex_);
  Array& array = *array_.load(std::memory_order_relaxed);
  const std::size_t index = find(array, address);
  if (index != blocks_.size()) array.ranges[index].last_stream.store(stream.id, std::memory_order_relaxed);
}

void HostRanges::note_use_once(std::uintptr_t address, StreamState& stream, const char* operation) {
  if (!is_noted(address, stream.id)) note_use(address, stream, operation);
}

void HostRanges::forget_uses(const HostBlock& block) noexcept {
  const std::lock_guard lock(mutex_);
  const std::size_t index = index_of(block);
  if (index == blocks_.size()) return;
  array_.load(std::memory_order_relaxed)->ranges[index].last_stream.store(0, std::memory_order_relaxed);
}

}  // namespace anyplace::detail
