// SPDX-License-Identifier: Apache-2.0
#include "backing_file.h"

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <anyplace/backend/kit/shortage.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iterator>

#include "failure.h"

namespace anyplace::cpu_sim {
namespace {

// No address is beyond `elsewhere`. Offsets from there to `end` are each used once: at a page each microsecond they
// last for weeks.
constexpr std::uint64_t elsewhere = std::uint64_t{1} << 56;
constexpr std::uint64_t end = std::uint64_t{1} << 62;

off_t signed_offset(std::uint64_t offset) noexcept { return static_cast<off_t>(offset); }

}  // namespace

BackingFile& BackingFile::get() {
  static BackingFile* const file = new BackingFile;
  return *file;
}

BackingFile::BackingFile() : elsewhere_(elsewhere) {
  // Making a file longer than the process's limit raises a signal that ends it.
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur < end) {
    why_not_ = "files of this process are limited to " + std::to_string(limit.rlim_cur) +
               " bytes (ulimit -f, RLIMIT_FSIZE), and memory apart from its address needs one without a limit";
    return;
  }
  const int made = memfd_create("anyplace cpu_sim memory", MFD_CLOEXEC);
  if (made < 0 && backend::is_shortage(errno)) {  // A shortage may be over at the next call.
    throw backend::Failure(ANYPLACE_STATUS_OUT_OF_MEMORY,
                           std::string("there is no file in memory for now, memfd_create: ") + std::strerror(errno),
                           errno, "memfd_create");
  }
  if (made < 0) {
    why_not_ = std::string("there is no file in memory, memfd_create: ") + std::strerror(errno);
    return;
  }
  if (ftruncate(made, signed_offset(end)) != 0) {
    why_not_ = std::string("the file in memory can't be made long enough, ftruncate: ") + std::strerror(errno);
    close(made);
    return;
  }
  descriptor_ = made;
}

std::uint64_t BackingFile::place(std::uint64_t wanted, std::uint64_t bytes) {
  std::lock_guard lock(mutex_);
  const auto next = places_.lower_bound(wanted);
  const bool free_before = next == places_.begin() || std::prev(next)->second <= wanted;
  const bool free_behind = next == places_.end() || next->first >= wanted + bytes;
  std::uint64_t offset = wanted;
  if (!free_before || !free_behind || wanted + bytes > elsewhere) {
    if (bytes > end - elsewhere_) {
      fail(ANYPLACE_STATUS_OUT_OF_MEMORY, "memory was mapped elsewhere so often that no place for " +
                                              std::to_string(bytes) + " bytes is left in the file behind it");
    }
    offset = elsewhere_;
  }
  places_.emplace(offset, offset + bytes);
  if (offset == elsewhere_) elsewhere_ += bytes;
  return offset;
}

void BackingFile::give_back(std::uint64_t offset, std::uint64_t bytes) noexcept {
  if (holds_data(offset, bytes)) {
    fallocate(descriptor_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, signed_offset(offset), signed_offset(bytes));
  }
  erase(offset);
}

bool BackingFile::give_back_if_empty(std::uint64_t offset, std::uint64_t bytes) noexcept {
  if (holds_data(offset, bytes)) return false;
  erase(offset);
  return true;
}

void BackingFile::erase(std::uint64_t offset) noexcept {
  std::lock_guard lock(mutex_);
  places_.erase(offset);
}

/// Returns whether the file has data in the range, and true where the system can't tell.
bool BackingFile::holds_data(std::uint64_t offset, std::uint64_t bytes) const noexcept {
  const off_t data = lseek(descriptor_, signed_offset(offset), SEEK_DATA);
  if (data < 0) return errno != ENXIO;  // ENXIO means that there is no data from here to the end.
  return static_cast<std::uint64_t>(data) < offset + bytes;
}

int BackingFile::map_with(int access, anyplace_address address, std::uint64_t offset,
                          std::uint64_t bytes) const noexcept {
  void* const wanted = backend::from_handle<void>(address);
  if (mmap(wanted, bytes, access, MAP_SHARED | MAP_FIXED, descriptor_, signed_offset(offset)) == MAP_FAILED) {
    return errno;
  }
  // A core dump would read, and so allocate, every page of the mapping.
  madvise(wanted, bytes, MADV_DONTDUMP);
  return 0;
}

int BackingFile::reserve(anyplace_address address, std::uint64_t bytes) const noexcept {
  return map_with(PROT_NONE, address, address, bytes);
}

int BackingFile::map(anyplace_address address, std::uint64_t offset, std::uint64_t bytes) const noexcept {
  if (offset != address || has_old_mappings_.load(std::memory_order_relaxed)) {
    return map_with(PROT_READ | PROT_WRITE, address, offset, bytes);
  }
  void* const wanted = backend::from_handle<void>(address);
  if (mprotect(wanted, bytes, PROT_READ | PROT_WRITE) == 0) return 0;
  const int code = errno;
  mprotect(wanted, bytes, PROT_NONE);  // Some of it may have got access.
  return code;
}

void BackingFile::unmap(anyplace_address address, std::uint64_t offset, std::uint64_t bytes) noexcept {
  if (offset != address) {
    if (map_with(PROT_NONE, address, address, bytes) == 0) return;
    has_old_mappings_.store(true, std::memory_order_relaxed);
  }
  mprotect(backend::from_handle<void>(address), bytes, PROT_NONE);
}

}  // namespace anyplace::cpu_sim
