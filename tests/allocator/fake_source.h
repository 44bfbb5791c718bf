// SPDX-License-Identifier: Apache-2.0
//
// FakeSource: a MemorySource of numbers. Strict: it knows what it gave out and what is mapped where, and whatever a
// device would take amiss is a logic_error kept in `broken`. Has a limit, counts calls, and fails the one it is told
// to.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <unordered_map>

#include "memory/allocator/source.h"

namespace anyplace::test {

class FakeSource : public detail::MemorySource {
 public:
  explicit FakeSource(std::uint64_t page = std::uint64_t{2} << 20U) : page_(page) {}

  std::uint64_t limit = UINT64_MAX;          ///< bytes of memory
  std::uint64_t address_limit = UINT64_MAX;  ///< bytes of addresses
  bool maps_all = true;  ///< many pages by one call; else by a call for each, and those before a failure stay mapped
  std::uint64_t used = 0;
  std::uint64_t peak = 0;
  std::uint64_t addresses_used = 0;
  std::uint64_t calls = 0;                      ///< all that a device would see
  std::uint64_t fail_call = 0;                  ///< this one fails (if it can), counted like `calls`; 0: none
  std::uint64_t gap = std::uint64_t{4} << 20U;  ///< addresses of allocations and ranges lie multiples of it apart
  anyplace_address next = std::uint64_t{1} << 40U;
  std::string broken;  ///< what was done wrong first; empty: nothing
  /// Told of each range that is about to have no memory any more; null: nobody is.
  std::function<void(anyplace_address address, std::uint64_t bytes)> on_loss;

  std::uint64_t page_bytes() noexcept override { return page_; }

  detail::SourceResult allocate(std::uint64_t bytes, anyplace_address* address) noexcept override {
    if (fails()) return detail::SourceResult::failed;
    if (bytes == 0 || bytes > limit - used) return detail::SourceResult::out_of_memory;
    *address = next;
    next += (bytes + gap) / gap * gap;
    allocations_[*address] = bytes;
    use(bytes);
    return detail::SourceResult::done;
  }

  void free(anyplace_address address, std::uint64_t bytes) noexcept override {
    ++calls;
    if (on_loss) on_loss(address, bytes);
    const auto found = allocations_.find(address);
    expect(found != allocations_.end() && found->second == bytes, "free of what allocate gave");
    if (found == allocations_.end()) return;
    used -= found->second;
    allocations_.erase(found);
  }

  detail::SourceResult reserve(std::uint64_t bytes, anyplace_address* address) noexcept override {
    if (fails()) return detail::SourceResult::failed;
    expect(bytes != 0 && bytes % page_ == 0, "reserve whole pages");
    if (bytes > address_limit - addresses_used) return detail::SourceResult::out_of_memory;
    *address = next;
    next += (bytes + gap) / gap * gap;
    ranges_[*address] = bytes;
    addresses_used += bytes;
    return detail::SourceResult::done;
  }

  void release(anyplace_address address, std::uint64_t bytes) noexcept override {
    ++calls;
    const auto found = ranges_.find(address);
    expect(found != ranges_.end() && found->second == bytes, "release of what reserve gave");
    if (found == ranges_.end()) return;
    const auto mapped = mapped_.lower_bound(address);
    expect(mapped == mapped_.end() || mapped->first >= address + bytes, "release with nothing mapped");
    addresses_used -= bytes;
    ranges_.erase(found);
    spoilt_.erase(spoilt_.lower_bound(address), spoilt_.lower_bound(address + bytes));
  }

  detail::SourceResult create(std::uint64_t bytes, anyplace_physical* physical) noexcept override {
    if (fails()) return detail::SourceResult::failed;
    expect(bytes != 0 && bytes % page_ == 0, "create whole pages");
    if (bytes > limit - used) return detail::SourceResult::out_of_memory;
    *physical = ++last_physical_;
    physicals_[*physical] = {bytes, 0};
    use(bytes);
    return detail::SourceResult::done;
  }

  void destroy(anyplace_physical physical) noexcept override {
    ++calls;
    const auto found = physicals_.find(physical);
    expect(found != physicals_.end() && found->second.mapped == 0, "destroy of what create gave and isn't mapped");
    if (found == physicals_.end()) return;
    used -= found->second.bytes;
    physicals_.erase(found);
  }

  detail::SourceResult map_all(anyplace_address address, const anyplace_physical* physicals, std::uint64_t count,
                               std::uint64_t* mapped) noexcept override {
    *mapped = 0;
    expect(count != 0, "map something");
    if (maps_all && fails()) return detail::SourceResult::failed;
    for (; *mapped < count; ++*mapped) {
      if (!maps_all && fails()) return detail::SourceResult::failed;
      if (!map(address + *mapped * page_, physicals[*mapped])) return detail::SourceResult::failed;
    }
    return detail::SourceResult::done;
  }

  bool map(anyplace_address address, anyplace_physical physical) noexcept {
    const auto found = physicals_.find(physical);
    expect(found != physicals_.end(), "map of what create gave");
    if (found == physicals_.end()) return false;
    const std::uint64_t end = address + found->second.bytes;
    auto range = ranges_.upper_bound(address);
    expect(range != ranges_.begin() && end <= (--range)->first + range->second, "map inside one range");
    const auto after = mapped_.lower_bound(address);
    expect(address % page_ == 0 && (after == mapped_.end() || after->first >= end), "map where nothing is mapped");
    if (after != mapped_.begin()) {
      const auto before = std::prev(after);
      expect(before->first + physicals_[before->second].bytes <= address, "map where nothing is mapped");
    }
    expect(spoilt_.lower_bound(address) == spoilt_.lower_bound(end), "map where no unmap failed");
    ++found->second.mapped;
    mapped_[address] = physical;
    return true;
  }

  bool unmap(anyplace_address address, std::uint64_t bytes) noexcept override {
    // Whether it is still mapped after a failure can't be told, so what counts is that nobody relies on either.
    const bool failed = fails();
    if (on_loss) on_loss(address, bytes);
    const std::uint64_t end = address + bytes;
    while (address < end) {
      const auto found = mapped_.find(address);
      expect(found != mapped_.end(), "unmap of whole mappings that adjoin");
      if (found == mapped_.end()) return false;
      Physical& physical = physicals_[found->second];
      --physical.mapped;
      if (failed) spoilt_.insert(address);
      address += physical.bytes;
      mapped_.erase(found);
    }
    expect(address == end, "unmap of whole mappings");
    return !failed;
  }

  /// Which memory is at that address: of an allocation, where it begins; else of create(). 0: none.
  std::uint64_t memory_at(anyplace_address address) const {
    if (auto found = allocations_.upper_bound(address); found != allocations_.begin()) {
      --found;
      if (address < found->first + found->second) return found->first;
    }
    const auto mapped = mapped_.find(address - address % page_);
    return mapped == mapped_.end() ? 0 : mapped->second;
  }
  /// Nothing is out.
  bool empty() const { return allocations_.empty() && ranges_.empty() && physicals_.empty() && mapped_.empty(); }
  /// All of the range has memory behind it.
  bool backed(anyplace_address address, std::uint64_t bytes) const {
    if (auto found = allocations_.upper_bound(address); found != allocations_.begin()) {
      --found;
      if (address + bytes <= found->first + found->second) return true;
    }
    const anyplace_address end = address + bytes;
    for (address -= address % page_; address < end; address += page_) {
      if (mapped_.count(address) == 0) return false;
    }
    return true;
  }

 private:
  struct Physical {
    std::uint64_t bytes = 0;
    std::uint64_t mapped = 0;  ///< at so many addresses
  };

  bool fails() noexcept { return ++calls == fail_call; }
  void expect(bool holds, const char* what) {
    if (!holds && broken.empty()) broken = what;
  }
  void use(std::uint64_t bytes) noexcept {
    used += bytes;
    if (used > peak) peak = used;
  }

  std::uint64_t page_;
  anyplace_physical last_physical_ = 0;
  std::map<anyplace_address, std::uint64_t> allocations_;
  std::map<anyplace_address, std::uint64_t> ranges_;
  std::map<anyplace_address, anyplace_physical> mapped_;
  std::set<anyplace_address> spoilt_;  ///< where an unmap failed
  std::unordered_map<anyplace_physical, Physical> physicals_;
};

}  // namespace anyplace::test
