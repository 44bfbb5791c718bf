// SPDX-License-Identifier: Apache-2.0
//
// The controls of the double: failures on demand, counts, what lives, faults and losses of devices; and a driver that
// does nothing.
#include <thread>

#include "all_entries.h"
#include "test_support.h"

namespace control_test {

using Catch::Contains;
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
  const auto event = world.event();
  const auto kernel = world.kernel("faulty");
  const auto device_desc = test::desc_of<ze_device_mem_alloc_desc_t>(ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC);
  const auto host_desc = test::desc_of<ze_host_mem_alloc_desc_t>(ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC);
  void* memory = nullptr;
  void* host = nullptr;
  ok(zeMemAllocDevice(world.context, &device_desc, 4711, 0, world.devices[0], &memory));
  ok(zeMemAllocHost(world.context, &host_desc, 16, 0, &host));
  test::check_one_of_each(world.control, {"context", "stream", "pool", "event", "module", "kernel", "memory", "host"});
  CHECK(world.control.live() == 8);
  CHECK_THAT(world.control.live_text(), Contains("4711 bytes") && Contains("faulty"));
  test::each_gives(ZE_RESULT_SUCCESS, {zeKernelDestroy(kernel), zeEventDestroy(event), zeCommandListDestroy(list),
                                       zeMemFree(world.context, memory), zeMemFree(world.context, host)});
  CHECK(world.control.live() == 3);  // the context, the pool and the module
  world.control.reset();
  CHECK((world.control.calls() == 0 && world.control.live() == 3));
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

}  // namespace control_test
