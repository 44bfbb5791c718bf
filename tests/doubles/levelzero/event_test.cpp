// SPDX-License-Identifier: Apache-2.0
//
// Events and their pools: signalled once, then reset; who may see and use them; and the device's timer.
#include <atomic>
#include <thread>

#include "support/environment.h"
#include "test_support.h"

namespace event_test {

using Catch::Contains;
using test::ok;
using test::Waits;
using test::World;

TEST_CASE("an event is not signalled until it is and then until it is reset") {
  const World world;
  const auto event = world.event();
  for (int i = 0; i < 3; ++i) {
    CHECK(zeEventQueryStatus(event) == ZE_RESULT_NOT_READY);
    CHECK(zeEventHostSynchronize(event, 0) == ZE_RESULT_NOT_READY);
    ok(zeEventHostSignal(event));
    CHECK(zeEventQueryStatus(event) == ZE_RESULT_SUCCESS);
    CHECK(zeEventHostSynchronize(event, 0) == ZE_RESULT_SUCCESS);
    CHECK(zeEventHostSynchronize(event, UINT64_MAX) == ZE_RESULT_SUCCESS);
    ok(zeEventHostSignal(event));  // once more is no error
    ok(zeEventHostReset(event));
  }
  CHECK(world.control.misuses() == 0);
}

TEST_CASE("a wait for an event ends with its time or with the signal") {
  const World world;
  const auto event = world.event();
  CHECK(zeEventHostSynchronize(event, 1) == ZE_RESULT_NOT_READY);
  CHECK(zeEventHostSynchronize(event, 1'000'000) == ZE_RESULT_NOT_READY);
  const auto waiting = world.event();
  ze_result_t result = ZE_RESULT_ERROR_UNKNOWN;
  std::thread waiter([&] {
    zeEventHostSignal(waiting);
    result = test::wait(event);
  });
  ok(test::wait(waiting));
  ok(zeEventHostSignal(event));
  waiter.join();
  CHECK(result == ZE_RESULT_SUCCESS);
}

TEST_CASE("a command signals its event when it is done and again after a reset") {
  const World world;
  const auto list = world.list();
  std::uint32_t* const word = world.words({0});
  const auto done = world.event();
  for (std::uint32_t i = 1; i < 20; ++i) {
    ok(test::fill(list, word, i, 1, done));
    ok(test::wait(done));
    REQUIRE(*word == i);
    ok(zeEventHostReset(done));
    CHECK(zeEventQueryStatus(done) == ZE_RESULT_NOT_READY);
  }
  CHECK(world.control.misuses() == 0);
}

TEST_CASE("a reset is of the signal before it and no later one") {
  const World world;
  const auto list = world.list();
  std::uint32_t* const words = world.words({1, 1});
  const auto first = world.event();
  const auto second = world.event();
  ok(zeEventHostSignal(first));
  ok(zeEventHostReset(first));
  ok(test::fill(list, words, 2, 1, second, {first}));
  CHECK(zeEventQueryStatus(second) == ZE_RESULT_NOT_READY);
  ok(zeEventHostSignal(first));
  ok(test::wait(second));
  ok(zeEventHostReset(first));
  ok(zeEventHostReset(second));
  ok(test::fill(list, words + 1, 2, 1, second, {first}));
  CHECK(zeEventQueryStatus(second) == ZE_RESULT_NOT_READY);
  ok(zeEventHostSignal(first));
  ok(test::wait(second));
  CHECK(world.control.misuses() == 0);
}

TEST_CASE("an event signalled by two commands without a reset is refused") {
  const World world;
  const auto list = world.list();
  std::uint32_t* const word = world.words({1});
  const auto gate = world.event();
  const auto done = world.event();
  ok(test::fill(list, word, 2, 1, done, {gate}));
  CHECK(test::fill(list, word, 3, 1, done) == ZE_RESULT_ERROR_INVALID_ARGUMENT);  // it will be
  ok(zeEventHostSignal(gate));
  ok(test::wait(done));
  CHECK(zeCommandListAppendSignalEvent(list, done) == ZE_RESULT_ERROR_INVALID_ARGUMENT);  // it was
  CHECK(world.control.misuses() == 2);
  CHECK_THAT(world.control.misuse_text(), Contains("wasn't reset"));
  ok(zeEventHostReset(done));
  ok(zeCommandListAppendSignalEvent(list, done));
  ok(test::wait(done));
  CHECK(*word == 2);
}

TEST_CASE("a command that waits for the event that it signals is refused") {
  const World world;
  const auto event = world.event();
  CHECK(test::fill(world.list(), world.words({1}), 2, 1, event, {event}) ==
        ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT);
  CHECK(world.control.misuses() == 1);
  // Nothing came of it.
  CHECK(zeEventQueryStatus(event) == ZE_RESULT_NOT_READY);
  ok(zeEventDestroy(event));
  CHECK(world.control.misuses() == 1);
}

TEST_CASE("an event that a command is to signal is not reset or signalled by the host in silence") {
  const World world;
  const bool signal = GENERATE(false, true);
  const auto list = world.list();
  std::uint32_t* const word = world.words({1});
  const auto gate = world.event();
  const auto done = world.event();
  ok(test::fill(list, word, 2, 1, done, {gate}));
  world.control.reset();
  ok(signal ? zeEventHostSignal(done) : zeEventHostReset(done));
  CHECK(world.control.misuses() == 1);
  CHECK(zeEventQueryStatus(done) == (signal ? ZE_RESULT_SUCCESS : ZE_RESULT_NOT_READY));
  ok(zeEventHostSignal(gate));
  test::finish(world, list);
  CHECK(*word == 2);
  if (!signal) CHECK(zeEventQueryStatus(done) == ZE_RESULT_NOT_READY);  // the signal was lost
}

TEST_CASE("an event is not destroyed while a command is to signal it or waits for it") {
  const World world;
  const auto list = world.list();
  std::uint32_t* const word = world.words({1});
  const auto gate = world.event();
  const auto done = world.event();
  ok(test::fill(list, word, 2, 1, done, {gate}));
  CHECK(zeEventDestroy(done) == ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE);
  CHECK_THAT(world.control.misuse_text(), Contains("destroyed while a command is to signal it"));
  CHECK(zeEventDestroy(gate) == ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE);
  CHECK_THAT(world.control.misuse_text(), Contains("destroyed while a command waits for it"));
  ok(zeEventHostReset(gate));
  CHECK_THAT(world.control.misuse_text(), Contains("reset while a command waits for it"));
  CHECK(world.control.misuses() == 3);
}

TEST_CASE("an event may be destroyed when what used it is done") {
  const World world;
  const auto gate = world.event();
  const auto done = world.event();
  ok(test::fill(world.list(), world.words({1}), 2, 1, done, {gate}));
  ok(zeEventHostSignal(gate));
  ok(test::wait(done));
  ok(zeEventDestroy(gate));
  ok(zeEventDestroy(done));
  CHECK(zeEventDestroy(done) == ZE_RESULT_ERROR_INVALID_NULL_HANDLE);
  CHECK(world.control.misuses() == 1);
}

TEST_CASE("an event that the host can't see is for commands alone") {
  const World world;
  const auto list = world.list();
  std::uint32_t* const words = world.words({1, 0});
  const auto hidden = test::event_of(world.pool(1, 0));
  const auto done = world.event();
  ok(test::fill(list, words, 2, 1, hidden));
  ok(test::copy(list, words + 1, words, 1, done, {hidden}));
  ok(test::wait(done));
  CHECK(words[1] == 2);
  CHECK(world.control.misuses() == 0);
  CHECK(zeEventQueryStatus(hidden) == ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT);
  CHECK(zeEventHostSynchronize(hidden, 0) == ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT);
  CHECK(world.control.misuses() == 2);
}

TEST_CASE("a pool is refused with a count or flags or devices that it can't have") {
  const World world;
  auto desc = test::desc_of<ze_event_pool_desc_t>(ZE_STRUCTURE_TYPE_EVENT_POOL_DESC);
  ze_event_pool_handle_t made = nullptr;
  CHECK(zeEventPoolCreate(world.context, &desc, 0, nullptr, &made) == ZE_RESULT_ERROR_INVALID_SIZE);
  desc.count = 1;
  CHECK(zeEventPoolCreate(world.context, &desc, 1, nullptr, &made) == ZE_RESULT_ERROR_INVALID_SIZE);
  auto device = reinterpret_cast<ze_device_handle_t>(world.context);
  CHECK(zeEventPoolCreate(world.context, &desc, 1, &device, &made) == ZE_RESULT_ERROR_INVALID_NULL_HANDLE);
  CHECK(zeEventPoolCreate(world.context, &desc, 0, nullptr, nullptr) == ZE_RESULT_ERROR_INVALID_NULL_POINTER);
  desc.flags = 8;
  CHECK(zeEventPoolCreate(world.context, &desc, 0, nullptr, &made) == ZE_RESULT_ERROR_INVALID_ENUMERATION);
  CHECK(made == nullptr);
}

TEST_CASE("an event has a place of its own in its pool") {
  const World world;
  const auto pool = world.pool(2);
  auto desc = test::desc_of<ze_event_desc_t>(ZE_STRUCTURE_TYPE_EVENT_DESC);
  ze_event_handle_t first = nullptr;
  ze_event_handle_t other = nullptr;
  ok(zeEventCreate(pool, &desc, &first));
  CHECK(zeEventCreate(pool, &desc, &other) == ZE_RESULT_ERROR_INVALID_ARGUMENT);  // taken
  desc.index = 2;
  CHECK(zeEventCreate(pool, &desc, &other) == ZE_RESULT_ERROR_INVALID_ARGUMENT);  // not there
  CHECK(world.control.misuses() == 2);
  desc.index = 1;
  desc.signal = 8;
  CHECK(zeEventCreate(pool, &desc, &other) == ZE_RESULT_ERROR_INVALID_ENUMERATION);
  desc.signal = 0;
  desc.wait = 8;
  CHECK(zeEventCreate(pool, &desc, &other) == ZE_RESULT_ERROR_INVALID_ENUMERATION);
  CHECK(zeEventPoolDestroy(pool) == ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE);  // it still has the first
  CHECK(world.control.misuses() == 3);
  ok(zeEventDestroy(first));
  desc = test::desc_of<ze_event_desc_t>(ZE_STRUCTURE_TYPE_EVENT_DESC);
  ok(zeEventCreate(pool, &desc, &other));
  CHECK(other != first);
  ok(zeEventDestroy(other));
  ok(zeEventPoolDestroy(pool));
  CHECK(world.control.misuses() == 3);
}

TEST_CASE("an event is of its context") {
  const World world;
  const auto context = world.another_context();
  auto desc = test::desc_of<ze_event_pool_desc_t>(ZE_STRUCTURE_TYPE_EVENT_POOL_DESC);
  desc.count = 1;
  ze_event_pool_handle_t pool = nullptr;
  ok(zeEventPoolCreate(context, &desc, 0, nullptr, &pool));
  const auto foreign = test::event_of(pool);
  const auto list = world.list();
  CHECK(test::barrier(list, foreign) == ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT);
  CHECK(test::barrier(list, nullptr, {foreign}) == ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT);
  CHECK(world.control.misuses() == 2);
}

TEST_CASE("an event is of its pool's devices and of their parts") {
  test::set_env("LEVELZERO_DOUBLE_SUBDEVICES", "1");
  World world;
  std::uint32_t one = 1;
  ze_device_handle_t part = nullptr;
  ok(zeDeviceGetSubDevices(world.devices[1], &one, &part));
  world.devices.push_back(part);
  auto desc = test::desc_of<ze_event_pool_desc_t>(ZE_STRUCTURE_TYPE_EVENT_POOL_DESC);
  desc.count = 3;
  ze_event_pool_handle_t pool = nullptr;
  ok(zeEventPoolCreate(world.context, &desc, 1, &world.devices[1], &pool));
  ok(test::barrier(world.list(0, 1), test::event_of(pool, 0)));
  ok(test::barrier(world.list(0, 2), test::event_of(pool, 1)));
  CHECK(world.control.misuses() == 0);
  CHECK(test::barrier(world.list(0, 0), test::event_of(pool, 2)) == ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT);
  CHECK(world.control.misuses() == 1);
}

TEST_CASE("every command checks its events") {
  const World world;
  const auto list = world.list();
  std::uint32_t* const words = world.words({1, 1});
  const auto kernel = world.kernel("faulty");
  ok(test::set_argument(kernel, 0, 1U));
  const auto gone = world.event();
  ok(zeEventDestroy(gone));
  const std::uint32_t pattern = 0;
  const ze_group_count_t groups{1, 1, 1};
  const ze_copy_region_t region{0, 0, 0, 4, 1, 1};
  auto* const stamp = reinterpret_cast<std::uint64_t*>(words);
  const auto all = [&](ze_event_handle_t signal, std::uint32_t count, ze_event_handle_t* waits) {
    return std::vector<ze_result_t>{
        zeCommandListAppendBarrier(list, signal, count, waits),
        zeCommandListAppendWriteGlobalTimestamp(list, stamp, signal, count, waits),
        zeCommandListAppendMemoryCopy(list, words + 1, words, 4, signal, count, waits),
        zeCommandListAppendMemoryCopyRegion(list, words + 1, &region, 4, 0, words, &region, 4, 0, signal, count, waits),
        zeCommandListAppendMemoryFill(list, words, &pattern, 4, 4, signal, count, waits),
        zeCommandListAppendLaunchKernel(list, kernel, &groups, signal, count, waits)};
  };
  const auto each = [](ze_result_t result) { return std::vector<ze_result_t>(6, result); };
  CHECK(all(nullptr, 1, nullptr) == each(ZE_RESULT_ERROR_INVALID_SIZE));
  CHECK(world.control.misuses() == 0);
  CHECK(all(gone, 0, nullptr) == each(ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT));
  CHECK(world.control.misuses() == 6);
  ze_event_handle_t waits[2] = {world.event(), gone};
  CHECK(all(nullptr, 2, waits) == each(ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT));
  waits[1] = nullptr;
  CHECK(all(nullptr, 2, waits) == each(ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT));
  CHECK(zeCommandListAppendSignalEvent(list, nullptr) == ZE_RESULT_ERROR_INVALID_NULL_HANDLE);
  CHECK(zeCommandListAppendSignalEvent(list, gone) == ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT);
  CHECK(zeCommandListAppendWaitOnEvents(list, 1, nullptr) == ZE_RESULT_ERROR_INVALID_NULL_POINTER);
  CHECK(zeCommandListAppendWaitOnEvents(list, 2, waits) == ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT);
  CHECK(zeCommandListAppendWaitOnEvents(list, 0, waits) == ZE_RESULT_ERROR_INVALID_ARGUMENT);
  // None of them was appended.
  ok(zeCommandListDestroy(list));
  CHECK(words[0] == 1);
}

TEST_CASE("the timer goes on and begins again when its valid bits are used up") {
  test::set_env("LEVELZERO_DOUBLE_TIMESTAMP_BITS", "30");
  const World world;
  const auto list = world.list(test::in_order);
  std::uint32_t* const words = world.words({0, 0});
  auto* const stamp = reinterpret_cast<std::uint64_t*>(words);
  const auto done = world.event();
  std::uint64_t last = 0;
  int began_again = 0;
  for (int i = 0; began_again == 0 || i < 100; ++i) {
    ok(zeCommandListAppendWriteGlobalTimestamp(list, stamp, done, 0, nullptr));
    ok(test::wait(done));
    ok(zeEventHostReset(done));
    REQUIRE(*stamp < std::uint64_t{1} << 30U);
    began_again += *stamp < last ? 1 : 0;
    last = *stamp;
  }
  CHECK(began_again == 1);
}

TEST_CASE("an event of a driver that is stuck is never seen to be signalled") {
  test::set_env("LEVELZERO_DOUBLE_STUCK", "1");
  const World world;
  std::uint32_t* const word = world.words({1});
  const auto done = world.event();
  ok(test::fill(world.list(0, 0, ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS), word, 2, 1, done));
  CHECK(*word == 2);  // done all the same
  CHECK(zeEventQueryStatus(done) == ZE_RESULT_NOT_READY);
  CHECK(zeEventHostSynchronize(done, 2'000'000) == ZE_RESULT_NOT_READY);
  ok(zeEventHostSignal(done));
  CHECK(zeEventQueryStatus(done) == ZE_RESULT_NOT_READY);
}

}  // namespace event_test
