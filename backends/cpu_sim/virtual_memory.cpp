// SPDX-License-Identifier: Apache-2.0
#include "virtual_memory.h"

#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>

#include "address_range.h"
#include "failure.h"
#include "protection.h"

namespace anyplace::cpu_sim {
namespace {

/// Writes "32 bytes at 0x7f0000000000".
std::string range_text(anyplace_address address, std::uint64_t bytes) {
  return std::to_string(bytes) + " bytes at " + hex(address);
}

void require_granular(const char* what, std::uint64_t number) {
  if (number % page_granularity == 0) return;
  bad_argument(std::string(what) + " " + hex(number) + " is no multiple of " + std::to_string(page_granularity) +
               " bytes");
}

void require_size(std::uint64_t bytes) {
  if (bytes == 0) bad_argument("a range or memory of 0 bytes");
  require_granular("the size", bytes);
}

/// Says what the system may lack when it returns ENOMEM for a mapping.
std::string why_no_mapping(int code) {
  std::string text = std::strerror(code);
  std::string limit;
  if (code != ENOMEM || !(std::ifstream("/proc/sys/vm/max_map_count") >> limit)) return text;
  return text + "; a process may have vm.max_map_count = " + limit +
         " mappings, and has no more addresses than ulimit -v says";
}

void give_to_host(anyplace_address from, anyplace_address to) noexcept {
  if (from != to) munmap(backend::from_handle<void>(from), to - from);
}

void require_support() {
  const BackingFile& file = BackingFile::get();
  if (!file.exists()) fail(ANYPLACE_STATUS_UNSUPPORTED, file.why_not());
}

}  // namespace

// ---- Physical ------------------------------------------------------------------------------------------------------

Physical::Physical(Device& device, std::uint64_t bytes) : device_(device), bytes_(bytes) {
  device.memory().take(bytes);
}

Physical::~Physical() {
  if (placed_) BackingFile::get().give_back(offset_, bytes_);
  device_.memory().give_back(bytes_);
}

void Physical::add_mapping(anyplace_address address) {
  if (!placed_) {
    offset_ = BackingFile::get().place(address, bytes_);
    placed_ = true;
  }
  ++mappings_;
}

void Physical::remove_mapping() noexcept {
  if (--mappings_ != 0) return;
  placed_ = !BackingFile::get().give_back_if_empty(offset_, bytes_);
}

// ---- VirtualMemory -------------------------------------------------------------------------------------------------

anyplace_address VirtualMemory::reserve(const Device& device, std::uint64_t bytes) {
  require_support();
  require_size(bytes);
  const auto none = [&](const std::string& why) {
    fail(ANYPLACE_STATUS_OUT_OF_MEMORY, "device " + std::to_string(device.index()) + ": no range of " +
                                            std::to_string(bytes) + " bytes of addresses: " + why);
  };
  if (bytes > most_addresses) none("no process has that many");
  const anyplace_address address = take_addresses(bytes, block_alignment(bytes, page_granularity));
  if (address == 0) none(why_no_mapping(errno));
  const int code = BackingFile::get().reserve(address, bytes);
  try {
    if (code != 0) none(why_no_mapping(code));
    std::lock_guard lock(mutex_);
    reserved_.emplace(address, Range{device.index(), bytes});
  } catch (...) {
    give_to_host(address, address + bytes);
    throw;
  }
  return address;
}

void VirtualMemory::release(const Device& device, anyplace_address address, std::uint64_t bytes) {
  std::lock_guard lock(mutex_);
  const auto range = reserved_.find(address);
  if (range == reserved_.end() || range->second.bytes != bytes || range->second.device != device.index()) {
    bad_argument(range_text(address, bytes) + " are not a whole range that device " + std::to_string(device.index()) +
                 " has reserved");
  }
  require_unmapped(address, bytes);
  // This is under the lock, because another thread may be given the same addresses as soon as they are unmapped.
  if (munmap(backend::from_handle<void>(address), bytes) != 0) {
    fail(ANYPLACE_STATUS_OUT_OF_MEMORY,
         "the host didn't take back " + range_text(address, bytes) + ": " + why_no_mapping(errno));
  }
  if (Protection* const protection = Protection::get()) protection->forget(address, bytes);
  reserved_.erase(range);
}

anyplace_physical VirtualMemory::create(Device& device, std::uint64_t bytes) {
  require_support();
  require_size(bytes);
  auto made = std::make_shared<Physical>(device, bytes);
  std::lock_guard lock(mutex_);
  physicals_.emplace(last_ + 1, std::move(made));
  return ++last_;
}

void VirtualMemory::destroy(anyplace_physical physical) {
  std::lock_guard lock(mutex_);
  if (physicals_.erase(physical) == 0) {
    bad_argument("handle " + std::to_string(physical) + " is no memory of cpu_sim's, or no longer");
  }
}

const std::shared_ptr<Physical>& VirtualMemory::memory_for(const Device& device, anyplace_physical physical) const {
  const auto found = physicals_.find(physical);
  if (found == physicals_.end()) {
    bad_argument("handle " + std::to_string(physical) + " is no memory of cpu_sim's, or no longer");
  }
  const std::shared_ptr<Physical>& memory = found->second;
  if (&memory->device() != &device) {
    bad_argument("memory of device " + std::to_string(memory->device().index()) + " is not to be mapped for device " +
                 std::to_string(device.index()));
  }
  return memory;
}

void VirtualMemory::map_all(const Device& device, anyplace_address address,
                            std::span<const anyplace_physical> physicals) {
  require_granular("the address", address);
  std::lock_guard lock(mutex_);
  std::uint64_t bytes = 0;
  for (const anyplace_physical physical : physicals) {
    bytes += memory_for(device, physical)->bytes();
    if (bytes > most_addresses) break;  // No range is as long.
  }
  require_reserved(device, address, bytes);
  require_unmapped(address, bytes);
  anyplace_address end = address;
  try {
    for (const anyplace_physical physical : physicals) {
      const std::shared_ptr<Physical>& memory = memory_for(device, physical);
      const auto mapping = mappings_.emplace(end, memory).first;
      try {
        addresses_.add(end, memory->bytes(), device.index());
        memory->add_mapping(end);
      } catch (...) {
        addresses_.remove(end);
        mappings_.erase(mapping);
        throw;
      }
      end += memory->bytes();
    }
    map_in_file(device, address, end);
    protect(device, address, end);
  } catch (...) {
    unmap_all(address, end);
    throw;
  }
}

/// Maps from the file what mappings_ says. Neighbours that are neighbours in the file, too, take one call.
void VirtualMemory::map_in_file(const Device& device, anyplace_address begin, anyplace_address end) {
  for (auto mapping = mappings_.find(begin); begin != end;) {
    const std::uint64_t offset = mapping->second->offset();
    std::uint64_t bytes = 0;
    do {
      bytes += mapping->second->bytes();
      ++mapping;
    } while (begin + bytes != end && mapping->second->offset() == offset + bytes);
    const int code = BackingFile::get().map(begin, offset, bytes);
    if (code != 0) {
      fail(ANYPLACE_STATUS_OUT_OF_MEMORY, "device " + std::to_string(device.index()) + ": the host didn't map " +
                                              range_text(begin, bytes) + ": " + why_no_mapping(code));
    }
    begin += bytes;
  }
}

/// Protects what was mapped, if device memory is protected.
void VirtualMemory::protect(const Device& device, anyplace_address begin, anyplace_address end) {
  Protection* const protection = Protection::get();
  if (protection == nullptr) return;
  for (auto mapping = mappings_.find(begin); mapping != mappings_.end() && mapping->first != end; ++mapping) {
    Physical& memory = *mapping->second;
    if (memory.take_fresh()) protection->fill(mapping->first, memory.bytes());
    protection->cover(device.index(), mapping->first, memory.bytes(), "virtual_map");
  }
}

void VirtualMemory::unmap(const Device& device, anyplace_address address, std::uint64_t bytes) {
  require_granular("the address", address);
  require_size(bytes);
  std::lock_guard lock(mutex_);
  require_whole_mappings(device, address, bytes);
  unmap_all(address, address + bytes);
}

/// Undoes whole mappings, those that map_in_file() didn't come to as well. Neighbours that are neighbours in the file,
/// too, take one call.
void VirtualMemory::unmap_all(anyplace_address begin, anyplace_address end) noexcept {
  Protection* const protection = Protection::get();
  auto mapping = mappings_.find(begin);
  while (begin != end) {
    const std::uint64_t offset = mapping->second->offset();
    const anyplace_address first = begin;
    for (auto at = mapping; begin != end && at->second->offset() == offset + (begin - first); ++at) {
      addresses_.remove(begin);
      if (protection != nullptr) protection->uncover(begin, "virtual_unmap");
      begin += at->second->bytes();
    }
    BackingFile::get().unmap(first, offset, begin - first);
    while (mapping != mappings_.end() && mapping->first < begin) {
      mapping->second->remove_mapping();
      mapping = mappings_.erase(mapping);  // This frees the memory if its handle is gone.
    }
  }
}

std::vector<FileRun> VirtualMemory::runs_behind(anyplace_address address, std::uint64_t bytes, std::uint64_t& into) {
  std::vector<FileRun> runs;
  std::lock_guard lock(mutex_);
  auto mapping = mappings_.upper_bound(address);
  if (mapping == mappings_.begin()) return runs;
  --mapping;
  into = address - mapping->first;
  for (anyplace_address at = mapping->first; at < address + bytes; ++mapping) {
    if (mapping == mappings_.end() || mapping->first != at) return {};
    const std::uint64_t offset = mapping->second->offset();
    const std::uint64_t size = mapping->second->bytes();
    if (at == mapping->first && into >= size && runs.empty()) return {};
    if (!runs.empty() && runs.back().offset + runs.back().bytes == offset) {
      runs.back().bytes += size;
    } else {
      runs.push_back({offset, size});
    }
    at += size;
  }
  return runs;
}

void VirtualMemory::require_reserved(const Device& device, anyplace_address address, std::uint64_t bytes) const {
  auto range = reserved_.upper_bound(address);
  if (range != reserved_.begin()) {
    --range;
    const std::uint64_t into = address - range->first;
    const bool inside = into < range->second.bytes && bytes <= range->second.bytes - into;
    if (inside && range->second.device == device.index()) return;
  }
  bad_argument(range_text(address, bytes) + " are not inside one range that device " + std::to_string(device.index()) +
               " has reserved");
}

void VirtualMemory::require_unmapped(anyplace_address address, std::uint64_t bytes) const {
  auto mapping = mappings_.lower_bound(address + bytes);
  if (mapping == mappings_.begin()) return;
  --mapping;
  const std::uint64_t there = mapping->second->bytes();
  if (mapping->first + there <= address) return;
  bad_argument("of the " + range_text(address, bytes) + " some are taken: " + range_text(mapping->first, there) +
               " are mapped; unmap them first");
}

void VirtualMemory::require_whole_mappings(const Device& device, anyplace_address address, std::uint64_t bytes) const {
  std::uint64_t covered = 0;
  for (auto mapping = mappings_.find(address); covered < bytes && mapping != mappings_.end(); ++mapping) {
    if (mapping->first != address + covered || &mapping->second->device() != &device) break;
    covered += mapping->second->bytes();
  }
  if (covered == bytes) return;
  bad_argument("the " + range_text(address, bytes) + " are not one mapping of device " +
               std::to_string(device.index()) + ", nor several that adjoin, each whole: unmap what was mapped");
}

}  // namespace anyplace::cpu_sim
