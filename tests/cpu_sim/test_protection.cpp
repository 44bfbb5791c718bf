// SPDX-License-Identifier: Apache-2.0
//
// Device memory that is protected: what is caught, how it is reported, and that a correct program doesn't notice.
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <string>
#include <vector>

#include "graphs.h"
#include "plugin.h"
#include "support/process.h"
#include "support/sanitized.h"
#include "support/threads.h"

namespace test_protection_cases {

using namespace cpu_sim_test;

namespace {

constexpr unsigned char fresh = 0xCB;
// With a whole page the guards are at both ends.
const auto bytes = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
const std::string all_bytes = std::to_string(bytes) + " bytes";

Environment by(const std::string& how) { return Environment{{"PROTECT", how}}; }

volatile unsigned char* at(std::uint64_t address) { return reinterpret_cast<volatile unsigned char*>(address); }

/// Runs `body` in a child with each mechanism that this machine has; it is to die of SIGSEGV with a report.
void caught(const std::function<void(Plugin&)>& body, const std::vector<std::string>& said) {
  for (const std::string how : {"pages", "keys"}) {
    const test::Ended child = test::in_child([&] {
      std::string text;
      if (Plugin::enter(by(how), &text) != ANYPLACE_STATUS_OK) {
        if (how == "keys" && text.find("there is no protection key") != std::string::npos) return 77;
        return 99;
      }
      Plugin plugin(by(how));
      body(plugin);
      _exit(0);
    });
    CAPTURE(how);
    INFO(child.out);
    if (child.status == 77) {
      WARN("this machine has no protection keys: their cases are left out");
      continue;
    }
    CHECK_FALSE(child.hung);
    CHECK((test::sanitized ? child.status != 0 : child.signal == SIGSEGV));
    for (const std::string& words : said) CHECK_THAT(child.out, Catch::Contains(words));
  }
}

/// Runs `body` in a child with each mechanism; it is to return 0.
void passes(const std::function<int(Plugin&)>& body) {
  for (const std::string how : {"pages", "1"}) {
    const test::Ended child = test::in_child([&] {
      Plugin plugin(by(how));
      return body(plugin);
    });
    CAPTURE(how);
    INFO(child.out);
    CHECK_FALSE(child.hung);
    CHECK(child.status == 0);
  }
}

void fill(Plugin& plugin, Stream& stream, std::uint64_t address, unsigned char value, std::uint64_t count) {
  check(plugin->memory_set(plugin.self(), stream.handle, address, value, 1, count));
}

std::vector<unsigned char> read(Stream& stream, std::uint64_t address, std::uint64_t count) {
  std::vector<unsigned char> got(count);
  stream.copy(got.data(), reinterpret_cast<const void*>(address), count, ANYPLACE_COPY_DEVICE_TO_HOST);
  stream.synchronize();
  return got;
}

}  // namespace

TEST_CASE("Given protected memory, When the host reads it, Then it is told where and by whom it was allocated",
          "[.protected]") {
  caught([](Plugin& plugin) { static_cast<void>(*at(plugin.allocate(bytes) + 16)); },
         {"anyplace: cpu_sim: SIGSEGV: the host ", "byte 16 of device memory of cpu_sim:0, " + all_bytes + " at 0x",
          "pinned or managed memory", "allocated by memory_allocate, on thread ", "test_cpu_sim", "accessed by "});
}

TEST_CASE("Given protected memory, When the host writes to it, Then it is caught as well", "[.protected]") {
  caught([](Plugin& plugin) { *at(plugin.allocate(100, 1) + 99) = 1; },
         {"SIGSEGV: the host ", "byte 99 of device memory of cpu_sim:1, 100 bytes at 0x"});
}

TEST_CASE("Given protected memory, When the host accesses the byte before or behind it, Then it is told which",
          "[.protected]") {
  caught([](Plugin& plugin) { *at(plugin.allocate(bytes) - 1) = 1; },
         {"1 bytes before the beginning of device memory of cpu_sim:0, " + all_bytes});
  caught([](Plugin& plugin) { *at(plugin.allocate(bytes) + bytes) = 1; },
         {"1 bytes behind the last of device memory of cpu_sim:0, " + all_bytes});
}

TEST_CASE("Given protected memory that was freed, Then the report has who freed it", "[.protected]") {
  caught(
      [](Plugin& plugin) {
        const std::uint64_t address = plugin.allocate(bytes);
        plugin.free(address);
        *at(address) = 1;
      },
      {"byte 0 of freed device memory of cpu_sim:0", "allocated by memory_allocate,", "freed by memory_free,"});
  caught(
      [](Plugin& plugin) {
        Stream stream(plugin);
        std::uint64_t address = 0;
        check(plugin->memory_allocate_async(plugin.self(), stream.handle, bytes, &address));
        check(plugin->memory_free_async(plugin.self(), stream.handle, address));
        stream.synchronize();
        *at(address) = 1;
      },
      {"byte 0 of freed device memory", "allocated by memory_allocate_async,", "freed by memory_free_async,"});
}

TEST_CASE("Given protected memory, When a host function reads it, Then that is the host", "[.protected]") {
  caught(
      [](Plugin& plugin) {
        Stream stream(plugin);
        const std::uint64_t address = plugin.allocate(bytes);
        fill(plugin, stream, address, 1, bytes);
        stream.host([=] { static_cast<void>(*at(address)); });
        stream.synchronize();
      },
      {"SIGSEGV: the host ", "accessed by cpu_sim host, on thread "});
}

TEST_CASE("Given protected memory that a kernel has used, When the kernel is over, Then the host is caught again",
          "[.protected]") {
  caught(
      [](Plugin& plugin) {
        Stream stream(plugin);
        const std::uint64_t address = plugin.allocate(bytes);
        stream.run([=] { *at(address) = 1; });
        stream.synchronize();
        static_cast<void>(*at(address));
      },
      {"SIGSEGV: the host ", "byte 0 of device memory"});
}

TEST_CASE("Given protected memory, When a kernel leaves its allocation, Then kernel, block and allocation are told",
          "[.protected]") {
  caught(
      [](Plugin& plugin) {
        Stream stream(plugin);
        const std::uint64_t address = plugin.allocate(bytes);
        Kernel kernel(plugin, [=](const anyplace_block& block, void* const*, const std::uint32_t*, std::uint32_t) {
          at(address)[block.index[0] * 2048] = 1;
          return anyplace_status{ANYPLACE_STATUS_OK};
        });
        stream.launch(kernel, {3});
        stream.synchronize();
      },
      {"SIGSEGV: the kernel (a callable), block (2, 0, 0), ", "1 bytes behind the last of device memory of cpu_sim:0"});
  caught(
      [](Plugin& plugin) {
        Stream stream(plugin);
        const std::uint64_t address = plugin.allocate(bytes);
        plugin.free(address);
        stream.run([=] { *at(address + 5) = 1; });
        stream.synchronize();
      },
      {"SIGSEGV: the kernel (a callable), block (0, 0, 0), ", "byte 5 of freed device memory of cpu_sim:0"});
}

TEST_CASE("Given protected virtual memory, Then the host is caught while it is mapped and afterwards", "[.protected]") {
  const auto access = [](bool unmapped) {
    return [unmapped](Plugin& plugin) {
      std::uint64_t page = 0;
      check(plugin->virtual_granularity(plugin.self(), 0, &page));
      anyplace_address address = 0;
      check(plugin->virtual_reserve(plugin.self(), 0, 2 * page, &address));
      anyplace_physical physical = 0;
      check(plugin->physical_create(plugin.self(), 0, page, &physical));
      check(plugin->virtual_map(plugin.self(), 0, address, physical));
      Stream stream(plugin);
      if (read(stream, address, page) != std::vector<unsigned char>(page, fresh)) return;
      if (unmapped) check(plugin->virtual_unmap(plugin.self(), 0, address, page));
      *at(address + 3) = 1;
    };
  };
  caught(access(false), {"SIGSEGV: the host ", "byte 3 of device memory of cpu_sim:0", "allocated by virtual_map,"});
  caught(access(true), {"byte 3 of freed device memory", "freed by virtual_unmap,"});
}

TEST_CASE("Given a forked child, When it reads its parent's device memory, Then that is said", "[.protected]") {
  caught(
      [](Plugin& plugin) {
        const std::uint64_t address = plugin.allocate(bytes);
        const pid_t child = fork();
        if (child == 0) {
          static_cast<void>(*at(address));
          _exit(0);
        }
        int status = 0;
        waitpid(child, &status, 0);
        if (WIFEXITED(status)) _exit(WEXITSTATUS(status));
        raise(WTERMSIG(status));
      },
      {"SIGSEGV: a child that the host forked ", "byte 0 of device memory"});
}

TEST_CASE("Given protected memory, Then fresh memory has the pattern, and commands and 16 host threads do as ever",
          "[.protected]") {
  passes([](Plugin& plugin) {
    std::atomic<int> wrong{0};
    const auto expect = [&wrong](bool right) { wrong += right ? 0 : 1; };
    test::on_threads(16, [&](int t) {
      Stream stream(plugin);
      const auto value = static_cast<unsigned char>(t + 1);
      for (const std::uint64_t size : {std::uint64_t{1}, std::uint64_t{5000}, std::uint64_t{1} << 20}) {
        const std::uint64_t address = plugin.allocate(size), other = plugin.allocate(size);
        expect(read(stream, address, size) == std::vector<unsigned char>(size, fresh));
        fill(plugin, stream, address, value, size);
        check(plugin->memory_copy(plugin.self(), stream.handle, other, address, size, ANYPLACE_COPY_DEVICE_TO_DEVICE));
        stream.run([=] { *at(other + size - 1) = static_cast<unsigned char>(*at(other + size - 1) + 100); });
        std::vector<unsigned char> wanted(size, value);
        wanted.back() = static_cast<unsigned char>(value + 100);
        expect(read(stream, other, size) == wanted);
        plugin.free(address);
        check(plugin->memory_free_async(plugin.self(), stream.handle, other));
      }
      stream.synchronize();
    });
    return wrong.load();
  });
}

TEST_CASE("Given protected memory, Then pinned and managed memory is the host's, too", "[.protected]") {
  passes([](Plugin& plugin) {
    Stream stream(plugin);
    int wrong = 0;
    for (const std::uint32_t kind : {ANYPLACE_MEMORY_PINNED, ANYPLACE_MEMORY_MANAGED}) {
      const std::uint64_t address = plugin.allocate(bytes, 0, kind);
      *at(address) = 1;
      stream.run([=] { *at(address) = static_cast<unsigned char>(*at(address) + 1); });
      stream.synchronize();
      wrong += *at(address) == 2 ? 0 : 1;
      plugin.free(address, 0, kind);
    }
    return wrong;
  });
}

TEST_CASE("Given another value for PROTECT, or no handlers, Then it is refused with what is allowed", "[.protected]") {
  std::string text;
  CHECK(Plugin::enter(by("2"), &text) == ANYPLACE_STATUS_INVALID_ARGUMENT);
  CHECK_THAT(text, Catch::Contains("ANYPLACE_CPU_SIM_PROTECT is \"2\"\nallowed is 0, 1, keys or pages"));
  CHECK(Plugin::enter(Environment{{"PROTECT", "1"}, {"FAULTS", "off"}}, &text) == ANYPLACE_STATUS_INVALID_ARGUMENT);
  CHECK_THAT(text, Catch::Contains("ANYPLACE_CPU_SIM_FAULTS=off"));
}

}  // namespace test_protection_cases
