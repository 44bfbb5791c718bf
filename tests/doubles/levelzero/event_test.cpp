// SPDX-License-Identifier: Apache-2.0
//
// Events and their pools: signalled once, then reset; who may see and use them.
#include "test_support.h"

namespace event_test {

using Catch::Contains;
using test::ok;
using test::World;

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

TEST_CASE("an event is not destroyed while a command is to signal it or waits for it, and once") {
  const World world;
  const auto list = world.list();
  const auto gate = world.event();
  const auto done = world.event();
  ok(test::fill(list, world.words({1}), 2, 1, done, {gate}));
  CHECK(zeEventDestroy(done) == ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE);
  CHECK_THAT(world.control.misuse_text(), Contains("destroyed while a command is to signal it"));
  CHECK(zeEventDestroy(gate) == ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE);
  CHECK_THAT(world.control.misuse_text(), Contains("destroyed while a command waits for it"));
  ok(zeEventHostSignal(gate));
  ok(test::wait(done));
  ok(zeEventHostReset(gate));
  CHECK(world.control.misuses() == 2);
  ok(test::barrier(list, nullptr, {gate}));
  ok(zeEventHostReset(gate));
  CHECK_THAT(world.control.misuse_text(), Contains("reset while a command waits for it"));
}

TEST_CASE("an event that the host can't see is for commands alone") {
  const World world;
  const auto hidden = test::event_of(world.pool(1, 0));
  ok(test::fill(world.list(), world.words({1}), 2, 1, hidden));
  test::each_gives(ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT,
                   {zeEventQueryStatus(hidden), zeEventHostSynchronize(hidden, 0)});
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
  ze_event_handle_t first = nullptr;
  ze_event_handle_t other = nullptr;
  const auto create = [pool](std::uint32_t index, ze_event_handle_t* made, unsigned signal = 0, unsigned wait = 0) {
    auto desc = test::desc_of<ze_event_desc_t>(ZE_STRUCTURE_TYPE_EVENT_DESC);
    desc.index = index;
    desc.signal = signal;
    desc.wait = wait;
    return zeEventCreate(pool, &desc, made);
  };
  ok(create(0, &first));
  test::each_gives(ZE_RESULT_ERROR_INVALID_ARGUMENT, {create(0, &other), create(2, &other)});  // taken, not there
  test::each_gives(ZE_RESULT_ERROR_INVALID_ENUMERATION, {create(1, &other, 8), create(1, &other, 0, 8)});
  CHECK(zeEventPoolDestroy(pool) == ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE);  // it still has the first
  CHECK(world.control.misuses() == 3);
  ok(zeEventDestroy(first));
  ok(create(0, &other));
  CHECK(other != first);
  ok(zeEventDestroy(other));
  ok(zeEventPoolDestroy(pool));
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
  const auto all = [&](ze_result_t code, ze_event_handle_t signal, std::uint32_t count, ze_event_handle_t* waits) {
    test::each_gives(code, {zeCommandListAppendBarrier(list, signal, count, waits),
                            zeCommandListAppendWriteGlobalTimestamp(list, stamp, signal, count, waits),
                            zeCommandListAppendMemoryCopy(list, words + 1, words, 4, signal, count, waits),
                            zeCommandListAppendMemoryCopyRegion(list, words + 1, &region, 4, 0, words, &region, 4, 0,
                                                                signal, count, waits),
                            zeCommandListAppendMemoryFill(list, words, &pattern, 4, 4, signal, count, waits),
                            zeCommandListAppendLaunchKernel(list, kernel, &groups, signal, count, waits)});
  };
  constexpr auto no_event = ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT;
  all(ZE_RESULT_ERROR_INVALID_SIZE, nullptr, 1, nullptr);
  CHECK(world.control.misuses() == 0);
  all(no_event, gone, 0, nullptr);
  CHECK(world.control.misuses() == 6);
  ze_event_handle_t waits[2] = {world.event(), gone};
  all(no_event, nullptr, 2, waits);
  test::each_gives(no_event,
                   {zeCommandListAppendSignalEvent(list, gone), zeCommandListAppendWaitOnEvents(list, 2, waits)});
  CHECK(zeCommandListAppendSignalEvent(list, nullptr) == ZE_RESULT_ERROR_INVALID_NULL_HANDLE);
  CHECK(zeCommandListAppendWaitOnEvents(list, 1, nullptr) == ZE_RESULT_ERROR_INVALID_NULL_POINTER);
  CHECK(zeCommandListAppendWaitOnEvents(list, 0, waits) == ZE_RESULT_ERROR_INVALID_ARGUMENT);
  ok(zeCommandListDestroy(list));  // none of them was appended
  CHECK(words[0] == 1);
}

}  // namespace event_test
