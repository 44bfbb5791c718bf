// SPDX-License-Identifier: Apache-2.0
//
// When commands run, seen from a program. Whether the double is asynchronous is what all tests that use it rest on: a
// wait that is missing must show here.
#include <algorithm>
#include <atomic>
#include <numeric>
#include <thread>

#include "support/child.h"
#include "support/environment.h"
#include "test_support.h"

namespace order_test {

using test::ok;
using test::Waits;
using test::World;

namespace {

/// The values in the order in which `append` (test_kernels.c) ran, one command each, all let go at once.
std::vector<std::uint32_t> run_at_once(const World& world, ze_command_list_handle_t list, std::uint32_t commands) {
  std::uint32_t* const order = world.words(std::vector<std::uint32_t>(commands + 1));
  const ze_kernel_handle_t kernel = world.kernel("append");
  ok(test::set_argument(kernel, 0, order));
  REQUIRE(world.control.hold(0, true));
  for (std::uint32_t i = 0; i < commands; ++i) {
    ok(test::set_argument(kernel, 1, i));
    ok(test::launch(list, kernel));
  }
  REQUIRE(world.control.hold(0, false));
  test::finish(world, list);
  REQUIRE(order[0] == commands);
  return {order + 1, order + 1 + commands};
}

std::vector<std::uint32_t> counted(std::uint32_t count) {
  std::vector<std::uint32_t> all(count);
  std::iota(all.begin(), all.end(), 0U);
  return all;
}

}  // namespace

TEST_CASE("a command is not done when the call that appends it returns") {
  const World world;
  const auto list = world.list(GENERATE(ze_command_queue_flags_t{0}, test::in_order));
  std::uint32_t* const word = world.words({1});
  const auto done = world.event();
  CHECK_FALSE(world.control.hold(2, true));
  REQUIRE(world.control.hold(0, true));
  ok(test::fill(list, word, 2, 1, done));
  CHECK(zeEventQueryStatus(done) == ZE_RESULT_NOT_READY);
  CHECK(*word == 1);
  REQUIRE(world.control.hold(0, false));
  ok(test::wait(done));
  CHECK(zeEventQueryStatus(done) == ZE_RESULT_SUCCESS);
  CHECK(*word == 2);
}

TEST_CASE("commands of a list without an order run in any order") {
  const World world;
  auto order = run_at_once(world, world.list(), 30);
  CHECK(order != counted(30));
  std::sort(order.begin(), order.end());
  CHECK(order == counted(30));
}

TEST_CASE("commands of a list with an order run in it") {
  const World world;
  CHECK(run_at_once(world, world.list(test::in_order), 30) == counted(30));
}

TEST_CASE("a command that waits holds back the others of a list with an order alone") {
  const World world;
  const bool in_order = GENERATE(false, true);
  const auto list = world.list(in_order ? test::in_order : 0);
  std::uint32_t* const words = world.words({1, 1, 1});
  const auto gate = world.event();
  const auto first = world.event();
  const auto second = world.event();
  ok(test::fill(list, words, 2, 1, first, {gate}));
  ok(test::fill(list, words + 1, 2, 1, second));
  if (!in_order) ok(test::wait(second));
  CHECK(zeEventQueryStatus(second) == (in_order ? ZE_RESULT_NOT_READY : ZE_RESULT_SUCCESS));
  // Whatever is done of another list meanwhile.
  const auto other = world.list();
  ok(test::fill(other, words + 2, 2));
  test::finish(world, other);
  CHECK(zeEventQueryStatus(first) == ZE_RESULT_NOT_READY);
  CHECK(zeEventQueryStatus(second) == (in_order ? ZE_RESULT_NOT_READY : ZE_RESULT_SUCCESS));
  ok(zeEventHostSignal(gate));
  ok(test::wait(first));
  ok(test::wait(second));
  CHECK((words[0] == 2 && words[1] == 2 && words[2] == 2));
}

TEST_CASE("without a wait a command reads what was there before and with one what was written") {
  const World world;
  const auto writer = world.list();
  const auto reader = world.list(0, 1);  // of another device
  std::uint32_t* const word = world.words({1});
  std::uint32_t* const early = world.words({0}, 1);
  std::uint32_t* const late = world.words({0}, 1);
  const auto gate = world.event();
  const auto written = world.event();
  const auto was_late = world.event();
  ok(test::fill(writer, word, 2, 1, written, {gate}));
  ok(test::copy(reader, late, word, 1, was_late, {written}));
  const auto was_early = world.event();
  ok(test::copy(reader, early, word, 1, was_early));
  ok(test::wait(was_early));
  CHECK(zeEventQueryStatus(was_late) == ZE_RESULT_NOT_READY);
  ok(zeEventHostSignal(gate));
  ok(test::wait(was_late));
  CHECK(*early == 1);
  CHECK(*late == 2);
  CHECK(world.control.misuses() == 0);
}

TEST_CASE("a command waits for all its events") {
  const World world;
  const auto list = world.list();
  std::uint32_t* const word = world.words({1});
  const Waits gates{world.event(), world.event(), world.event()};
  const auto done = world.event();
  ok(test::fill(list, word, 2, 1, done, gates));
  for (const auto gate : gates) {
    CHECK(zeEventQueryStatus(done) == ZE_RESULT_NOT_READY);
    ok(zeEventHostSignal(gate));
  }
  ok(test::wait(done));
  CHECK(*word == 2);
}

TEST_CASE("a barrier without events comes behind all before it and ahead of all behind it") {
  const World world;
  const auto list = world.list();
  std::uint32_t* const words = world.words({1, 1});
  const auto gate = world.event();
  const auto barred = world.event();
  const auto after = world.event();
  ok(test::fill(list, words, 2, 1, nullptr, {gate}));
  ok(test::barrier(list, barred));
  ok(test::fill(list, words + 1, 2, 1, after));
  const auto other = world.list();
  ok(test::barrier(other));
  test::finish(world, other);  // a barrier is one list's matter
  CHECK(zeEventQueryStatus(barred) == ZE_RESULT_NOT_READY);
  CHECK(zeEventQueryStatus(after) == ZE_RESULT_NOT_READY);
  ok(zeEventHostSignal(gate));
  ok(test::wait(after));
  CHECK(zeEventQueryStatus(barred) == ZE_RESULT_SUCCESS);
  CHECK((words[0] == 2 && words[1] == 2));
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

TEST_CASE("the signal of an event has the order of any command") {
  const World world;
  const bool in_order = GENERATE(false, true);
  const auto list = world.list(in_order ? test::in_order : 0);
  std::uint32_t* const word = world.words({1});
  const auto gate = world.event();
  const auto signalled = world.event();
  ok(test::fill(list, word, 2, 1, nullptr, {gate}));
  ok(zeCommandListAppendSignalEvent(list, signalled));
  if (!in_order) ok(test::wait(signalled));
  CHECK(zeEventQueryStatus(signalled) == (in_order ? ZE_RESULT_NOT_READY : ZE_RESULT_SUCCESS));
  ok(zeEventHostSignal(gate));
  ok(test::wait(signalled));
}

TEST_CASE("a chain of events through lists and devices keeps its order") {
  test::set_env("LEVELZERO_DOUBLE_SEED", "7");
  const World world;
  constexpr std::uint32_t link_count = 40;
  std::uint32_t* const order = world.words(std::vector<std::uint32_t>(link_count + 1));
  Waits links;
  for (std::uint32_t i = 0; i < link_count; ++i) {
    const std::size_t device = i % 2;
    const auto kernel = world.kernel("append", device);
    ok(test::set_argument(kernel, 0, order));
    ok(test::set_argument(kernel, 1, i));
    const auto link = world.event();
    ok(test::launch(world.list(0, device), kernel, link, links.empty() ? Waits{} : Waits{links.back()}));
    links.push_back(link);
  }
  ok(test::wait(links.back()));
  REQUIRE(order[0] == link_count);
  CHECK(std::vector<std::uint32_t>(order + 1, order + 1 + link_count) == counted(link_count));
}

TEST_CASE("commands of a higher priority go first") {
  test::set_env("LEVELZERO_DOUBLE_WORKERS", "1");
  const World world;
  std::uint32_t* const order = world.words({0, 0, 0, 0});
  const auto kernel = world.kernel("append");
  ok(test::set_argument(kernel, 0, order));
  REQUIRE(world.control.hold(0, true));
  std::vector<ze_command_list_handle_t> lists;
  for (const auto priority : {ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_LOW, ZE_COMMAND_QUEUE_PRIORITY_NORMAL,
                              ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_HIGH}) {
    lists.push_back(world.list(0, 0, ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS, priority));
    ok(test::set_argument(kernel, 1, static_cast<std::uint32_t>(priority)));
    ok(test::launch(lists.back(), kernel));
  }
  REQUIRE(world.control.hold(0, false));
  for (const auto list : lists) test::finish(world, list);
  CHECK(std::vector<std::uint32_t>(order + 1, order + 4) ==
        std::vector<std::uint32_t>{ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_HIGH, ZE_COMMAND_QUEUE_PRIORITY_NORMAL,
                                   ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_LOW});
}

TEST_CASE("a synchronous list's calls return when their commands are done") {
  const World world;
  const auto list = world.list(0, 0, ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS);
  std::uint32_t* const words = world.words({1, 1});
  for (std::uint32_t i = 2; i < 50; ++i) {
    ok(test::fill(list, words, i));
    REQUIRE(words[0] == i);
  }
  const auto gate = world.event();
  const auto begun = world.event();
  std::atomic<bool> returned{false};
  std::thread caller([&] {
    zeEventHostSignal(begun);
    test::fill(list, words + 1, 2, 1, nullptr, {gate});
    returned = true;
  });
  ok(test::wait(begun));
  CHECK_FALSE(returned);
  ok(zeEventHostSignal(gate));
  caller.join();
  CHECK(words[1] == 2);
  CHECK(world.control.misuses() == 0);
}

TEST_CASE("a list says what it is") {
  const World world;
  const auto list = world.list(0, 1);
  ze_bool_t immediate = 0;
  ok(zeCommandListIsImmediate(list, &immediate));
  CHECK(immediate == 1);
  ze_device_handle_t device = nullptr;
  ok(zeCommandListGetDeviceHandle(list, &device));
  CHECK(device == world.devices[1]);
}

TEST_CASE("a process may end with commands that never ran") {
  const test::ChildResult child = test::in_child([] {
    const World world;
    const auto gate = world.event();
    std::uint32_t* const word = world.words({1});
    for (int i = 0; i < 10; ++i) ok(test::fill(world.list(test::in_order), word, 2, 1, nullptr, {gate}));
    world.control.hold(1, true);
    ok(test::fill(world.list(0, 1), word, 2));
    return 3;
  });
  CHECK_FALSE(child.timed_out);
  CHECK(child.status == 3);
}

TEST_CASE("many threads may use lists of their own at the same time") {
  const World world;
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  struct Mine {
    ze_command_list_handle_t list;
    ze_event_handle_t written, copied;
    std::uint32_t* words;
  };
  std::vector<Mine> all;
  for (std::size_t t = 0; t < 6; ++t)
    all.push_back({world.list(t < 3 ? 0 : test::in_order, t % 2), world.event(), world.event(), world.words({0, 0})});
  for (const Mine& mine : all) {
    threads.emplace_back([&wrong, &mine] {
      const auto expect = [&wrong](bool right) { wrong += right ? 0 : 1; };
      const auto succeeds = [&expect](ze_result_t result) { expect(result == ZE_RESULT_SUCCESS); };
      for (std::uint32_t i = 1; i <= 100; ++i) {
        succeeds(test::fill(mine.list, mine.words, i, 1, mine.written));
        succeeds(test::copy(mine.list, mine.words + 1, mine.words, 1, mine.copied, {mine.written}));
        succeeds(test::wait(mine.copied));
        expect(mine.words[1] == i);
        succeeds(zeEventHostReset(mine.written));
        succeeds(zeEventHostReset(mine.copied));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == 0);
  CHECK(world.control.misuse_text().empty());
}

}  // namespace order_test
