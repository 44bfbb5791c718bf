// SPDX-License-Identifier: Apache-2.0
//
// Kernels that are functions of this process: blocks, arguments, shared memory, faults, lifetime.
#include <catch2/catch.hpp>
#include <cstring>
#include <stdexcept>
#include <thread>

#include "plugin.h"

namespace test_kernels_cases {

using namespace cpu_sim_test;

namespace {

anyplace_argument value_of(const auto& value) {
  return {ANYPLACE_ARGUMENT_VALUE, static_cast<std::uint32_t>(sizeof(value)), &value};
}

}  // namespace

TEST_CASE("Given a large grid of empty blocks, Then all of them run") {
  Plugin plugin;
  Stream stream(plugin);
  std::atomic<std::uint64_t> ran{0};
  Kernel kernel(plugin, [&] { ran.fetch_add(1, std::memory_order_relaxed); });
  stream.launch(kernel, {1'000'003, 1, 1});
  CHECK(stream.synchronize());
  CHECK(ran == 1'000'003);
}

TEST_CASE("Given two blocks that wait for each other and two workers, Then they run at the same time") {
  Plugin plugin(Environment{{"WORKERS", "2"}});
  Stream stream(plugin);
  std::atomic<int> arrived{0};
  Flag both;
  Kernel kernel(plugin, [&] {
    if (++arrived == 2) both.set();
    both.wait();
  });
  stream.launch(kernel, {2, 1, 1});
  CHECK(stream.synchronize());
}

TEST_CASE("Given blocks that wait for each other and a worker that comes free later, Then they all run") {
  Plugin plugin(Environment{{"WORKERS", "2"}});
  Stream other(plugin), stream(plugin);
  Flag busy, leave, both;
  other.run([&] {
    busy.set();
    leave.wait();
  });
  busy.wait();
  std::atomic<int> arrived{0};
  Kernel kernel(plugin, [&] {
    if (++arrived == 1) leave.set();
    if (arrived == 2) both.set();
    both.wait();
  });
  stream.launch(kernel, {2, 1, 1});
  CHECK(stream.synchronize());
  CHECK(other.synchronize());
}

TEST_CASE("Given one block and arguments of 4 and 8 bytes in any order, Then each is copied at the launch, aligned") {
  Plugin plugin;
  const std::uint64_t address = plugin.allocate(64);
  for (const std::size_t count : {1, 2, 3, 5, 8, 14, 15, 16, 40}) {
    for (std::uint32_t order = 0; order < 16; ++order) {
      Stream stream(plugin);
      Gate gate(plugin);
      std::vector<std::uint64_t> values(count);
      std::vector<anyplace_argument> arguments;
      const auto size_at = [order](std::size_t i) { return (order >> i % 4 & 1) != 0 ? 8u : 4u; };
      for (std::size_t i = 0; i < count; ++i) {
        values[i] = size_at(i) == 8 && i % 3 == 0 ? address + i : i + 1;
        arguments.push_back({size_at(i) == 8 && i % 3 == 0 ? ANYPLACE_ARGUMENT_ADDRESS : ANYPLACE_ARGUMENT_VALUE,
                             size_at(i), &values[i]});
      }
      const std::vector<std::uint64_t> expected = values;
      std::atomic<int> wrong{0}, calls{0};
      Kernel kernel(plugin, Block([&](const anyplace_block&, void* const* pointers, const std::uint32_t* sizes,
                                      std::uint32_t given) {
                      ++calls;
                      wrong += given != count;
                      for (std::uint32_t i = 0; i < given; ++i) {
                        wrong += sizes[i] != size_at(i);
                        wrong += reinterpret_cast<std::uintptr_t>(pointers[i]) % sizes[i] != 0;
                        wrong += std::memcmp(pointers[i], &expected[i], sizes[i]) != 0;
                      }
                      return anyplace_status{ANYPLACE_STATUS_OK};
                    }));
      stream.wait(gate);
      for (int i = 0; i < 20; ++i) stream.launch(kernel, {}, arguments);
      std::fill(values.begin(), values.end(), 0);
      gate.open();
      CHECK(stream.synchronize());
      CHECK(calls == 20);
      CHECK(wrong == 0);
    }
  }
  plugin.free(address);
}

TEST_CASE("Given one block and an address that is nobody's, Then nothing is submitted, also behind good arguments") {
  Plugin plugin;
  Stream stream(plugin);
  const std::uint64_t own = plugin.allocate(64);
  const std::uint64_t peer = plugin.allocate(64, 1);
  const int number = 1;
  Kernel kernel(plugin, [] {});
  const std::vector<anyplace_argument> good = {value_of(number), {ANYPLACE_ARGUMENT_ADDRESS, 8, &own}};
  std::vector<anyplace_argument> bad = good;
  bad.push_back({ANYPLACE_ARGUMENT_ADDRESS, 8, &peer});
  stream.launch(kernel, {}, good);
  CHECK(stream.synchronize());
  std::string text;
  CHECK(status_of([&] { stream.launch(kernel, {}, bad); }, &text) == ANYPLACE_STATUS_INVALID_ARGUMENT);
  CHECK(text.find("argument 2") != std::string::npos);
  CHECK(stream.done());
  // Wherever the queue's memory is about to end; a leak checker sees whether it loses some.
  for (int behind = 0; behind < 64; ++behind) {
    for (int i = 0; i < behind; ++i) stream.launch(kernel, {}, good);
    CHECK(status_of([&] { stream.launch(kernel, {}, bad); }) == ANYPLACE_STATUS_INVALID_ARGUMENT);
    CHECK(stream.synchronize());
  }
  plugin.free(own);
  plugin.free(peer, 1);
}

TEST_CASE("Given arguments of many sizes, Then the kernel sees copies made at the launch, aligned") {
  Plugin plugin;
  Gate gate(plugin);
  Stream stream(plugin);
  struct alignas(64) Wide {
    unsigned char bytes[64];
  };
  std::uint8_t small = 1;
  std::uint16_t odd = 2;
  std::uint64_t large = 3;
  Wide wide{};
  wide.bytes[63] = 4;
  char text[13] = "hello, world";
  anyplace_address address = 5;
  const std::vector<anyplace_argument> arguments = {value_of(small),
                                                    value_of(odd),
                                                    value_of(wide),
                                                    value_of(large),
                                                    value_of(text),
                                                    {ANYPLACE_ARGUMENT_VALUE, 0, nullptr},
                                                    {ANYPLACE_ARGUMENT_ADDRESS, 8, &address}};
  std::atomic<int> wrong{0}, calls{0};
  Kernel kernel(plugin,
                Block([&](const anyplace_block&, void* const* values, const std::uint32_t* sizes, std::uint32_t count) {
                  ++calls;
                  wrong += count != 7;
                  wrong += sizes[0] != 1 || *static_cast<std::uint8_t*>(values[0]) != 1;
                  wrong += sizes[1] != 2 || *static_cast<std::uint16_t*>(values[1]) != 2;
                  wrong += sizes[2] != 64 || static_cast<Wide*>(values[2])->bytes[63] != 4;
                  wrong += reinterpret_cast<std::uintptr_t>(values[2]) % 64 != 0;
                  wrong += sizes[3] != 8 || *static_cast<std::uint64_t*>(values[3]) != 3;
                  wrong += reinterpret_cast<std::uintptr_t>(values[3]) % 8 != 0;
                  wrong += sizes[4] != 13 || std::strcmp(static_cast<char*>(values[4]), "hello, world") != 0;
                  wrong += sizes[5] != 0;
                  wrong += sizes[6] != 8 || *static_cast<anyplace_address*>(values[6]) != 5;
                  return anyplace_status{ANYPLACE_STATUS_OK};
                }));
  stream.wait(gate);
  stream.launch(kernel, {3, 1, 1}, arguments);
  small = 0, odd = 0, large = 0, address = 0;
  std::memset(&wide, 0, sizeof(wide));
  std::memset(text, 0, sizeof(text));
  gate.open();
  CHECK(stream.synchronize());
  CHECK(calls == 3);
  CHECK(wrong == 0);
}

TEST_CASE("Given many and large arguments, Then they all arrive") {
  Plugin plugin;
  Stream stream(plugin);
  std::vector<char> large(1 << 20, 'x');
  std::vector<int> numbers(1000);
  std::vector<anyplace_argument> arguments = {
      {ANYPLACE_ARGUMENT_VALUE, static_cast<std::uint32_t>(large.size()), large.data()}};
  for (int i = 0; i < 1000; ++i) {
    numbers[static_cast<std::size_t>(i)] = i;
    arguments.push_back(value_of(numbers[static_cast<std::size_t>(i)]));
  }
  std::atomic<int> wrong{0};
  Kernel kernel(plugin,
                Block([&](const anyplace_block&, void* const* values, const std::uint32_t* sizes, std::uint32_t count) {
                  wrong += count != 1001 || sizes[0] != 1 << 20 || static_cast<char*>(values[0])[(1 << 20) - 1] != 'x';
                  for (std::uint32_t i = 1; i < count; ++i) wrong += *static_cast<std::uint32_t*>(values[i]) != i - 1;
                  return anyplace_status{ANYPLACE_STATUS_OK};
                }));
  for (int i = 0; i < 3; ++i) stream.launch(kernel, {}, arguments);
  CHECK(stream.synchronize());
  CHECK(wrong == 0);
}

TEST_CASE("Given launches over the limits or with bad arguments, Then each is INVALID_ARGUMENT before anything runs") {
  Plugin plugin;
  Stream stream(plugin);
  Kernel kernel(plugin, [] {});
  const int value = 1;
  const anyplace_argument good = value_of(value);
  const anyplace_launch base{sizeof(base), {1, 1, 1}, {1, 1, 1}, 1, sizeof(good), 0, 0, &good};
  const auto refused = [&](auto change) {
    anyplace_launch launch = base;
    anyplace_argument argument = good;
    launch.arguments = &argument;
    change(launch, argument);
    return plugin->kernel_launch(plugin.self(), stream.handle, kernel.handle, &launch) ==
           ANYPLACE_STATUS_INVALID_ARGUMENT;
  };
  CHECK(refused([](auto& launch, auto&) { launch.grid[0] = 0; }));
  CHECK(refused([](auto& launch, auto&) { launch.grid[0] = 1u << 31; }));
  CHECK(refused([](auto& launch, auto&) { launch.grid[1] = 65536; }));
  CHECK(refused([](auto& launch, auto&) { launch.grid[2] = 65536; }));
  CHECK(refused([](auto& launch, auto&) { launch.block[0] = 0; }));
  CHECK(refused([](auto& launch, auto&) { launch.block[0] = 1025; }));
  CHECK(refused([](auto& launch, auto&) { launch.block[2] = 65; }));
  CHECK(refused([](auto& launch, auto&) { launch.block[0] = 64, launch.block[1] = 32; }));
  CHECK(refused([](auto& launch, auto&) { launch.shared_bytes = (228 << 10) + 1; }));
  CHECK(refused([](auto& launch, auto&) { launch.shared_bytes = std::uint64_t{1} << 32; }));
  CHECK(refused([](auto& launch, auto&) { launch.argument_stride = 0; }));
  CHECK(refused([](auto& launch, auto&) { launch.arguments = nullptr; }));
  CHECK(refused([](auto&, auto& argument) { argument.kind = 3; }));
  CHECK(refused([](auto&, auto& argument) { argument.kind = ANYPLACE_ARGUMENT_ADDRESS; }));
  CHECK(refused([](auto&, auto& argument) { argument.value = nullptr; }));
  CHECK(refused([](auto&, auto& argument) { argument.size = UINT32_MAX; }));
  CHECK(stream.done());
  anyplace_kernel out = 0;
  CHECK(plugin->kernel_from_host(plugin.self(), 0, nullptr, nullptr, nullptr, &out) ==
        ANYPLACE_STATUS_INVALID_ARGUMENT);
}

TEST_CASE("Given launches that fail, Then each is its stream's fault once, with its message, and later work runs") {
  Plugin plugin(Environment{{"WORKERS", "4"}});
  Stream stream(plugin), innocent(plugin);
  const anyplace_host* host = plugin.host().host();
  Kernel failing(plugin, Block([&](const anyplace_block&, void* const*, const std::uint32_t*, std::uint32_t) {
                   host->leave_message(host->context, 0, nullptr, "left by the kernel");
                   return anyplace_status{ANYPLACE_STATUS_KERNEL_FAILED};
                 }));
  std::atomic<bool> ran{false};
  innocent.run([] {});
  stream.launch(failing, {1000, 1, 1});
  stream.run([&] { ran = true; });
  for (int i = 0; i < 5; ++i) stream.launch(failing, {8, 1, 1});
  CHECK(stream.synchronize());
  CHECK(innocent.synchronize());
  CHECK(ran);
  const std::vector<Fault> faults = plugin.host().faults();
  REQUIRE(faults.size() == 6);
  for (const Fault& fault : faults) {
    CHECK(fault.cookie == stream.cookie);
    CHECK(fault.status == ANYPLACE_STATUS_KERNEL_FAILED);
    CHECK(fault.text == "left by the kernel");
  }
}

TEST_CASE("Given a kernel whose first block fails, Then the blocks not yet handed out don't run") {
  Plugin plugin(Environment{{"WORKERS", "1"}});
  Stream stream(plugin);
  std::atomic<int> ran{0};
  Kernel failing(plugin, Block([&](const anyplace_block&, void* const*, const std::uint32_t*, std::uint32_t) {
                   ++ran;
                   return anyplace_status{ANYPLACE_STATUS_INVALID_ARGUMENT};
                 }));
  stream.launch(failing, {100000, 1, 1});
  CHECK(stream.synchronize());
  CHECK(ran == 1);
  CHECK(plugin.host().faults().size() == 1);
  CHECK(plugin.host().faults()[0].status == ANYPLACE_STATUS_INVALID_ARGUMENT);
}

TEST_CASE("Given a kernel that throws or returns what no kernel may, Then it is KERNEL_FAILED, never worse") {
  Plugin plugin;
  Stream stream(plugin);
  Kernel throwing(plugin, Block([](const anyplace_block&, void* const*, const std::uint32_t*,
                                   std::uint32_t) -> anyplace_status { throw std::runtime_error("what it threw"); }));
  Kernel odd(plugin, Block([](const anyplace_block&, void* const*, const std::uint32_t*,
                              std::uint32_t) -> anyplace_status { throw 42; }));
  Kernel unknown(plugin, Block([](const anyplace_block&, void* const*, const std::uint32_t*, std::uint32_t) {
                   return anyplace_status{-7};
                 }));
  Kernel lost(plugin, Block([](const anyplace_block&, void* const*, const std::uint32_t*, std::uint32_t) {
                return anyplace_status{ANYPLACE_STATUS_DEVICE_LOST};
              }));
  for (Kernel* kernel : {&throwing, &odd, &unknown, &lost}) stream.launch(*kernel);
  CHECK(stream.synchronize());
  const std::vector<Fault> faults = plugin.host().faults();
  REQUIRE(faults.size() == 4);
  for (const Fault& fault : faults) CHECK(fault.status == ANYPLACE_STATUS_KERNEL_FAILED);
  CHECK_THAT(faults[0].text, Catch::Contains("what it threw"));
}

TEST_CASE("Given a stream whose work is done, When kernels are destroyed, Then it is still done") {
  Plugin plugin(Environment{{"WORKERS", "2"}});
  Stream stream(plugin);
  std::atomic<bool> leave{false};
  std::thread destroyer([&] {
    while (!leave) Kernel kernel(plugin, [] {});
  });
  int undone = 0;
  for (int i = 0; i < 10'000; ++i) {
    stream.run([] {});
    stream.synchronize();
    if (!stream.done()) ++undone;
  }
  leave = true;
  destroyer.join();
  CHECK(undone == 0);
}

TEST_CASE("Given a kernel's release function that calls the backend, Then no lock is in its way") {
  Plugin plugin;
  struct Context {
    Plugin& plugin;
    Stream& other;
    std::atomic<bool> released{false};
  };
  Stream stream(plugin, Stream::blocking()), other(plugin, Stream::blocking());
  Context context{plugin, other};
  anyplace_kernel kernel = 0;
  check(plugin->kernel_from_host(
      plugin.self(), 0,
      [](void*, const anyplace_block*, void* const*, const std::uint32_t*, std::uint32_t) {
        return anyplace_status{0};
      },
      &context,
      [](void* user) {
        auto* mine = static_cast<Context*>(user);
        mine->other.run([] {});
        mine->plugin.free(mine->plugin.allocate(100));
        mine->released = true;
      },
      &kernel));
  stream.launch(kernel);
  check(plugin->kernel_destroy(plugin.self(), kernel));
  CHECK(stream.synchronize());
  CHECK(context.released);
  CHECK(other.synchronize());
}

}  // namespace test_kernels_cases
