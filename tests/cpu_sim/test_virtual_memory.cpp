// SPDX-License-Identifier: Apache-2.0
//
// Addresses and the memory behind them, made apart: what counts, what is refused, and what it takes of the host.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <csignal>
#include <cstring>
#include <fstream>

#include "plugin.h"

namespace test_virtual_memory_cases {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CPU_SIM_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define CPU_SIM_SANITIZED 1
#endif
#endif

using namespace cpu_sim_test;

namespace {

constexpr std::uint64_t page_bytes = 2 << 20;

/// The seven entries of device 0 with sizes in pages.
struct Space {
  explicit Space(const Environment& environment = Environment()) : plugin(environment) {}

  std::uint64_t reserve(std::uint64_t pages, std::int32_t device = 0) {
    std::uint64_t address = 0;
    check(plugin->virtual_reserve(plugin.self(), device, pages * page_bytes, &address));
    return address;
  }
  anyplace_physical create(std::uint64_t pages, std::int32_t device = 0) {
    anyplace_physical physical = 0;
    check(plugin->physical_create(plugin.self(), device, pages * page_bytes, &physical));
    return physical;
  }
  anyplace_status release_status(std::uint64_t address, std::uint64_t bytes, std::int32_t device = 0) {
    return plugin->virtual_release(plugin.self(), device, address, bytes);
  }
  anyplace_status map_status(std::uint64_t address, anyplace_physical physical, std::int32_t device = 0) {
    return plugin->virtual_map(plugin.self(), device, address, physical);
  }
  anyplace_status map_all_status(std::uint64_t address, const std::vector<anyplace_physical>& physicals,
                                 std::int32_t device = 0) {
    return plugin->virtual_map_all(plugin.self(), device, address, physicals.data(), physicals.size());
  }
  anyplace_status unmap_status(std::uint64_t address, std::uint64_t bytes, std::int32_t device = 0) {
    return plugin->virtual_unmap(plugin.self(), device, address, bytes);
  }
  anyplace_status destroy_status(anyplace_physical physical) {
    return plugin->physical_destroy(plugin.self(), physical);
  }
  void release(std::uint64_t address, std::uint64_t pages) { check(release_status(address, pages * page_bytes)); }
  void map(std::uint64_t address, anyplace_physical physical) { check(map_status(address, physical)); }
  void unmap(std::uint64_t address, std::uint64_t pages) { check(unmap_status(address, pages * page_bytes)); }
  void destroy(anyplace_physical physical) { check(destroy_status(physical)); }

  Plugin plugin;
};

unsigned char& byte_at(std::uint64_t address) { return *reinterpret_cast<unsigned char*>(address); }

/// A sanitizer has memory of its own for what is touched.
#ifdef CPU_SIM_SANITIZED
constexpr bool measured = false;
#else
constexpr bool measured = true;
#endif

/// Bytes of real memory that the process has.
std::uint64_t resident_bytes() {
  std::uint64_t size = 0, resident = 0;
  std::ifstream("/proc/self/statm") >> size >> resident;
  return resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

std::uint64_t mapping_count() {
  std::ifstream maps("/proc/self/maps");
  std::uint64_t lines = 0;
  for (std::string line; std::getline(maps, line);) ++lines;
  return lines;
}

}  // namespace

TEST_CASE("Given several memories that can't all be mapped, Then none of them is, and it says why") {
  Space space(Environment{{"MEMORY", "4194304TiB"}});
  const std::uint64_t range = space.reserve(4);
  const anyplace_physical first = space.create(1), second = space.create(2), others = space.create(1, 1);
  const anyplace_physical huge = space.create(std::uint64_t{1} << 40U);  // four times its bytes are 2^63
  const auto refused = [&](const std::vector<anyplace_physical>& physicals, const char* text) {
    CHECK(space.map_all_status(range + page_bytes, physicals) == ANYPLACE_STATUS_INVALID_ARGUMENT);
    CHECK_THAT(HostStub::take_message(), Catch::Contains(text));
  };
  refused({first, second, first}, "inside one range");
  refused({first, others}, "memory of device 1");
  refused({first, huge + 100}, "no memory of cpu_sim");
  refused({huge, huge, huge, huge, huge, huge, huge, huge}, "inside one range");
  space.map(range + 3 * page_bytes, first);
  refused({first, second}, "are mapped; unmap them first");
  space.map(range + page_bytes, second);  // nothing is there
  space.unmap(range + page_bytes, 3);
  for (const anyplace_physical physical : {first, second, others, huge}) space.destroy(physical);
  space.release(range, 4);
}

TEST_CASE("Given memory that is destroyed while it is mapped, Then it counts until it is unmapped") {
  Space space(Environment{{"MEMORY", "4MiB"}});
  const std::uint64_t range = space.reserve(2);
  const anyplace_physical memory = space.create(1);
  space.map(range, memory);
  space.map(range + page_bytes, memory);
  space.destroy(memory);
  CHECK(space.destroy_status(memory) == ANYPLACE_STATUS_INVALID_ARGUMENT);
  CHECK(space.map_status(range, memory) == ANYPLACE_STATUS_INVALID_ARGUMENT);
  CHECK(space.plugin.free_bytes() == page_bytes);
  space.unmap(range, 1);
  CHECK(space.plugin.free_bytes() == page_bytes);
  space.unmap(range + page_bytes, 1);
  CHECK(space.plugin.free_bytes() == 2 * page_bytes);
  space.release(range, 2);
}

TEST_CASE("Given a limit, Then memory counts from its making on, mapped or not, and ranges don't") {
  Space space(Environment{{"MEMORY", "8MiB"}});
  const std::uint64_t range = space.reserve(1024);
  const std::uint64_t block = space.plugin.allocate(page_bytes);
  const anyplace_physical memory = space.create(2);
  CHECK(space.plugin.free_bytes() == page_bytes);
  CHECK(space.plugin.free_bytes(1) == 4 * page_bytes);
  std::string text;
  CHECK(status_of([&] { space.create(2); }, &text) == ANYPLACE_STATUS_OUT_OF_MEMORY);
  CHECK_THAT(text, Catch::Contains("4194304 bytes requested") && Catch::Contains("2097152 free of 8388608"));
  CHECK(status_of([&] { space.plugin.allocate(page_bytes + 1); }) == ANYPLACE_STATUS_OUT_OF_MEMORY);
  space.map(range, memory);
  CHECK(space.plugin.free_bytes() == page_bytes);
  space.unmap(range, 2);
  CHECK(space.plugin.free_bytes() == page_bytes);
  space.destroy(memory);
  CHECK(space.plugin.free_bytes() == 3 * page_bytes);
  space.plugin.free(block);
  space.release(range, 1024);
}

TEST_CASE("Given sizes and addresses that make no sense, Then each is refused and says what is wrong") {
  Space space(Environment{{"MEMORY", "4194304TiB"}});
  anyplace_address address = 0;
  anyplace_physical physical = 0;
  const auto refused = [&](anyplace_status status, const char* text) {
    CHECK(status == ANYPLACE_STATUS_INVALID_ARGUMENT);
    CHECK_THAT(HostStub::take_message(), Catch::Contains(text));
  };
  const auto reserve = [&](std::uint64_t bytes) {
    return space.plugin->virtual_reserve(space.plugin.self(), 0, bytes, &address);
  };
  const auto create = [&](std::uint64_t bytes) {
    return space.plugin->physical_create(space.plugin.self(), 0, bytes, &physical);
  };
  refused(reserve(0), "0 bytes");
  refused(create(0), "0 bytes");
  refused(reserve(page_bytes + 4096), "no multiple");
  refused(create(page_bytes / 2), "no multiple");
  CHECK(reserve(std::uint64_t{1} << 62) == ANYPLACE_STATUS_OUT_OF_MEMORY);
  CHECK(reserve(0 - page_bytes) == ANYPLACE_STATUS_OUT_OF_MEMORY);
  CHECK(reserve(std::uint64_t{1} << 55) == ANYPLACE_STATUS_OUT_OF_MEMORY);
  CHECK_THAT(HostStub::take_message(), Catch::Contains("addresses"));
  CHECK(create(std::uint64_t{1} << 63) == ANYPLACE_STATUS_OUT_OF_MEMORY);
  CHECK(address == 0);
  CHECK(physical == 0);

  const std::uint64_t range = space.reserve(4);
  const anyplace_physical memory = space.create(2);
  refused(space.map_status(range + 4096, memory), "no multiple");
  refused(space.map_status(range + 3 * page_bytes, memory), "inside one range");
  refused(space.map_status(range - page_bytes, memory), "inside one range");
  refused(space.map_status(range + 4 * page_bytes, memory), "inside one range");
  refused(space.map_status(0, memory), "inside one range");
  refused(space.map_status(0 - 2 * page_bytes, memory), "inside one range");
  refused(space.map_status(range, memory + 1), "no memory of cpu_sim");
  refused(space.map_status(range, 0), "no memory of cpu_sim");
  refused(space.destroy_status(memory + 1), "no memory of cpu_sim");
  refused(space.map_status(range, memory, 1), "memory of device 0");
  refused(space.release_status(range, 3 * page_bytes), "whole range");
  refused(space.release_status(range + page_bytes, 3 * page_bytes), "whole range");
  refused(space.release_status(range, 4 * page_bytes, 1), "whole range");
  space.release(range, 4);
  refused(space.release_status(range, 4 * page_bytes), "whole range");
  refused(space.map_status(range, memory), "inside one range");
  const anyplace_physical huge = space.create(std::uint64_t{1} << 35);  // ends behind the last address there could be
  const std::uint64_t small = space.reserve(1);
  refused(space.map_status(small, huge), "inside one range");
  space.release(small, 1);
  space.destroy(huge);
  space.destroy(memory);
}

TEST_CASE("Given mappings, Then only whole ones are unmapped, and nothing is mapped or released over them") {
  Space space;
  const std::uint64_t range = space.reserve(6), apart = space.reserve(1);
  const anyplace_physical large = space.create(2), small = space.create(1), other = space.create(2);
  space.map(range + page_bytes, large);
  space.map(range + 3 * page_bytes, small);
  byte_at(range + page_bytes) = 1;
  const auto refused = [&](anyplace_status status, const char* text) {
    CHECK(status == ANYPLACE_STATUS_INVALID_ARGUMENT);
    CHECK_THAT(HostStub::take_message(), Catch::Contains(text));
  };
  for (const std::uint64_t first : {0, 1, 2, 3}) {
    refused(space.map_status(range + first * page_bytes, other), "unmap them first");
  }
  refused(space.unmap_status(range + page_bytes, page_bytes), "each whole");
  refused(space.unmap_status(range + 2 * page_bytes, page_bytes), "each whole");
  refused(space.unmap_status(range + 2 * page_bytes, 2 * page_bytes), "each whole");
  refused(space.unmap_status(range, 3 * page_bytes), "each whole");
  refused(space.unmap_status(range + page_bytes, 4 * page_bytes), "each whole");
  refused(space.unmap_status(range + 5 * page_bytes, page_bytes), "each whole");
  refused(space.unmap_status(apart, page_bytes), "each whole");
  refused(space.unmap_status(range + page_bytes, 0), "0 bytes");
  refused(space.unmap_status(range + page_bytes, page_bytes + 1), "no multiple");
  refused(space.unmap_status(range + page_bytes, 0 - page_bytes), "each whole");
  refused(space.unmap_status(range + page_bytes, 3 * page_bytes, 1), "each whole");
  refused(space.release_status(range, 6 * page_bytes), "unmap them first");
  CHECK(byte_at(range + page_bytes) == 1);
  space.unmap(range + page_bytes, 3);
  space.map(range + 4 * page_bytes, other);
  space.unmap(range + 4 * page_bytes, 2);
  for (const anyplace_physical physical : {large, small, other}) space.destroy(physical);
  space.release(range, 6);
  space.release(apart, 1);
}

TEST_CASE("Given what is unmapped, When it is touched, Then the process ends") {
  Space space;
  const std::uint64_t range = space.reserve(2);
  const anyplace_physical memory = space.create(1);
  space.map(range, memory);
  byte_at(range) = 1;
  space.unmap(range, 1);
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGSEGV, SIG_DFL);
    byte_at(range) = 2;
    _exit(0);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFSIGNALED(status));
  space.destroy(memory);
  space.release(range, 2);
}

TEST_CASE("Given 40 GiB of pages in any order, When they are mapped, Then no memory is taken and few mappings") {
  constexpr std::uint64_t page_count = 20480;
  Space space(Environment{{"MEMORY", "40GiB"}});
  const std::uint64_t resident = resident_bytes(), mappings = mapping_count();
  const std::uint64_t range = space.reserve(2 * page_count);
  std::vector<anyplace_physical> pages(page_count);
  for (anyplace_physical& page : pages) page = space.create(1);
  // 7919 is prime to the number of pages: every page is reached once, none beside the one before.
  for (std::uint64_t i = 0; i < page_count; ++i) space.map(range + (i * 7919 % page_count) * page_bytes, pages[i]);
  CHECK(space.plugin.free_bytes() == 0);
  CHECK((!measured || resident_bytes() < resident + (std::uint64_t{64} << 20)));
  CHECK(mapping_count() < mappings + 64);
  // Moved, each to the place of another.
  space.unmap(range, page_count);
  for (std::uint64_t i = 0; i < page_count; ++i) space.map(range + (page_count + i) * page_bytes, pages[i]);
  CHECK((!measured || resident_bytes() < resident + (std::uint64_t{64} << 20)));
  CHECK(mapping_count() < mappings + 64);
  space.unmap(range + page_count * page_bytes, page_count);
  for (const anyplace_physical page : pages) space.destroy(page);
  space.release(range, 2 * page_count);
  CHECK(space.plugin.free_bytes() == std::uint64_t{40} << 30);
}

TEST_CASE("Given memory that was touched, When it is destroyed, Then it is the host's again") {
  constexpr std::uint64_t page_count = 64;
  Space space;
  const std::uint64_t range = space.reserve(page_count);
  const anyplace_physical memory = space.create(page_count);
  const std::uint64_t before = resident_bytes();
  space.map(range, memory);
  std::memset(reinterpret_cast<void*>(range), 1, page_count * page_bytes);
  CHECK((!measured || resident_bytes() > before + page_count * page_bytes / 2));
  space.unmap(range, page_count);
  space.destroy(memory);
  CHECK((!measured || resident_bytes() < before + page_count * page_bytes / 2));
  const anyplace_physical again = space.create(page_count);
  space.map(range, again);
  CHECK(byte_at(range) == 0);
  space.unmap(range, page_count);
  space.destroy(again);
  space.release(range, page_count);
}

TEST_CASE(
    "Given no mapping left to the process, Then it is OUT_OF_MEMORY that names the limit, and all can be undone") {
#ifdef CPU_SIM_SANITIZED
  WARN("not under a sanitizer: it needs mappings of its own, and ends the process when it gets none");
#else
  std::uint64_t limit = 0;
  std::ifstream("/proc/sys/vm/max_map_count") >> limit;
  if (limit == 0 || limit > 200000) {
    WARN("vm.max_map_count is " << limit << ": no limit that is reached in a test");
    return;
  }
  Space space(Environment{{"MEMORY", "1TiB"}});
  const std::uint64_t range = space.reserve(2 * limit);
  std::vector<anyplace_physical> pages;
  std::vector<std::uint64_t> mapped;
  pages.reserve(limit);
  mapped.reserve(limit);
  anyplace_status status = ANYPLACE_STATUS_OK;
  while (pages.size() < limit) {
    pages.push_back(space.create(1));
    const std::uint64_t address = range + (2 * pages.size() - 1) * page_bytes;  // with a hole on either side
    status = space.map_status(address, pages.back());
    if (status != ANYPLACE_STATUS_OK) break;
    mapped.push_back(address);
  }
  CHECK(status == ANYPLACE_STATUS_OUT_OF_MEMORY);
  CHECK_THAT(HostStub::take_message(), Catch::Contains("vm.max_map_count = " + std::to_string(limit)));
  CHECK(mapped.size() > limit / 3);
  for (const std::uint64_t address : mapped) check(space.unmap_status(address, page_bytes));
  space.map(range, pages.back());
  byte_at(range) = 1;
  space.unmap(range, 1);
  for (const anyplace_physical page : pages) space.destroy(page);
  space.release(range, 2 * limit);
  CHECK(space.plugin.free_bytes() == std::uint64_t{1} << 40);
#endif
}

// Run by the next case, in a process that has the limit from its beginning.
TEST_CASE("a process with a limit on the size of files", "[.limited_files]") {
  Space space;
  CHECK((space.plugin.properties(0).capabilities >> ANYPLACE_CAPABILITY_BIT_VIRTUAL_MEMORY & 1) == 0);
  std::string text;
  CHECK(status_of([&] { space.reserve(1); }, &text) == ANYPLACE_STATUS_UNSUPPORTED);
  CHECK_THAT(text, Catch::Contains("RLIMIT_FSIZE"));
  CHECK(status_of([&] { space.create(1); }) == ANYPLACE_STATUS_UNSUPPORTED);
  space.plugin.free(space.plugin.allocate(page_bytes));
}

// Both cases with the tag, that of modules too.
TEST_CASE("Given a limit on the size of files, Then there is no virtual memory, no module, and the entries say why") {
  const pid_t child = fork();
  if (child == 0) {
    const rlimit limit{4096, 4096};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(2);
    execl("/proc/self/exe", "test_cpu_sim", "[.limited_files]", static_cast<char*>(nullptr));
    _exit(3);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  REQUIRE(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
}

}  // namespace test_virtual_memory_cases
