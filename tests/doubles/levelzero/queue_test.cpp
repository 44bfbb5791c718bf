// SPDX-License-Identifier: Apache-2.0
//
// Closed command lists and queues: what is executed, how often, and what an application must see to.
#include "test_support.h"

namespace queue_test {

using Catch::Contains;
using test::ok;
using test::Waits;
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

TEST_CASE("a closed list runs at each execution, and not before") {
  const World world;
  const auto queue = queue_of(world);
  const auto list = open_list(world);
  std::uint32_t* const words = world.words({0, 7});
  const auto done = world.event();
  ok(zeCommandListAppendEventReset(list, done));
  ok(test::barrier(list));
  ok(test::copy(list, words, words + 1));
  ok(test::barrier(list, done));
  ok(zeCommandListClose(list));
  CHECK(words[0] == 0);
  for (std::uint32_t value = 1; value <= 3; ++value) {
    words[1] = value;
    ok(execute(queue, list));
    ok(test::wait(done));
    CHECK(words[0] == value);
  }
  ok(zeCommandListDestroy(list));
  ok(zeCommandQueueDestroy(queue));
  CHECK(world.control.misuses() == 0);
}

TEST_CASE("a list has no order but that of its barriers and events, and waits for those of others") {
  const World world;
  const auto queue = queue_of(world);
  const auto list = open_list(world);
  std::uint32_t* const words = world.words({0});
  const auto start = world.event();
  const auto done = world.event();
  ok(test::barrier(list, nullptr, {start}));
  ok(test::fill(list, words, 5));
  ok(test::barrier(list, done));
  ok(zeCommandListClose(list));
  ok(execute(queue, list));
  CHECK(zeEventHostSynchronize(done, 1'000'000) == ZE_RESULT_NOT_READY);
  CHECK(zeCommandQueueDestroy(queue) == ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE);
  CHECK_THAT(world.control.misuse_text(), Contains("a queue was destroyed while its lists ran"));
  CHECK(world.control.misuses() == 1);
  ok(zeEventHostSignal(start));
  ok(test::wait(done));
  CHECK(words[0] == 5);
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
  noted(execute(queue, world.list()), ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE, "an immediate command list");
  noted(zeCommandListClose(world.list()), ZE_RESULT_ERROR_INVALID_ARGUMENT, "an immediate command list");
  ok(zeEventHostSignal(start));
  ok(test::wait(done));
}

TEST_CASE("a reset without an order to what signals the event or waits for it is noted") {
  const World world;
  const auto held = world.event();
  const auto event = world.event();
  const auto first = world.list();
  ok(test::barrier(first, event, {held}));
  const auto second = world.list();
  CHECK(zeCommandListAppendEventReset(second, event) == ZE_RESULT_ERROR_INVALID_ARGUMENT);
  CHECK_THAT(world.control.misuse_text(), Contains("without an order between them"));
  ok(zeEventHostSignal(held));
  ok(test::wait(event));
}

}  // namespace queue_test
