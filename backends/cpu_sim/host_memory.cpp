// SPDX-License-Identifier: Apache-2.0
#include "host_memory.h"

#include <anyplace/backend/device_backend.h>
#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>

#include "address_range.h"

// They are there in a program that is run by AddressSanitizer, and null in any other.
extern "C" {
[[gnu::weak]] void __asan_poison_memory_region(const volatile void* memory, std::size_t bytes);
[[gnu::weak]] void __asan_unpoison_memory_region(const volatile void* memory, std::size_t bytes);
}

namespace anyplace::cpu_sim {
namespace {

// From this size on memory is mapped by the system, so that untouched memory costs nothing. Smaller blocks come from
// the C library with their exact size, so that a memory checker detects an access beyond them.
constexpr std::uint64_t mapped = 64 << 10;

/// Returns null if the host has none.
void* map_memory(std::uint64_t bytes) noexcept {
  if (bytes > most_addresses) return nullptr;
  const std::uint64_t alignment = block_alignment(bytes, page_bytes());
  if (alignment == page_bytes()) {
    void* const memory =
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return memory == MAP_FAILED ? nullptr : memory;
  }
  const std::uint64_t room = whole_pages(bytes);
  void* const memory = backend::from_handle<void>(take_addresses(room, alignment));
  if (memory == nullptr || mprotect(memory, room, PROT_READ | PROT_WRITE) == 0) return memory;
  munmap(memory, room);
  return nullptr;
}

}  // namespace

void* take_host_memory(std::uint64_t bytes) noexcept {
  if (bytes >= mapped) return map_memory(bytes);
  void* memory = nullptr;
  return posix_memalign(&memory, block_alignment(bytes, address_alignment), bytes) == 0 ? memory : nullptr;
}

void give_host_memory(void* memory, std::uint64_t bytes) noexcept {
  if (bytes >= mapped) {
    munmap(memory, bytes);
    return;
  }
  if (__asan_unpoison_memory_region != nullptr) __asan_unpoison_memory_region(memory, bytes);
  std::free(memory);
}

void close_host_memory(void* memory, std::uint64_t bytes) noexcept {
  if (bytes >= mapped) {
    mprotect(memory, bytes, PROT_NONE);
  } else if (__asan_poison_memory_region != nullptr) {
    __asan_poison_memory_region(memory, bytes);
  }
}

bool open_host_memory(void* memory, std::uint64_t bytes) noexcept {
  if (bytes >= mapped) return mprotect(memory, bytes, PROT_READ | PROT_WRITE) == 0;
  if (__asan_unpoison_memory_region != nullptr) __asan_unpoison_memory_region(memory, bytes);
  return true;
}

}  // namespace anyplace::cpu_sim
