// SPDX-License-Identifier: Apache-2.0
//
// The double as a driver behind the real loader, which finds it by ZE_ENABLE_ALT_DRIVERS: that it is taken, that calls
// come through whole, and that its lists have no order, as those of version 1.4.
#include "test_support.h"

namespace loaded_test {

using test::ok;
using test::World;

TEST_CASE("the loader takes the double for a driver of version 1.4") {
  const World world;
  CHECK(world.devices.size() == 2);
  ze_api_version_t version{};
  ok(zeDriverGetApiVersion(world.driver, &version));
  CHECK(version == ZE_API_VERSION_1_4);
  auto desc = test::desc_of<ze_command_queue_desc_t>(ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC);
  desc.ordinal = 2;
  desc.flags = test::in_order;
  ze_command_list_handle_t made = nullptr;
  CHECK(zeCommandListCreateImmediate(world.context, world.devices[0], &desc, &made) ==
        ZE_RESULT_ERROR_INVALID_ENUMERATION);
}

TEST_CASE("work goes through the loader and is not done before its event") {
  const World world;
  const auto list = world.list();
  std::uint32_t* const words = world.words({0, 0});
  const auto kernel = world.kernel("count");
  ok(test::set_argument(kernel, 0, words));
  ok(test::set_argument(kernel, 1, 3U));
  const auto gate = world.event();
  const auto counted = world.event();
  const auto copied = world.event();
  ok(test::copy(list, words + 1, words, 1, copied, {counted}));
  ok(test::launch(list, kernel, counted, {gate}, 4));
  CHECK(zeEventQueryStatus(copied) == ZE_RESULT_NOT_READY);
  ok(zeEventHostSignal(gate));
  ok(test::wait(copied));
  CHECK((words[0] == 12 && words[1] == 12));
  CHECK(world.control.misuses() == 0);
  CHECK(world.control.calls_of("zeCommandListAppendLaunchKernel") == 1);
}

TEST_CASE("refusals and failures and misuse come through the loader") {
  const World world;
  const auto list = world.list();
  std::uint32_t* const word = world.words({1});
  CHECK(test::fill(list, word, 2, 2) == ZE_RESULT_ERROR_INVALID_ARGUMENT);
  CHECK(world.control.misuses() == 1);
  REQUIRE(world.control.fail_nth("zeCommandListAppendMemoryFill", 1, ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY));
  CHECK(test::fill(list, word, 2) == ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
  ok(test::fill(list, word, 2));
  test::finish(world, list);
  CHECK(*word == 2);
}

}  // namespace loaded_test
