// SPDX-License-Identifier: Apache-2.0
//
// Lists and queues: that commands have no order but the one that was asked for, so that a wait that is missing shows,
// and what may not be done with a list.
#include <algorithm>
#include <numeric>

#include "test_support.h"

namespace list_test {

using Catch::Contains;
using test::ok;
using test::World;

namespace {

constexpr std::uint32_t with_kernels = 2;  // the queue group

ze_command_queue_handle_t queue_of(const World& world) {
  auto desc = test::desc_of<ze_command_queue_desc_t>(ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC);
  desc.ordinal = with_kernels;
  desc.mode = ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS;
  ze_command_queue_handle_t queue = nullptr;
  ok(zeCommandQueueCreate(world.context, world.devices[0], &desc, &queue));
  return queue;
}

ze_command_list_handle_t open_list(const World& world) {
  auto desc = test::desc_of<ze_command_list_desc_t>(ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC);
  desc.commandQueueGroupOrdinal = with_kernels;
  ze_command_list_handle_t list = nullptr;
  ok(zeCommandListCreate(world.context, world.devices[0], &desc, &list));
  return list;
}

ze_result_t execute(ze_command_queue_handle_t queue, ze_command_list_handle_t list) {
  return zeCommandQueueExecuteCommandLists(queue, 1, &list, nullptr);
}

}  // namespace

TEST_CASE("commands of a list without an order run in any order, and none while their device is held") {
  const World world;
  constexpr std::uint32_t commands = 30;
  const auto list = world.list();
  std::uint32_t* const order = world.words(std::vector<std::uint32_t>(commands + 1));
  const ze_kernel_handle_t kernel = world.kernel("append");
  ok(test::set_argument(kernel, 0, order));
  CHECK_FALSE(world.control.hold(2, true));
  REQUIRE(world.control.hold(0, true));
  for (std::uint32_t i = 0; i < commands; ++i) {
    ok(test::set_argument(kernel, 1, i));
    ok(test::launch(list, kernel));
  }
  CHECK(order[0] == 0);
  REQUIRE(world.control.hold(0, false));
  test::finish(world, list);
  REQUIRE(order[0] == commands);
  std::vector<std::uint32_t> counted(commands);
  std::iota(counted.begin(), counted.end(), 0U);
  CHECK_FALSE(std::equal(counted.begin(), counted.end(), order + 1));
  CHECK(std::is_permutation(counted.begin(), counted.end(), order + 1));
}

TEST_CASE("a command that waits holds back the others of a list with an order alone") {
  const World world;
  const bool in_order = GENERATE(false, true);
  const auto list = world.list(in_order ? test::in_order : 0);
  std::uint32_t* const words = world.words({1, 1});
  const auto gate = world.event();
  const auto filled = world.event();
  const auto signalled = world.event();
  ok(test::fill(list, words, 2, 1, nullptr, {gate}));
  ok(test::fill(list, words + 1, 2, 1, filled));
  ok(zeCommandListAppendSignalEvent(list, signalled));
  for (const auto event : {filled, signalled}) {
    if (!in_order) ok(test::wait(event));
    CHECK(zeEventQueryStatus(event) == (in_order ? ZE_RESULT_NOT_READY : ZE_RESULT_SUCCESS));
  }
  ok(zeEventHostSignal(gate));
  ok(test::wait(signalled));
}

TEST_CASE("a barrier or wait for events waits for those alone and holds back what is behind it") {
  const World world;
  const bool as_wait = GENERATE(false, true);
  const auto list = world.list();
  std::uint32_t* const words = world.words({1, 1});
  const auto before_gate = world.event();
  auto gate = world.event();
  const auto before = world.event();
  const auto after = world.event();
  ok(test::fill(list, words, 2, 1, before, {before_gate}));
  ok(as_wait ? zeCommandListAppendWaitOnEvents(list, 1, &gate) : test::barrier(list, nullptr, {gate}));
  ok(test::fill(list, words + 1, 2, 1, after));
  CHECK(zeEventQueryStatus(after) == ZE_RESULT_NOT_READY);
  ok(zeEventHostSignal(gate));
  ok(test::wait(after));
  CHECK(zeEventQueryStatus(before) == ZE_RESULT_NOT_READY);
  ok(zeEventHostSignal(before_gate));
  ok(test::wait(before));
}

TEST_CASE("commands of a higher priority go first") {
  test::set_env("LEVELZERO_DOUBLE_WORKERS", "1");
  const World world;
  std::uint32_t* const order = world.words({0, 0, 0, 0});
  const auto kernel = world.kernel("append");
  ok(test::set_argument(kernel, 0, order));
  REQUIRE(world.control.hold(0, true));
  const std::vector<ze_command_queue_priority_t> priorities{ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_LOW,
                                                            ZE_COMMAND_QUEUE_PRIORITY_NORMAL,
                                                            ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_HIGH};
  std::vector<ze_command_list_handle_t> lists;
  for (const auto priority : priorities) {
    lists.push_back(world.list(0, 0, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS, priority));
    ok(test::set_argument(kernel, 1, static_cast<std::uint32_t>(priority)));
    ok(test::launch(lists.back(), kernel));
  }
  REQUIRE(world.control.hold(0, false));
  for (const auto list : lists) test::finish(world, list);
  CHECK(std::equal(priorities.rbegin(), priorities.rend(), order + 1));
}

TEST_CASE("what may not be done with a list or a queue is refused and noted") {
  const World world;
  const auto queue = queue_of(world);
  const auto list = open_list(world);
  std::uint32_t* const words = world.words({0});
  const auto noted = [&world](ze_result_t result, ze_result_t expected, const char* text) {
    CHECK(result == expected);
    CHECK(world.control.misuses() == 1);
    CHECK_THAT(world.control.misuse_text(), Contains(text));
    world.control.reset();
  };
  noted(execute(queue, list), ZE_RESULT_ERROR_INVALID_ARGUMENT, "wasn't closed");
  const auto start = world.event();
  const auto done = world.event();
  ok(test::barrier(list, done, {start}));
  ok(zeCommandListClose(list));
  noted(zeCommandListClose(list), ZE_RESULT_ERROR_INVALID_ARGUMENT, "closed twice");
  noted(test::fill(list, words, 1), ZE_RESULT_ERROR_INVALID_ARGUMENT, "a list that was closed");
  ok(execute(queue, list));
  noted(execute(queue, list), ZE_RESULT_ERROR_INVALID_ARGUMENT, "while the device ran it");
  noted(zeCommandListDestroy(list), ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE, "while its commands ran");
  noted(zeCommandQueueDestroy(queue), ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE, "while its lists ran");
  noted(execute(queue, world.list()), ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE, "an immediate command list");
  noted(zeCommandListClose(world.list()), ZE_RESULT_ERROR_INVALID_ARGUMENT, "an immediate command list");
  const auto immediate = world.list();
  noted(zeCommandListAppendEventReset(immediate, done), ZE_RESULT_ERROR_INVALID_ARGUMENT,
        "without an order between them");
  ok(zeEventHostSignal(start));
  ok(test::wait(done));
}

}  // namespace list_test
