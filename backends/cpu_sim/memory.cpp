// SPDX-License-Identifier: Apache-2.0
#include "memory.h"

#include "backing_file.h"
#include "director.h"
#include "failure.h"
#include "file_memory.h"
#include "protection.h"

namespace anyplace::cpu_sim {
namespace {

bool counts(std::uint32_t kind) noexcept { return kind != ANYPLACE_MEMORY_PINNED; }

const char* kind_name(std::uint32_t kind) noexcept {
  switch (kind) {
    case ANYPLACE_MEMORY_DEVICE:
      return "device";
    case ANYPLACE_MEMORY_PINNED:
      return "pinned";
    case ANYPLACE_MEMORY_MANAGED:
      return "managed";
    case ANYPLACE_MEMORY_SHAREABLE:
      return "shareable";
    default:
      return nullptr;
  }
}

void check_kind(std::uint32_t kind) {
  if (kind_name(kind) == nullptr) bad_argument("there is no memory kind " + std::to_string(kind));
}

}  // namespace

std::uint64_t DeviceMemory::free_bytes() const {
  std::lock_guard lock(mutex_);
  return limit_ - used_;
}

void DeviceMemory::out_of_memory(std::uint64_t bytes, const std::string& why) const {
  fail(ANYPLACE_STATUS_OUT_OF_MEMORY, "device " + std::to_string(device_) + ": " + std::to_string(bytes) +
                                          " bytes requested, " + std::to_string(limit_ - used_) + " free of " +
                                          std::to_string(limit_) + ", " + std::to_string(freeing_) +
                                          " waiting to be freed in a stream's order" + why);
}

/// Counts the bytes against the limit before the memory is allocated, so that two threads can't both get the last of
/// it.
void DeviceMemory::reserve(std::uint32_t kind, std::uint64_t bytes) {
  std::lock_guard lock(mutex_);
  if (!counts(kind)) return;
  if (bytes > limit_ - used_) out_of_memory(bytes, "");
  used_ += bytes;
}

anyplace_address DeviceMemory::allocate(std::uint32_t kind, std::uint64_t bytes, const char* operation) {
  check_kind(kind);
  if (bytes == 0) bad_argument("an allocation of 0 bytes");
  reserve(kind, bytes);
  anyplace_address address = 0;
  Block block{};
  try {
    block = take_from_host(kind, bytes, address, operation);
  } catch (...) {
    give_back(bytes);
    throw;
  }
  std::lock_guard lock(mutex_);
  try {
    if (address == 0) out_of_memory(bytes, "; the host itself has no more");
    blocks_.emplace(address, block);
    addresses_.add(address, bytes, block.kind == ANYPLACE_MEMORY_DEVICE ? device_ : every_device);
  } catch (...) {
    blocks_.erase(address);
    if (counts(kind)) used_ -= bytes;
    if (address != 0) give_to_host(address, block, operation);
    throw;
  }
  return address;
}

/// Returns memory from the host, at address 0 if it has none.
DeviceMemory::Block DeviceMemory::take_from_host(std::uint32_t kind, std::uint64_t bytes, anyplace_address& address,
                                                 const char* operation) {
  Protection* const protection = Protection::get();
  if (kind == ANYPLACE_MEMORY_SHAREABLE) {
    const FileMemory memory = FileMemory::take(bytes);
    try {
      if (protection != nullptr) {
        protection->fill(memory.address, memory.run.bytes);
        protection->cover(device_, memory.address, memory.run.bytes, operation);
      }
    } catch (...) {
      memory.give_back();
      throw;
    }
    address = memory.address;
    return {bytes, ANYPLACE_MEMORY_DEVICE, false, memory.run};
  }
  if (kind == ANYPLACE_MEMORY_DEVICE && protection != nullptr) {
    address = protection->allocate(device_, bytes, operation);
    return {bytes, kind, false, {}};
  }
  address = kind == ANYPLACE_MEMORY_DEVICE ? freed_.take(bytes) : 0;
  if (address == 0) address = backend::to_handle(take_host_memory(bytes));
  return {bytes, kind, false, {}};
}

void DeviceMemory::give_to_host(anyplace_address address, const Block& block, const char* operation) noexcept {
  Protection* const protection = Protection::get();
  if (block.kind == ANYPLACE_MEMORY_DEVICE && protection != nullptr) {
    protection->retire(address, operation);
    if (block.run.bytes != 0) BackingFile::get().give_back(block.run.offset, block.run.bytes);
  } else if (block.run.bytes != 0) {
    FileMemory{address, block.run}.give_back();
  } else if (block.kind != ANYPLACE_MEMORY_DEVICE || !freed_.keep(address, block.bytes, block.freeing)) {
    give_host_memory(backend::from_handle<void>(address), block.bytes);
  }
}

FileRun DeviceMemory::run_at(anyplace_address address) const noexcept {
  std::lock_guard lock(mutex_);
  const auto found = blocks_.find(address);
  return found == blocks_.end() ? FileRun{} : found->second.run;
}

DeviceMemory::Block& DeviceMemory::find(anyplace_address address) {
  const auto found = blocks_.find(address);
  if (found == blocks_.end()) {
    bad_argument("device " + std::to_string(device_) + " has no allocation at " + hex(address));
  }
  if (found->second.freeing) bad_argument("the memory at " + hex(address) + " is being freed already");
  return found->second;
}

/// Removes the block from the tables. The caller does so before the memory goes back to the host, because another
/// thread may be given the same address after that.
void DeviceMemory::erase(anyplace_address address, const Block& block) noexcept {
  if (counts(block.kind)) used_ -= block.bytes;
  if (block.freeing) freeing_ -= block.bytes;
  addresses_.remove(address);
  blocks_.erase(address);
}

void DeviceMemory::free(std::uint32_t kind, anyplace_address address) {
  check_kind(kind);
  Block block{};
  {
    std::lock_guard lock(mutex_);
    block = find(address);
    if (block.kind != kind) {
      bad_argument("the memory at " + hex(address) + " is " + kind_name(block.kind) + " memory and not " +
                   kind_name(kind) + " memory");
    }
    erase(address, block);
  }
  give_to_host(address, block, "memory_free");
}

void DeviceMemory::begin_free(anyplace_address address) {
  std::lock_guard lock(mutex_);
  Block& block = find(address);
  if (block.kind != ANYPLACE_MEMORY_DEVICE) {
    bad_argument("the memory at " + hex(address) + " is " + kind_name(block.kind) +
                 " memory; only device memory is freed in a stream's order");
  }
  block.freeing = true;
  freeing_ += block.bytes;
}

void DeviceMemory::cancel_free(anyplace_address address) noexcept {
  std::lock_guard lock(mutex_);
  Block& block = blocks_.find(address)->second;
  block.freeing = false;
  freeing_ -= block.bytes;
}

void DeviceMemory::finish_free(anyplace_address address) noexcept {
  // From here on the program's own allocations may be at the address.
  if (Director* const director = Director::get()) director->remove_memory(address);
  Block block{};
  {
    std::lock_guard lock(mutex_);
    block = blocks_.find(address)->second;
    erase(address, block);
  }
  give_to_host(address, block, "memory_free_async");
}

void DeviceMemory::give_back(std::uint64_t bytes) noexcept {
  std::lock_guard lock(mutex_);
  used_ -= bytes;
}

void HostRegistrations::add(const void* address, std::uint64_t bytes) {
  const std::uint64_t begin = backend::to_handle(address);
  if (begin == 0 || bytes == 0 || bytes > UINT64_MAX - begin) {
    bad_argument(std::to_string(bytes) + " bytes at " + hex(begin) + " are no range of host memory");
  }
  const std::uint64_t end = begin + bytes;
  std::lock_guard lock(mutex_);
  const auto next = ranges_.lower_bound(begin);
  const auto refuse = [&](const std::pair<const std::uint64_t, std::uint64_t>& range) {
    bad_argument(std::to_string(bytes) + " bytes at " + hex(begin) + " overlap host memory that is registered: " +
                 std::to_string(range.second - range.first) + " bytes at " + hex(range.first));
  };
  if (next != ranges_.end() && next->first < end) refuse(*next);
  if (next != ranges_.begin() && std::prev(next)->second > begin) refuse(*std::prev(next));
  ranges_.emplace_hint(next, begin, end);
}

bool HostRegistrations::contain(anyplace_address address) const noexcept {
  std::lock_guard lock(mutex_);
  const auto next = ranges_.upper_bound(address);
  return next != ranges_.begin() && std::prev(next)->second >= address;
}

void HostRegistrations::remove(const void* address) {
  std::lock_guard lock(mutex_);
  if (ranges_.erase(backend::to_handle(address)) == 0) {
    bad_argument("no registered host memory begins at " + hex(backend::to_handle(address)));
  }
}

}  // namespace anyplace::cpu_sim
