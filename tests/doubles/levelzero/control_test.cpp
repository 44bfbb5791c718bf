// SPDX-License-Identifier: Apache-2.0
//
// The controls of the double: failures on demand, counts, what lives, faults and losses of devices; and a driver that
// does nothing.
#include <thread>

#include "all_entries.h"
#include "support/environment.h"
#include "test_support.h"

namespace control_test {

using Catch::Contains;
using test::Control;
using test::Entry;
using test::ok;
using test::World;

namespace {

constexpr auto asked_for = static_cast<ze_result_t>(0x7ffffff0);  // no entry's own answer

}  // namespace

TEST_CASE("the nth call of every entry fails once or for good with the code asked for") {
  const World world;
  for (const Entry& entry : test::all_entries) {
    INFO(entry.symbol);
    world.control.reset();
    REQUIRE(world.control.fail_nth(entry.symbol, 2, asked_for));
    for (int call = 1; call <= 3; ++call) CHECK((entry.with_zeros() == asked_for) == (call == 2));
    CHECK(world.control.failures() == 1);
    REQUIRE(world.control.fail_nth(entry.symbol, 2, asked_for, true));
    for (int call = 1; call <= 4; ++call) CHECK((entry.with_zeros() == asked_for) == (call >= 2));
    world.control.clear_failures();
    CHECK(entry.with_zeros() != asked_for);
    CHECK(world.control.calls_of(entry.symbol) == 8);
    CHECK(world.control.calls() == 8);
  }
}

TEST_CASE("rules for entries that do not exist are refused") {
  const World world;
  CHECK_FALSE(world.control.fail_nth("zeNoSuchEntry", 1, asked_for));
  CHECK_FALSE(world.control.fail_nth("zeInit", 0, asked_for));
  CHECK(world.control.calls_of("zeNoSuchEntry") == 0);
  std::size_t index = 0;
  while (world.control.entry(index) != nullptr) ++index;
  CHECK(index == test::all_entries.size());
}

TEST_CASE("a call that is made to fail does nothing but what gives something back does so") {
  const World world;
  std::uint32_t* const word = world.words({1});
  const auto list = world.list();
  const auto event = world.event();
  for (const char* entry : {"zeMemFree", "zeCommandListDestroy", "zeEventDestroy", "zeCommandListAppendMemoryFill"})
    REQUIRE(world.control.fail_nth(entry, 1, asked_for));
  CHECK(test::fill(list, word, 2) == asked_for);
  test::finish(world, list);
  CHECK(*word == 1);
  CHECK(zeMemFree(world.context, word) == asked_for);
  CHECK(zeCommandListDestroy(list) == asked_for);
  CHECK(zeEventDestroy(event) == asked_for);
  CHECK(world.control.live("memory") == 0);
  CHECK(world.control.live("stream") == 0);
  CHECK(zeEventDestroy(event) == ZE_RESULT_ERROR_INVALID_NULL_HANDLE);
}

TEST_CASE("failures can be asked for in the environment") {
  test::set_env("LEVELZERO_DOUBLE_FAIL", "zeContextCreate:2:2147483646  zeDriverGet:2:1879048194:always");
  const World world;
  const auto desc = test::desc_of<ze_context_desc_t>(ZE_STRUCTURE_TYPE_CONTEXT_DESC);
  ze_context_handle_t made = nullptr;
  CHECK(zeContextCreate(world.driver, &desc, &made) == ZE_RESULT_ERROR_UNKNOWN);
  CHECK(zeContextCreate(world.driver, &desc, &made) == ZE_RESULT_SUCCESS);
  std::uint32_t count = 0;
  for (int i = 0; i < 3; ++i) CHECK(zeDriverGet(&count, nullptr) == ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
}

TEST_CASE("a failure that says a device is lost loses the one that the call is about") {
  const World world;
  const auto list = world.list(0, 1);
  REQUIRE(world.control.fail_nth("zeCommandListAppendBarrier", 1, ZE_RESULT_ERROR_DEVICE_LOST));
  CHECK(test::barrier(list) == ZE_RESULT_ERROR_DEVICE_LOST);
  CHECK(test::barrier(list) == ZE_RESULT_ERROR_DEVICE_LOST);
  CHECK(zeDeviceGetStatus(world.devices[1]) == ZE_RESULT_ERROR_DEVICE_LOST);
  CHECK(zeDeviceGetStatus(world.devices[0]) == ZE_RESULT_SUCCESS);
  test::finish(world, world.list());
}

TEST_CASE("a failure that says a device is lost loses all where the call is about none") {
  const World world;
  REQUIRE(world.control.fail_nth("zeEventHostReset", 1, ZE_RESULT_ERROR_DEVICE_LOST));
  CHECK(zeEventHostReset(world.event()) == ZE_RESULT_ERROR_DEVICE_LOST);
  for (const auto device : world.devices) CHECK(zeDeviceGetStatus(device) == ZE_RESULT_ERROR_DEVICE_LOST);
}

TEST_CASE("everything that is made and not given back is listed") {
  const World world;
  const auto list = world.list();
  const auto pool = world.pool(1);
  const auto event = test::event_of(pool);
  const auto module = world.module();
  const auto device_desc = test::desc_of<ze_device_mem_alloc_desc_t>(ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC);
  const auto host_desc = test::desc_of<ze_host_mem_alloc_desc_t>(ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC);
  void* memory = nullptr;
  void* host = nullptr;
  ok(zeMemAllocDevice(world.context, &device_desc, 4711, 0, world.devices[0], &memory));
  ok(zeMemAllocHost(world.context, &host_desc, 16, 0, &host));
  auto kernel_desc = test::desc_of<ze_kernel_desc_t>(ZE_STRUCTURE_TYPE_KERNEL_DESC);
  kernel_desc.pKernelName = "faulty";
  ze_kernel_handle_t kernel = nullptr;
  ok(zeKernelCreate(module, &kernel_desc, &kernel));
  for (const char* kind : {"context", "stream", "pool", "event", "module", "kernel", "memory", "host"}) {
    INFO(kind);
    CHECK(world.control.live(kind) == 1);
  }
  CHECK(world.control.live() == 8);
  CHECK_THAT(world.control.live_text(), Contains("4711 bytes") && Contains("faulty"));
  ok(zeKernelDestroy(kernel));
  ok(zeModuleDestroy(module));
  ok(zeEventDestroy(event));
  ok(zeEventPoolDestroy(pool));
  ok(zeCommandListDestroy(list));
  ok(zeMemFree(world.context, memory));
  ok(zeMemFree(world.context, host));
  ok(zeContextDestroy(world.context));
  CHECK(world.control.live() == 0);
  CHECK(world.control.live_text().empty());
  CHECK(world.control.misuses() == 0);
}

TEST_CASE("a device that is lost fails its calls and lets go who waits and has it given back") {
  const World world;
  const auto list = world.list();
  std::uint32_t* const word = world.words({1});
  const auto gate = world.event();
  const auto done = world.event();
  ok(test::fill(list, word, 2, 1, done, {gate}));
  CHECK_FALSE(world.control.fail_device(2, ZE_RESULT_ERROR_DEVICE_LOST));
  CHECK_FALSE(world.control.fail_device(-1, ZE_RESULT_ERROR_DEVICE_LOST));
  const auto waiting = world.event();
  ze_result_t waited = ZE_RESULT_SUCCESS;
  std::thread waiter([&] {
    zeEventHostSignal(waiting);
    waited = test::wait(done);
  });
  ok(test::wait(waiting));
  REQUIRE(world.control.fail_device(0, ZE_RESULT_ERROR_DEVICE_LOST));
  waiter.join();
  CHECK(waited == ZE_RESULT_ERROR_DEVICE_LOST);
  CHECK(zeEventQueryStatus(done) == ZE_RESULT_ERROR_DEVICE_LOST);
  CHECK(test::barrier(list) == ZE_RESULT_ERROR_DEVICE_LOST);
  const auto desc = test::desc_of<ze_device_mem_alloc_desc_t>(ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC);
  void* made = nullptr;
  CHECK(zeMemAllocDevice(world.context, &desc, 4, 0, world.devices[0], &made) == ZE_RESULT_ERROR_DEVICE_LOST);
  // Its queued work vanishes; what it has is given back all the same.
  ok(zeEventHostSignal(gate));
  CHECK(*word == 1);
  ok(zeEventDestroy(done));
  ok(zeCommandListDestroy(list));
  ok(zeMemFree(world.context, word));
  const auto other = world.list(0, 1);
  std::uint32_t* const there = world.words({1}, 1);
  ok(test::fill(other, there, 2));
  test::finish(world, other);
  CHECK(*there == 2);
  CHECK(world.control.misuses() == 0);
}

TEST_CASE("the nth kernel can be made to fault") {
  const World world;
  const auto list = world.list();
  const auto kernel = world.kernel("count");
  std::uint32_t* const counter = world.words({0});
  ok(test::set_argument(kernel, 0, counter));
  ok(test::set_argument(kernel, 1, 1U));
  CHECK_FALSE(world.control.fault_kernel(0, 0, ZE_RESULT_ERROR_DEVICE_LOST));
  REQUIRE(world.control.fault_kernel(0, 2, ZE_RESULT_ERROR_DEVICE_LOST));
  ok(test::launch(list, kernel));
  test::finish(world, list);
  const auto done = world.event();
  ok(test::launch(list, kernel, done));
  CHECK(test::wait(done) == ZE_RESULT_ERROR_DEVICE_LOST);
  CHECK(*counter == 1);
}

TEST_CASE("a driver that does nothing answers success to all and gives nothing") {
  test::set_env("LEVELZERO_DOUBLE_NOTHING", "all");
  ok(zeInit(0));
  for (const Entry& entry : test::all_entries) {
    INFO(entry.symbol);
    CHECK(entry.with_zeros() == ZE_RESULT_SUCCESS);
  }
  std::uint32_t count = 4711;
  ok(zeDriverGet(&count, nullptr));
  CHECK(count == 4711);
  const Control control(LEVELZERO_DOUBLE_LIBRARY);
  CHECK(control.live() == 0);
  CHECK(control.calls_of("zeDriverGet") == 2);
}

TEST_CASE("entries that do nothing can be chosen") {
  test::set_env("LEVELZERO_DOUBLE_NOTHING", "zeCommandListAppendMemoryFill:zeEventHostReset");
  const World world;
  const auto list = world.list();
  std::uint32_t* const word = world.words({1});
  const auto done = world.event();
  ok(test::fill(list, word, 2, 1, done));
  test::finish(world, list);
  CHECK(*word == 1);
  CHECK(zeEventQueryStatus(done) == ZE_RESULT_NOT_READY);
  ok(zeEventHostSignal(done));
  ok(zeEventHostReset(done));
  CHECK(zeEventQueryStatus(done) == ZE_RESULT_SUCCESS);
}

TEST_CASE("counts and misuses can be forgotten but what lives stays") {
  const World world;
  world.list();
  int own = 0;
  CHECK(zeMemFree(world.context, &own) == ZE_RESULT_ERROR_INVALID_ARGUMENT);
  CHECK(world.control.misuses() == 1);
  CHECK(world.control.calls() > 0);
  world.control.reset();
  CHECK(world.control.misuses() == 0);
  CHECK(world.control.misuse_text().empty());
  CHECK(world.control.calls() == 0);
  CHECK(world.control.live("stream") == 1);
}

}  // namespace control_test
