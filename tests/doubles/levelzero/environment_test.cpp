// SPDX-License-Identifier: Apache-2.0
//
// What of the environment is seen by nobody else, the tables that a loader asks for, and the driver's end.
#include <level_zero/ze_ddi.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "test_support.h"

namespace environment_test {

using Catch::Contains;
using test::ok;
using test::World;

TEST_CASE("what gives lists gives no more than was asked for and says how many there are") {
  test::set_env("LEVELZERO_DOUBLE_DEVICES", "3");
  const World world;
  ze_device_handle_t devices[4] = {};
  std::uint32_t count = 2;
  ok(zeDeviceGet(world.driver, &count, devices));
  CHECK((count == 2 && devices[1] == world.devices[1] && devices[2] == nullptr));
  count = 4;
  ok(zeDeviceGet(world.driver, &count, devices));
  CHECK((count == 3 && devices[2] == world.devices[2] && devices[3] == nullptr));
  // A count of 0 asks for the count, and the array has no room.
  ze_device_handle_t none = nullptr;
  count = 0;
  ok(zeDeviceGet(world.driver, &count, &none));
  CHECK((count == 3 && none == nullptr));
  ze_device_memory_properties_t memory{};
  count = 0;
  ok(zeDeviceGetMemoryProperties(world.devices[0], &count, &memory));
  CHECK((count == 1 && memory.totalSize == 0));
  CHECK(zeDeviceGet(world.driver, nullptr, devices) == ZE_RESULT_ERROR_INVALID_NULL_POINTER);
}

TEST_CASE("an environment that can't be read ends the process with what would be right") {
  const auto with = [](const char* name, const char* value) {
    return test::in_child([&] {
      test::set_env(name, value);
      return zeInit(0) == ZE_RESULT_SUCCESS ? 0 : 1;
    });
  };
  const std::pair<const char*, const char*> wrong[] = {
      {"LEVELZERO_DOUBLE_DEVICES", "17"},       {"LEVELZERO_DOUBLE_DEVICES", "many"}, {"LEVELZERO_DOUBLE_MEMORY", "1T"},
      {"LEVELZERO_DOUBLE_API", "2.0"},          {"LEVELZERO_DOUBLE_API", "new"},      {"LEVELZERO_DOUBLE_PEERS", "2"},
      {"LEVELZERO_DOUBLE_FAIL", "zeInit:once"}, {"LEVELZERO_DOUBLE_SEED", "-1"}};
  for (const auto& [name, value] : wrong) {
    INFO(name << "=" << value);
    const test::Ended ended = with(name, value);
    CHECK(ended.signal == SIGABRT);
    CHECK_THAT(ended.out, Contains(name));
  }
  CHECK(with("LEVELZERO_DOUBLE_MEMORY", "64M").status == 0);
}

TEST_CASE("entries can be made slow") {
  test::set_env("LEVELZERO_DOUBLE_SLOW", "zeDriverGetApiVersion:zeDeviceGet");
  test::set_env("LEVELZERO_DOUBLE_SLOW_MS", "30");
  const World world;
  const auto start = std::chrono::steady_clock::now();
  ze_api_version_t version{};
  ok(zeDriverGetApiVersion(world.driver, &version));
  CHECK(std::chrono::steady_clock::now() - start >= std::chrono::milliseconds(30));
}

TEST_CASE("a driver with a fragile end ends the process of who calls it then and of nobody else") {
  static ze_driver_handle_t driver = nullptr;
  const auto child = [](bool calls, bool is_in_call) {
    return test::in_child([=] {
      test::set_env("LEVELZERO_DOUBLE_FRAGILE_END", "1");
      test::set_env("LEVELZERO_DOUBLE_SLOW", "zeDriverGetApiVersion");
      const auto call = [] {
        ze_api_version_t version{};
        zeDriverGetApiVersion(driver, &version);
      };
      // Registered before the driver's own, so called after it.
      if (calls) std::atexit(+call);
      const World world;
      driver = world.driver;
      if (is_in_call) {
        std::thread([call] {
          while (true) call();
        }).detach();
        while (world.control.calls_of("zeDriverGetApiVersion") < 2) std::this_thread::yield();
      }
      return 0;
    });
  };
  const test::Ended quiet = child(false, false);
  CHECK(quiet.status == 0);
  CHECK(quiet.out == "");
  for (const test::Ended& loud : {child(true, false), child(false, true)}) {
    CHECK(loud.signal == SIGABRT);
    CHECK_THAT(loud.out, Contains("when the driver had ended"));
  }
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

TEST_CASE("a loader gets the tables of versions that it knows") {
  ze_command_list_dditable_t lists;
  std::memset(&lists, 0xff, sizeof(lists));
  CHECK(zeGetCommandListProcAddrTable(ZE_API_VERSION_1_0, nullptr) == ZE_RESULT_ERROR_INVALID_NULL_POINTER);
  CHECK(zeGetCommandListProcAddrTable(static_cast<ze_api_version_t>(ZE_MAKE_VERSION(2, 0)), &lists) ==
        ZE_RESULT_ERROR_UNSUPPORTED_VERSION);
  ok(zeGetCommandListProcAddrTable(ZE_API_VERSION_1_4, &lists));
  CHECK(lists.pfnCreateImmediate == zeCommandListCreateImmediate);
  CHECK(lists.pfnAppendLaunchKernel == zeCommandListAppendLaunchKernel);
  CHECK(lists.pfnReset == nullptr);  // a list is recorded once there
  ze_fence_dditable_t fences;
  std::memset(&fences, 0xff, sizeof(fences));
  ok(zeGetFenceProcAddrTable(ZE_API_VERSION_1_4, &fences));
  CHECK(fences.pfnCreate == nullptr);
}

TEST_CASE("a forked child has no driver and its parent keeps its own") {
  const World world;
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    std::uint32_t count = 0;
    const bool none =
        zeDriverGet(&count, nullptr) == ZE_RESULT_ERROR_UNINITIALIZED && zeInit(0) == ZE_RESULT_ERROR_UNINITIALIZED;
    _exit(none ? 0 : 1);
  }
  int status = -1;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  test::finish(world, world.list());
}

}  // namespace environment_test
