// SPDX-License-Identifier: Apache-2.0
#include "processor.h"

#include <algorithm>
#include <atomic>
#include <bit>

#include "failure.h"

namespace anyplace::cpu_sim {
namespace {

constexpr int most_levels = 4;
constexpr std::uint32_t note_of_properties = 5;         // NT_GNU_PROPERTY_TYPE_0
constexpr std::uint32_t levels_needed = 0xc0008002;     // GNU_PROPERTY_X86_ISA_1_NEEDED, a bit for each level
constexpr std::uint64_t align = sizeof(std::uint64_t);  // of notes and properties in an image of 64 bits

std::atomic<int> limit{0};  // It is written when the plugin is loaded.

#if defined(__x86_64__)
// A compiler knows the levels' own names only since GCC 12 and Clang 18. What isn't asked for (lzcnt, movbe, f16c) is
// in every processor that has the others.
int find_level() noexcept {
  __builtin_cpu_init();
  const bool v2 =
      __builtin_cpu_supports("ssse3") && __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt");
  const bool v3 = v2 && __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
                  __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("fma");
  const bool v4 = v3 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                  __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512vl");
  return v4 ? 4 : v3 ? 3 : v2 ? 2 : 1;
}
#else
int find_level() noexcept { return 0; }
#endif

std::uint64_t padded(std::uint64_t bytes) noexcept { return (bytes + align - 1) / align * align; }

/// The highest level among the properties in [at, end).
int level_in_properties(const backend::ImageBytes& image, std::uint64_t at, std::uint64_t end) noexcept {
  constexpr std::uint64_t head = 2 * sizeof(std::uint32_t);
  while (end - at >= head) {
    const auto type = image.get<std::uint32_t>(at);
    const auto size = image.get<std::uint32_t>(at, 1);
    at += head;
    if (size > end - at) return 0;
    if (type == levels_needed && size == sizeof(std::uint32_t)) {
      return static_cast<int>(std::bit_width(image.get<std::uint32_t>(at)));
    }
    at += std::min(padded(size), end - at);
  }
  return 0;
}

}  // namespace

int processor_level() noexcept {
  static const int level = find_level();
  return level;
}

std::string level_name(int level) {
  if (level > most_levels) return "a later level of x86-64 than x86-64-v" + std::to_string(most_levels);
  return level <= 1 ? "x86-64" : "x86-64-v" + std::to_string(level);
}

int level_of(const std::string& name) noexcept {
  for (int level = 1; level <= most_levels; ++level) {
    if (name == level_name(level)) return level;
  }
  return 0;
}

void limit_level(int level) noexcept { limit.store(level, std::memory_order_relaxed); }

int needed_level(const backend::ImageBytes& image, std::uint64_t offset, std::uint64_t bytes) noexcept {
  constexpr std::uint64_t head = 4 * sizeof(std::uint32_t);  // three sizes, and the name "GNU"
  const std::uint64_t end = offset + bytes;
  while (end - offset >= head) {
    const auto name_bytes = image.get<std::uint32_t>(offset);
    const auto size = image.get<std::uint32_t>(offset, 1);
    const auto type = image.get<std::uint32_t>(offset, 2);
    offset += head;
    if (name_bytes != sizeof("GNU") || size > end - offset) return 0;
    if (type == note_of_properties) return level_in_properties(image, offset, offset + size);
    offset += std::min(padded(size), end - offset);
  }
  return 0;
}

void check_level(int needed) {
  const int own = processor_level(), most = limit.load(std::memory_order_relaxed);
  if (own == 0 || needed <= (most == 0 ? own : std::min(own, most))) return;
  fail(ANYPLACE_STATUS_INVALID_IMAGE,
       "the image is for " + level_name(needed) + "; " +
           (needed > own ? "this processor is " + level_name(own)
                         : "ANYPLACE_CPU_SIM_PROCESSOR limits this process to " + level_name(most)));
}

}  // namespace anyplace::cpu_sim
