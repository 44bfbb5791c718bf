// SPDX-License-Identifier: Apache-2.0
#include "address_range.h"

#include <anyplace/backend/device_backend.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>

namespace anyplace::cpu_sim {
namespace {

// Nobody asks for more, and addresses aren't endless.
constexpr std::uint64_t greatest_alignment = 1 << 30;

std::atomic<bool> are_aligned_by_size{false};

}  // namespace

std::uint64_t page_bytes() noexcept { return static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)); }

std::uint64_t whole_pages(std::uint64_t bytes) noexcept {
  return (bytes + page_bytes() - 1) / page_bytes() * page_bytes();
}

anyplace_address take_addresses(std::uint64_t bytes, std::uint64_t alignment) noexcept {
  const std::uint64_t asked = bytes + alignment;
  void* const got = mmap(nullptr, asked, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (got == MAP_FAILED) return 0;
  const anyplace_address begin = backend::to_handle(got);
  const anyplace_address address = (begin + alignment - 1) / alignment * alignment;
  if (address != begin) munmap(got, address - begin);
  if (address + bytes != begin + asked) {
    munmap(backend::from_handle<void>(address + bytes), begin + asked - address - bytes);
  }
  return address;
}

void align_blocks_by_size() noexcept { are_aligned_by_size.store(true, std::memory_order_relaxed); }

std::uint64_t block_alignment(std::uint64_t bytes, std::uint64_t least) noexcept {
  if (!are_aligned_by_size.load(std::memory_order_relaxed)) return least;
  return std::max(least, std::bit_ceil(std::min(bytes, greatest_alignment)));
}

}  // namespace anyplace::cpu_sim
