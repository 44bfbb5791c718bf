// SPDX-License-Identifier: Apache-2.0
#include "memory/address_book.h"

#include <algorithm>
#include <iterator>
#include <mutex>
#include <tuple>

#include "memory/allocator/device_allocator.h"
#include "memory/host_block.h"
#include "memory/host_ranges.h"
#include "memory/memory_state.h"
#include "runtime/call.h"

namespace anyplace {

namespace detail {
namespace {

/// The books of all devices, the newest first. Books are never destroyed, and the list only grows, so it needs no lock.
constinit std::atomic<DeviceAddresses*> all_addresses{nullptr};

}  // namespace

void DeviceAddresses::add(List list, AddressKind kind, anyplace_address address, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  ranges_of(list).emplace(address, Range{bytes, kind});
  if (list == List::wrapped) largest_wrapped_ = std::max(largest_wrapped_, bytes);
  count_.fetch_add(1, std::memory_order_relaxed);
}

void DeviceAddresses::remove(List list, anyplace_address address, std::uint64_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  Ranges& ranges = ranges_of(list);
  const auto [begin, end] = ranges.equal_range(address);
  const auto at = std::find_if(begin, end, [&](const auto& entry) { return entry.second.bytes == bytes; });
  if (at == end) return;
  ranges.erase(at);
  count_.fetch_sub(1, std::memory_order_relaxed);
}

void DeviceAddresses::add_aligned(anyplace_address allocation, std::uint64_t allocated, anyplace_address address,
                                  std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  aligned_.insert_or_assign(Extent(allocation, allocated), Extent(address, bytes));
  aligned_count_.store(aligned_.size(), std::memory_order_relaxed);
}

void DeviceAddresses::remove_aligned(anyplace_address allocation, std::uint64_t allocated) noexcept {
  const std::lock_guard lock(mutex_);
  aligned_.erase(Extent(allocation, allocated));
  aligned_count_.store(aligned_.size(), std::memory_order_relaxed);
}

bool DeviceAddresses::find_in(List list, anyplace_address address, FoundAddress& found) const noexcept {
  if (list == List::wrapped) return find_wrapped(address, found);
  const Ranges& ranges = ranges_of(list);
  auto at = ranges.upper_bound(address);
  if (at == ranges.begin()) return false;
  const auto& [begin, range] = *--at;  // ranges don't overlap, so no earlier one has the address
  if (address - begin >= range.bytes) return false;
  found = {range.kind, &device_, begin, range.bytes};
  return true;
}

/// Finds the range that reaches farthest among those that have the address, so that a range of the whole isn't refused
/// because a Buffer wraps a part of it.
bool DeviceAddresses::find_wrapped(anyplace_address address, FoundAddress& found) const noexcept {
  const Ranges& ranges = ranges_of(List::wrapped);
  std::uint64_t farthest = 0;
  for (auto at = ranges.upper_bound(address); at != ranges.begin();) {
    --at;
    const auto& [begin, range] = *at;
    if (address - begin >= largest_wrapped_) break;
    if (address - begin >= range.bytes || begin + range.bytes < farthest) continue;
    farthest = begin + range.bytes;
    found = {range.kind, &device_, begin, range.bytes};
  }
  return farthest != 0;
}

/// `found` already has the allocation that the caching allocator knows at the address.
bool DeviceAddresses::find_in_allocation(anyplace_address address, FoundAddress& found) const noexcept {
  found.kind = AddressKind::device;
  found.device = &device_;
  if (aligned_count_.load(std::memory_order_relaxed) == 0) return true;
  const std::shared_lock lock(mutex_);
  const auto at = aligned_.find(Extent(found.allocation, found.bytes));
  if (at == aligned_.end()) return true;
  std::tie(found.allocation, found.bytes) = at->second;
  return address - found.allocation < found.bytes || find_in(List::wrapped, address, found);
}

bool DeviceAddresses::find(anyplace_address address, FoundAddress& found) const noexcept {
  if (device_.allocator->find_allocation(address, &found.allocation, &found.bytes)) {
    return find_in_allocation(address, found);
  }
  if (count_.load(std::memory_order_relaxed) == 0) return false;
  const std::shared_lock lock(mutex_);
  return find_in(List::allocations, address, found) || find_in(List::registrations, address, found) ||
         find_in(List::wrapped, address, found);
}

DeviceAddresses* make_device_addresses(DeviceState& device) {
  auto* const made = new DeviceAddresses(device);
  made->next = all_addresses.load(std::memory_order_relaxed);
  while (!all_addresses.compare_exchange_weak(made->next, made, std::memory_order_release, std::memory_order_relaxed)) {
  }
  return made;
}

FoundAddress find_address(anyplace_address address, DeviceState* first) noexcept {
  FoundAddress found;
  if (address == 0) return found;
  if (host_ranges().find(static_cast<std::uintptr_t>(address), found)) return found;
  if (first != nullptr && first->addresses->find(address, found)) return found;
  for (const DeviceAddresses* of = all_addresses.load(std::memory_order_acquire); of != nullptr; of = of->next) {
    if (first != nullptr && of == first->addresses) continue;
    if (of->find(address, found)) return found;
  }
  return {};
}

}  // namespace detail

const char* to_string(AddressKind kind) noexcept {
  switch (kind) {
    case AddressKind::unknown:
      return "unknown";
    case AddressKind::device:
      return "device";
    case AddressKind::managed:
      return "managed";
    case AddressKind::pinned:
      return "pinned";
    case AddressKind::registered:
      return "registered";
  }
  return "unknown";
}

PointerAttributes pointer_attributes(Address address) {
  detail::enter("pointer_attributes");
  const detail::FoundAddress found = detail::find_address(address.value(), nullptr);
  PointerAttributes attributes;
  if (found.device == nullptr) return attributes;
  attributes.kind = found.kind;
  attributes.device = Device(found.device);
  attributes.allocation = found.allocation;
  attributes.size_bytes = found.bytes;
  attributes.offset = address.value() - found.allocation;
  return attributes;
}

}  // namespace anyplace
