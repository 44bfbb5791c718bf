// SPDX-License-Identifier: Apache-2.0
//
// The tables, the mappings and the threads' access. protection_report.cpp has what the signal handler calls.
#include "protection.h"

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iterator>
#include <string>
#include <vector>

#include "address_range.h"
#include "command_depth.h"
#include "failure.h"
#include "host_memory.h"
#include "short_copy.h"

namespace anyplace::cpu_sim {

constinit std::atomic<Protection*> Protection::instance{nullptr};
constinit thread_local unsigned CommandDepth::depth = 0;
constinit thread_local const char* CommandDepth::what = nullptr;

namespace {

// Fresh memory is private mappings of a file of this size, one behind the other, so that it takes no pages until they
// are written to. A process may have some 65,000 mappings.
constexpr std::uint64_t pattern_bytes = 4 << 20;
// So many freed allocations are kept for reports, and the addresses of those that were allocated here stay taken.
constexpr std::size_t most_retired = 32;

void* pointer(anyplace_address address) noexcept { return backend::from_handle<void>(address); }

#ifdef PKEY_DISABLE_ACCESS
constexpr unsigned no_access = PKEY_DISABLE_ACCESS;
#else
constexpr unsigned no_access = 1;
int pkey_alloc(unsigned, unsigned) { return errno = ENOSYS, -1; }
int pkey_set(int, unsigned) { return -1; }
int pkey_mprotect(void*, std::size_t, int, int) { return errno = ENOSYS, -1; }
#endif

/// Takes the memory away from these addresses, which stay reserved. Returns whether the system could.
bool map_nothing(void* at, std::uint64_t bytes) noexcept {
  return mmap(at, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) != MAP_FAILED;
}

[[noreturn]] void no_memory(const char* what, const char* call) {
  const int error = errno;
  throw Failure(ANYPLACE_STATUS_OUT_OF_MEMORY, std::string(what) + ": " + std::strerror(error), error, call);
}

/// Returns a file in memory that is filled with the pattern.
int make_pattern() {
  const int descriptor = memfd_create("anyplace cpu_sim fresh memory", MFD_CLOEXEC);
  if (descriptor < 0) no_memory("there is no file for the contents of fresh memory", "memfd_create");
  const std::vector<unsigned char> bytes(pattern_bytes, Protection::fresh);
  std::uint64_t done = 0;
  while (done < pattern_bytes) {
    const ssize_t written = pwrite(descriptor, bytes.data() + done, pattern_bytes - done, static_cast<off_t>(done));
    if (written <= 0 && errno != EINTR) {
      ::close(descriptor);
      no_memory("the contents of fresh memory weren't written", "pwrite");
    }
    if (written > 0) done += static_cast<std::uint64_t>(written);
  }
  return descriptor;
}

}  // namespace

// ---- Life ----------------------------------------------------------------------------------------------------------

Protection& Protection::begin(Protect how, backend::Host host) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (get() == nullptr) {
    auto* const made = new Protection(how, host);
    short_limit = 0;  // From now on each copy and fill is a command, which has a CommandAccess.
    instance.store(made, std::memory_order_release);
    pthread_atfork([] { get()->mutex_.lock(); }, [] { get()->mutex_.unlock(); },
                   [] {
                     Protection& child = *get();
                     child.running_ = CommandDepth::depth > 0 ? 1 : 0;  // The other threads aren't in the child.
                     if (child.running_ == 0) child.close_all();
                     child.mutex_.unlock();
                   });
  }
  return *get();
}

Protection::Protection(Protect how, backend::Host host)
    : host_(host), page_bytes_(static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE))), process_(getpid()) {
  if (how != Protect::pages) key_ = pkey_alloc(0, no_access);
  if (how == Protect::keys && key_ < 0) {
    bad_argument(std::string("ANYPLACE_CPU_SIM_PROTECT is \"keys\", and there is no protection key, pkey_alloc: ") +
                 std::strerror(errno) + "\nthe processor has them if /proc/cpuinfo says pku and ospke" +
                 "\n1 takes what there is, pages does without keys");
  }
  StackTrace::here();
  retired_.resize(most_retired);
  pattern_ = make_pattern();
}

// ---- Memory --------------------------------------------------------------------------------------------------------

anyplace_address Protection::allocate(std::int32_t device, std::uint64_t bytes, const char* operation) {
  if (bytes > most_addresses) return 0;
  const std::uint64_t aligned = (bytes + address_alignment - 1) / address_alignment * address_alignment;
  const std::uint64_t room = (aligned + page_bytes_ - 1) / page_bytes_ * page_bytes_;
  const std::uint64_t asked = room + 2 * page_bytes_;
  const anyplace_address got = take_addresses(asked, block_alignment(asked, page_bytes_));
  if (got == 0) return 0;
  Region region;
  region.guard_bytes = page_bytes_;
  region.first_page = got + page_bytes_;
  region.end_page = region.first_page + room;
  region.begin = region.end_page - aligned;
  region.bytes = bytes;
  region.device = device;
  region.made_by = operation;
  const int access = has_keys() ? PROT_READ | PROT_WRITE : PROT_NONE;
  bool mapped = true;
  for (anyplace_address at = region.first_page; mapped && at != region.end_page;) {
    const std::uint64_t part = std::min(pattern_bytes, region.end_page - at);
    const int flags = MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE;
    mapped = mmap(pointer(at), part, access, flags, pattern_, 0) != MAP_FAILED;
    at += part;
  }
  try {
    if (mapped && lock_out(region)) {
      region.made = StackTrace::here();
      const std::lock_guard lock(mutex_);
      return regions_.emplace(region.outer_begin(), region).first->second.begin;
    }
  } catch (const std::bad_alloc&) {  // The region isn't in the table.
  }
  munmap(pointer(got), asked);
  return 0;
}

void Protection::cover(std::int32_t device, anyplace_address address, std::uint64_t bytes, const char* operation) {
  Region region;
  region.begin = region.first_page = address;
  region.end_page = address + bytes;
  region.bytes = bytes;
  region.device = device;
  region.made_by = operation;
  region.made = StackTrace::here();
  const std::lock_guard lock(mutex_);
  const auto added = regions_.emplace(address, region).first;
  if (lock_out(region)) return;
  const int error = errno;
  regions_.erase(added);
  errno = error;
  no_memory("device memory can't be protected; a process may have vm.max_map_count mappings", "mprotect");
}

void Protection::fill(anyplace_address address, std::uint64_t bytes) noexcept {
  const CommandAccess access("a fill");  // The pages may have the key since they were mapped the last time.
  std::memset(pointer(address), fresh, bytes);
}

void Protection::retire(anyplace_address address, const char* operation) noexcept {
  const StackTrace here = StackTrace::here();
  const std::lock_guard lock(mutex_);
  const auto found = at(address);
  if (found == regions_.end()) return;
  Region& region = found->second;
  region.owned = true;
  if (!map_nothing(pointer(region.first_page), region.end_page - region.first_page)) {
    mprotect(pointer(region.first_page), region.end_page - region.first_page, PROT_NONE);
  }
  end(found, operation, here);
}

void Protection::uncover(anyplace_address address, const char* operation) noexcept {
  const StackTrace here = StackTrace::here();
  const std::lock_guard lock(mutex_);
  if (const auto found = at(address); found != regions_.end()) end(found, operation, here);
}

void Protection::forget(anyplace_address address, std::uint64_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  for (auto next = regions_.lower_bound(address); next != regions_.end() && next->first < address + bytes;) {
    close(next->second);
    regions_.erase(next++);
  }
  for (Region& region : retired_) {
    if (!region.owned && region.begin >= address && region.begin < address + bytes) region = {};
  }
}

/// Moves a region to the ring, in place of the oldest one there. It is called under mutex_.
void Protection::end(Regions::iterator region, const char* operation, const StackTrace& here) noexcept {
  close(region->second);
  Region& oldest = retired_[next_retired_];
  next_retired_ = (next_retired_ + 1) % retired_.size();
  if (oldest.owned) munmap(pointer(oldest.outer_begin()), oldest.outer_end() - oldest.outer_begin());
  oldest = region->second;
  oldest.freed = true;
  oldest.freed_by = operation;
  oldest.end = here;
  regions_.erase(region);
}

/// Returns the region that begins at the address, which may lie behind a guard and some padding.
Protection::Regions::iterator Protection::at(anyplace_address address) noexcept {
  auto found = regions_.upper_bound(address);
  if (found == regions_.begin()) return regions_.end();
  --found;
  return found->second.begin == address ? found : regions_.end();
}

// ---- Access --------------------------------------------------------------------------------------------------------

/// Takes away the host's access. Returns false, and sets errno, if the system has no mapping left for it.
bool Protection::lock_out(const Region& region) const noexcept {
  void* const begin = pointer(region.first_page);
  const std::uint64_t bytes = region.end_page - region.first_page;
  if (has_keys()) return pkey_mprotect(begin, bytes, PROT_READ | PROT_WRITE, key_) == 0;
  return mprotect(begin, bytes, PROT_NONE) == 0;
}

void Protection::enter(const char* what) noexcept {
  if (CommandDepth::depth++ != 0) return;
  CommandDepth::what = what;
  if (has_keys()) {
    pkey_set(key_, 0);
  } else {
    const std::lock_guard lock(mutex_);
    ++running_;
  }
}

void Protection::leave() noexcept {
  if (--CommandDepth::depth != 0) return;
  if (has_keys()) {
    pkey_set(key_, no_access);
  } else {
    const std::lock_guard lock(mutex_);
    if (--running_ == 0) close_all();
  }
}

void Protection::close_all() noexcept {
  for (Region* region = opened_; region != nullptr; region = region->next) {
    region->open = false;
    lock_out(*region);
  }
  opened_ = nullptr;
}

/// Closes one region, whose memory is going away.
void Protection::close(Region& region) noexcept {
  if (region.open) {
    Region** link = &opened_;
    while (*link != &region) link = &(*link)->next;
    *link = region.next;
  }
  region.open = false;
  region.next = nullptr;
}

}  // namespace anyplace::cpu_sim
