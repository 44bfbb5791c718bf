// SPDX-License-Identifier: Apache-2.0
//
// Allocation, its limit, frees in a stream's order, registered host memory, and copies and fills that are refused.
#include <catch2/catch.hpp>
#include <cstring>
#include <thread>

#include "plugin.h"
#include "support/threads.h"

namespace test_memory_cases {

using namespace cpu_sim_test;

namespace {

anyplace_status free_status(Plugin& plugin, std::uint64_t address, std::uint32_t kind = ANYPLACE_MEMORY_DEVICE,
                            std::int32_t device = 0) {
  return plugin->memory_free(plugin.self(), device, kind, address);
}

}  // namespace

TEST_CASE("Given a limit, When more is asked for, Then it is OUT_OF_MEMORY with requested, free and limit bytes") {
  Plugin plugin(Environment{{"MEMORY", "1MiB"}});
  const std::uint64_t odd = plugin.allocate(257);  // counts with its size, however it is aligned
  const std::uint64_t half = plugin.allocate((512 << 10) - 257);
  const std::uint64_t rest = plugin.allocate(512 << 10);
  std::string text;
  CHECK(status_of([&] { plugin.allocate(1); }, &text) == ANYPLACE_STATUS_OUT_OF_MEMORY);
  CHECK_THAT(text, Catch::Contains("1 bytes requested") && Catch::Contains("0 free of 1048576"));
  plugin.free(rest);
  CHECK(status_of([&] { plugin.allocate((512 << 10) + 1); }, &text) == ANYPLACE_STATUS_OUT_OF_MEMORY);
  CHECK_THAT(text, Catch::Contains("524289 bytes requested") && Catch::Contains("524288 free"));
  CHECK(status_of([&] { plugin.allocate(UINT64_MAX); }) == ANYPLACE_STATUS_OUT_OF_MEMORY);
  plugin.free(plugin.allocate(512 << 10));
  plugin.free(plugin.allocate(1 << 20, 1), 1);  // the other device has its own
  plugin.free(half);
  plugin.free(odd);
  CHECK(plugin.free_bytes() == 1 << 20);
}

TEST_CASE("Given a limit of 40 GiB, When most of it is allocated and hardly touched, Then that works") {
  Plugin plugin(Environment{{"MEMORY", "40GiB"}});
  const std::uint64_t bytes = std::uint64_t{39} << 30;
  const std::uint64_t address = plugin.allocate(bytes);
  *reinterpret_cast<char*>(address + bytes - 1) = 1;
  plugin.free(address);
  CHECK(plugin.free_bytes() == std::uint64_t{40} << 30);
}

TEST_CASE("Given more than the host has, Then it is OUT_OF_MEMORY and the limit is as before") {
  Plugin plugin(Environment{{"MEMORY", "4194304TiB"}});
  std::string text;
  CHECK(status_of([&] { plugin.allocate(std::uint64_t{1} << 61); }, &text) == ANYPLACE_STATUS_OUT_OF_MEMORY);
  CHECK_THAT(text, Catch::Contains("the host itself has no more"));
  CHECK(plugin.free_bytes() == std::uint64_t{1} << 62);
}

TEST_CASE("Given pinned and managed memory, Then managed counts against the limit and pinned doesn't") {
  Plugin plugin(Environment{{"MEMORY", "1MiB"}});
  const std::uint64_t pinned = plugin.allocate(8 << 20, 0, ANYPLACE_MEMORY_PINNED);
  CHECK(plugin.free_bytes() == 1 << 20);
  const std::uint64_t managed = plugin.allocate(1 << 20, 0, ANYPLACE_MEMORY_MANAGED);
  CHECK(plugin.free_bytes() == 0);
  std::memset(reinterpret_cast<void*>(pinned), 1, 8 << 20);
  std::memset(reinterpret_cast<void*>(managed), 1, 1 << 20);
  plugin.free(managed, 0, ANYPLACE_MEMORY_MANAGED);
  plugin.free(pinned, 0, ANYPLACE_MEMORY_PINNED);
  CHECK(plugin.free_bytes() == 1 << 20);
}

TEST_CASE("Given bad frees and allocations, Then each is INVALID_ARGUMENT and the address is in the text") {
  Plugin plugin;
  const std::uint64_t address = plugin.allocate(1000);
  CHECK(free_status(plugin, address + 1) == ANYPLACE_STATUS_INVALID_ARGUMENT);
  CHECK_THAT(HostStub::take_message(), Catch::Contains("0x"));
  CHECK(free_status(plugin, 0) == ANYPLACE_STATUS_INVALID_ARGUMENT);
  CHECK(free_status(plugin, address, ANYPLACE_MEMORY_PINNED) == ANYPLACE_STATUS_INVALID_ARGUMENT);
  CHECK_THAT(HostStub::take_message(), Catch::Contains("device memory and not pinned"));
  CHECK(free_status(plugin, address, ANYPLACE_MEMORY_DEVICE, 1) == ANYPLACE_STATUS_INVALID_ARGUMENT);
  CHECK(free_status(plugin, address, 17) == ANYPLACE_STATUS_INVALID_ARGUMENT);
  plugin.free(address);
  CHECK(free_status(plugin, address) == ANYPLACE_STATUS_INVALID_ARGUMENT);
  Stream stream(plugin);
  const std::uint64_t pinned = plugin.allocate(10, 0, ANYPLACE_MEMORY_PINNED);
  CHECK(plugin->memory_free_async(plugin.self(), stream.handle, pinned) == ANYPLACE_STATUS_INVALID_ARGUMENT);
  CHECK(plugin->memory_free_async(plugin.self(), stream.handle, 12345) == ANYPLACE_STATUS_INVALID_ARGUMENT);
  plugin.free(pinned, 0, ANYPLACE_MEMORY_PINNED);
  CHECK(status_of([&] { plugin.allocate(1, 0, 17); }) == ANYPLACE_STATUS_INVALID_ARGUMENT);
  CHECK(status_of([&] { plugin.allocate(0); }) == ANYPLACE_STATUS_INVALID_ARGUMENT);
}

TEST_CASE("Given a free in a stream's order, Then the bytes come back, and the address is used again, only then") {
  Plugin plugin(Environment{{"MEMORY", "1MiB"}});
  Gate gate(plugin);
  Stream stream(plugin);
  std::uint64_t address = 0;
  check(plugin->memory_allocate_async(plugin.self(), stream.handle, 1 << 20, &address));
  CHECK(address % 256 == 0);
  auto* bytes = reinterpret_cast<unsigned char*>(address);
  std::atomic<int> seen{0};
  stream.wait(gate);
  check(plugin->memory_set(plugin.self(), stream.handle, address, 7, 1, 1 << 20));
  stream.run([&] { seen = bytes[(1 << 20) - 1]; });
  check(plugin->memory_free_async(plugin.self(), stream.handle, address));

  std::string text;
  CHECK(status_of([&] { plugin.allocate(1); }, &text) == ANYPLACE_STATUS_OUT_OF_MEMORY);
  CHECK_THAT(text, Catch::Contains("1048576 waiting to be freed"));
  CHECK(free_status(plugin, address) == ANYPLACE_STATUS_INVALID_ARGUMENT);
  CHECK(plugin->memory_free_async(plugin.self(), stream.handle, address) == ANYPLACE_STATUS_INVALID_ARGUMENT);
  CHECK(plugin.free_bytes() == 0);
  gate.open();
  CHECK(stream.synchronize());
  CHECK(seen == 7);
  CHECK(plugin.free_bytes() == 1 << 20);
  plugin.free(plugin.allocate(1 << 20));
}

TEST_CASE("Given registered host memory, Then overlaps and unknown addresses are INVALID_ARGUMENT") {
  Plugin plugin;
  static char memory[1000];
  const auto add = [&](int at, std::uint64_t bytes, std::int32_t device = 0) {
    return plugin->host_register(plugin.self(), device, memory + at, bytes);
  };
  const auto remove = [&](int at, std::int32_t device = 0) {
    return plugin->host_unregister(plugin.self(), device, memory + at);
  };
  CHECK(add(100, 100) == ANYPLACE_STATUS_OK);
  CHECK(add(100, 100) == ANYPLACE_STATUS_INVALID_ARGUMENT);
  CHECK(add(0, 101) == ANYPLACE_STATUS_INVALID_ARGUMENT);
  CHECK(add(199, 1) == ANYPLACE_STATUS_INVALID_ARGUMENT);
  CHECK(add(0, 1000) == ANYPLACE_STATUS_INVALID_ARGUMENT);
  CHECK(add(120, 10) == ANYPLACE_STATUS_INVALID_ARGUMENT);
  CHECK(add(0, 100) == ANYPLACE_STATUS_OK);
  CHECK(add(200, 1) == ANYPLACE_STATUS_OK);
  CHECK(add(100, 100, 1) == ANYPLACE_STATUS_OK);
  CHECK(remove(101) == ANYPLACE_STATUS_INVALID_ARGUMENT);
  CHECK(remove(200, 1) == ANYPLACE_STATUS_INVALID_ARGUMENT);
  CHECK(remove(100) == ANYPLACE_STATUS_OK);
  CHECK(remove(100) == ANYPLACE_STATUS_INVALID_ARGUMENT);
  CHECK(add(150, 50) == ANYPLACE_STATUS_OK);
  CHECK(add(500, 0) == ANYPLACE_STATUS_INVALID_ARGUMENT);
  CHECK(add(500, UINT64_MAX) == ANYPLACE_STATUS_INVALID_ARGUMENT);
  CHECK(plugin->host_register(plugin.self(), 0, nullptr, 1) == ANYPLACE_STATUS_INVALID_ARGUMENT);
}

TEST_CASE("Given many threads that allocate and free, Then the limit holds and nothing is lost") {
  Plugin plugin(Environment{{"MEMORY", "1MiB"}});
  std::atomic<int> wrong{0};
  test::on_threads(8, [&](int t) {
    Stream stream(plugin);
    for (int i = 0; i < 300; ++i) {
      const std::uint64_t bytes = static_cast<std::uint64_t>(1 + (i * 7919 + t) % 200000);
      std::uint64_t address = 0;
      const anyplace_status status = plugin->memory_allocate(plugin.self(), 0, ANYPLACE_MEMORY_DEVICE, bytes, &address);
      if (status == ANYPLACE_STATUS_OUT_OF_MEMORY) continue;
      if (status != ANYPLACE_STATUS_OK) ++wrong;
      auto* first = reinterpret_cast<unsigned char*>(address);
      first[0] = static_cast<unsigned char>(t);
      first[bytes - 1] = static_cast<unsigned char>(t);
      std::this_thread::yield();
      if (first[0] != t || (bytes > 1 && first[bytes - 1] != t)) ++wrong;
      if (i % 2 == 0) {
        plugin.free(address);
      } else {
        check(plugin->memory_free_async(plugin.self(), stream.handle, address));
      }
    }
    stream.synchronize();
  });
  CHECK(wrong == 0);
  CHECK(plugin.free_bytes() == 1 << 20);
}

TEST_CASE("Given copies and fills that can't be, Then each is INVALID_ARGUMENT and nothing is submitted") {
  Plugin plugin;
  Gate gate(plugin);
  Stream stream(plugin);
  alignas(8) char memory[64] = {};
  const auto at = reinterpret_cast<std::uint64_t>(&memory[0]);
  CHECK(plugin->memory_set(plugin.self(), stream.handle, at, 1, 3, 1) == ANYPLACE_STATUS_INVALID_ARGUMENT);
  CHECK(plugin->memory_set(plugin.self(), stream.handle, at, 1, 0, 1) == ANYPLACE_STATUS_INVALID_ARGUMENT);
  CHECK(plugin->memory_set(plugin.self(), stream.handle, at + 1, 1, 2, 1) == ANYPLACE_STATUS_INVALID_ARGUMENT);
  CHECK(plugin->memory_copy(plugin.self(), stream.handle, at, at + 8, 1, 0) == ANYPLACE_STATUS_INVALID_ARGUMENT);
  CHECK(plugin->memory_copy(plugin.self(), stream.handle, at, at + 8, 1, 5) == ANYPLACE_STATUS_INVALID_ARGUMENT);
  anyplace_copy_2d copy{sizeof(copy), ANYPLACE_COPY_HOST_TO_DEVICE, at, 3, at + 32, 4, 4, 2};
  CHECK(plugin->memory_copy_2d(plugin.self(), stream.handle, &copy) == ANYPLACE_STATUS_INVALID_ARGUMENT);
  copy.width = 0;
  CHECK(plugin->memory_copy_2d(plugin.self(), stream.handle, &copy) == ANYPLACE_STATUS_INVALID_ARGUMENT);
  CHECK(stream.done());
}

}  // namespace test_memory_cases
