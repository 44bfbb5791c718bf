// SPDX-License-Identifier: Apache-2.0
#include "figures.h"

#include <malloc.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "conformance.h"

namespace anyplace::conformance {
namespace {

/// A figure that grew in all of these rounds is taken for a leak. There is a pause after each of the last ones, a
/// second after the very last, so that threads that clean up behind the caller get their turn also on a busy machine.
constexpr int quick_rounds = 4;
constexpr int patient_rounds = 8;
constexpr int pauses = 20;
constexpr int last_pauses = 200;
constexpr std::chrono::milliseconds pause_for{5};

// A sanitizer keeps freed memory for a while, and has its own mappings.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool memory_is_the_backends = false;
#else
constexpr bool memory_is_the_backends = true;
#endif

constexpr std::array<const char*, static_cast<std::size_t>(Figure::count)> names = {
    "open file descriptors",       "threads", "mappings", "bytes of the heap", "bytes of address space",
    "bytes of the device's memory"};

std::int64_t entries_of(const char* folder) {
  std::int64_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder)) ++count;
  return count;
}

std::int64_t lines_of(const char* path) {
  std::ifstream file(path);
  std::int64_t count = 0;
  for (std::string line; std::getline(file, line);) ++count;
  return count;
}

std::int64_t address_space() {
  std::ifstream file("/proc/self/statm");
  std::int64_t pages = 0;
  file >> pages;
  return pages * sysconf(_SC_PAGESIZE);
}

/// Bytes of the heap for one operation. A vendor's library may remember each allocation that there ever was.
constexpr std::int64_t heap_of_an_operation = 16;
constexpr std::int64_t heap_of_an_allocation = 1024;

/// What a round of `times` operations may leave behind of each figure.
Figures allowance(int times, std::uint64_t device_bytes) {
  const auto half = static_cast<std::int64_t>(times) / 2;
  const auto bytes = static_cast<std::int64_t>(device_bytes);
  return {half,
          half,
          half,
          half * (bytes == 0 ? heap_of_an_operation : heap_of_an_allocation),
          half * std::max<std::int64_t>(4096, bytes),
          half * std::max<std::int64_t>(64, bytes)};
}

using Grew = std::array<bool, static_cast<std::size_t>(Figure::count)>;

Grew grew(const Figures& before, const Figures& after, const Figures& allowed) {
  Grew result{};
  for (std::size_t i = 0; i < result.size(); ++i) result[i] = after[i] - before[i] >= allowed[i];
  return result;
}

bool any(const Grew& grew) {
  return std::any_of(grew.begin(), grew.end(), [](bool one) { return one; });
}

Grew both(Grew left, const Grew& right) {
  for (std::size_t i = 0; i < left.size(); ++i) left[i] = left[i] && right[i];
  return left;
}

}  // namespace

Figures figures(const TableBackend& backend) {
  Figures now{};
  now[static_cast<std::size_t>(Figure::descriptors)] = entries_of("/proc/self/fd");
  now[static_cast<std::size_t>(Figure::threads)] = entries_of("/proc/self/task");
  if (memory_is_the_backends) {
    const auto heap = mallinfo2();
    now[static_cast<std::size_t>(Figure::mappings)] = lines_of("/proc/self/maps");
    now[static_cast<std::size_t>(Figure::heap_bytes)] = static_cast<std::int64_t>(heap.uordblks + heap.hblkhd);
    now[static_cast<std::size_t>(Figure::address_space)] = address_space();
  }
  const anyplace_memory_info info = backend.memory(backend.device());
  if (info.free_bytes != ANYPLACE_UNKNOWN && info.total_bytes != ANYPLACE_UNKNOWN) {
    now[static_cast<std::size_t>(Figure::device_bytes)] = static_cast<std::int64_t>(info.total_bytes - info.free_bytes);
  }
  return now;
}

void check_leaves_nothing(const TableBackend& backend, int times, std::uint64_t device_bytes,
                          const std::function<void()>& once, Caller caller) {
  const auto round = [&] {
    for (int i = 0; i < times; ++i) once();
    TableBackend::require(backend.table().device_synchronize(backend.self(), backend.device(), ANYPLACE_FOREVER),
                          "device_synchronize", caller);
  };
  const Figures allowed = allowance(times, device_bytes);
  round();
  const Figures first = figures(backend);
  Figures before = first;
  Grew suspect;
  suspect.fill(true);
  for (int i = 0; i < quick_rounds + patient_rounds && any(suspect); ++i) {
    round();
    Figures after = figures(backend);
    const int most = i < quick_rounds ? 0 : i + 1 < quick_rounds + patient_rounds ? pauses : last_pauses;
    for (int pause = 0; pause < most && any(both(suspect, grew(before, after, allowed))); ++pause) {
      std::this_thread::sleep_for(pause_for);
      after = figures(backend);
    }
    suspect = both(suspect, grew(before, after, allowed));
    before = after;
  }
  for (std::size_t i = 0; i < suspect.size(); ++i) {
    if (!suspect[i]) continue;
    check_failed(caller.file, caller.line,
                 "each of " + std::to_string(quick_rounds + patient_rounds) + " rounds of " + std::to_string(times) +
                     " times left more " + names[i] + " behind: " + std::to_string(first[i]) + " before, " +
                     std::to_string(before[i]) + " after");
  }
}

void without_thread_caches() noexcept {
  constexpr const char* variable = "GLIBC_TUNABLES";
  if (!memory_is_the_backends || std::getenv(variable) != nullptr) return;
  try {
    std::ifstream file("/proc/self/cmdline", std::ios::binary);
    std::string words{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    std::vector<char*> arguments;
    for (std::size_t at = 0; at < words.size(); at = words.find('\0', at) + 1) arguments.push_back(words.data() + at);
    if (arguments.empty()) return;
    arguments.push_back(nullptr);
    setenv(variable, "glibc.malloc.tcache_count=0", 1);
    execv("/proc/self/exe", arguments.data());
    unsetenv(variable);
  } catch (const std::exception&) {
    // If this fails the caches stay on, and the cases measure with them.
  }
}

}  // namespace anyplace::conformance
