// SPDX-License-Identifier: Apache-2.0
//
// How the environment configures the double, what it says of its devices, the tables that a loader asks for, and what
// is left when the process ends.
#include <level_zero/ze_ddi.h>
#include <sys/wait.h>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <thread>

#include "support/child.h"
#include "support/environment.h"
#include "support/temp_dir.h"
#include "test_support.h"

namespace environment_test {

using Catch::Contains;
using test::ok;
using test::World;

namespace {

ze_device_properties_t properties_of(ze_device_handle_t device,
                                     ze_structure_type_t type = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES) {
  auto with = test::desc_of<ze_device_properties_t>(type);
  ok(zeDeviceGetProperties(device, &with));
  return with;
}

std::vector<ze_device_handle_t> parts_of(ze_device_handle_t device) {
  std::uint32_t count = 0;
  ok(zeDeviceGetSubDevices(device, &count, nullptr));
  std::vector<ze_device_handle_t> parts(count);
  ok(zeDeviceGetSubDevices(device, &count, parts.data()));
  return parts;
}

std::uint32_t api_version(const World& world) {
  ze_api_version_t version{};
  ok(zeDriverGetApiVersion(world.driver, &version));
  return static_cast<std::uint32_t>(version);
}

ze_result_t create_in_order(const World& world) {
  auto desc = test::desc_of<ze_command_queue_desc_t>(ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC);
  desc.ordinal = 2;
  desc.flags = test::in_order;
  ze_command_list_handle_t made = nullptr;
  return zeCommandListCreateImmediate(world.context, world.devices[0], &desc, &made);
}

}  // namespace

TEST_CASE("without an environment there are two devices in a driver of the newest version") {
  const World world;
  CHECK(api_version(world) == ZE_MAKE_VERSION(1, 9));
  REQUIRE(world.devices.size() == 2);
  for (const auto device : world.devices) CHECK(parts_of(device).empty());
  CHECK(std::memcmp(properties_of(world.devices[0]).uuid.id, properties_of(world.devices[1]).uuid.id, 16) != 0);
  CHECK(properties_of(world.devices[0]).type == ZE_DEVICE_TYPE_GPU);
  CHECK(create_in_order(world) == ZE_RESULT_SUCCESS);
}

TEST_CASE("an older driver's lists have no order") {
  test::set_env("LEVELZERO_DOUBLE_API", "1.8");
  const World world;
  CHECK(api_version(world) == ZE_MAKE_VERSION(1, 8));
  CHECK(create_in_order(world) == ZE_RESULT_ERROR_INVALID_ENUMERATION);
  CHECK(world.list() != nullptr);
}

TEST_CASE("devices and their parts and memory are those of the environment") {
  test::set_env("LEVELZERO_DOUBLE_DEVICES", "3");
  test::set_env("LEVELZERO_DOUBLE_SUBDEVICES", "2");
  test::set_env("LEVELZERO_DOUBLE_MEMORY", "5M");
  const World world;
  REQUIRE(world.devices.size() == 3);
  const auto parts = parts_of(world.devices[1]);
  REQUIRE(parts.size() == 2);
  const auto part = properties_of(parts[1]);
  CHECK(part.flags == ZE_DEVICE_PROPERTY_FLAG_SUBDEVICE);
  CHECK(part.subdeviceId == 1);
  CHECK(properties_of(world.devices[1]).flags == 0);
  CHECK(parts_of(parts[0]).empty());
  CHECK(parts_of(world.devices[1]) == parts);
  auto memory = test::desc_of<ze_device_memory_properties_t>(ZE_STRUCTURE_TYPE_DEVICE_MEMORY_PROPERTIES);
  std::uint32_t count = 1;
  ok(zeDeviceGetMemoryProperties(world.devices[0], &count, &memory));
  CHECK(memory.totalSize == 5 << 20);
  auto pci = test::desc_of<ze_pci_ext_properties_t>(ZE_STRUCTURE_TYPE_PCI_EXT_PROPERTIES);
  ok(zeDevicePciGetPropertiesExt(world.devices[1], &pci));
  const auto bus = pci.address.bus;
  ok(zeDevicePciGetPropertiesExt(parts[0], &pci));
  CHECK(pci.address.bus == bus);
  ok(zeDevicePciGetPropertiesExt(world.devices[2], &pci));
  CHECK(pci.address.bus != bus);
}

TEST_CASE("a driver may have no device") {
  test::set_env("LEVELZERO_DOUBLE_DEVICES", "0");
  const World world;
  CHECK(world.devices.empty());
}

TEST_CASE("a timer is said in nanoseconds or in ticks") {
  test::set_env("LEVELZERO_DOUBLE_TICKS", "12500000");
  test::set_env("LEVELZERO_DOUBLE_TIMESTAMP_BITS", "32");
  const World world;
  CHECK(properties_of(world.devices[0]).timerResolution == 80);
  const auto in_ticks = properties_of(world.devices[0], ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES_1_2);
  CHECK(in_ticks.timerResolution == 12'500'000);
  CHECK(in_ticks.timestampValidBits == 32);
}

TEST_CASE("a group without queues takes no list") {
  test::set_env("LEVELZERO_DOUBLE_QUEUES", "0");
  const World world;
  std::uint32_t count = 0;
  ok(zeDeviceGetCommandQueueGroupProperties(world.devices[0], &count, nullptr));
  std::vector<ze_command_queue_group_properties_t> groups(
      count, test::desc_of<ze_command_queue_group_properties_t>(ZE_STRUCTURE_TYPE_COMMAND_QUEUE_GROUP_PROPERTIES));
  ok(zeDeviceGetCommandQueueGroupProperties(world.devices[0], &count, groups.data()));
  for (const auto& group : groups) {
    const bool computes = (group.flags & ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE) != 0;
    CHECK((!computes || group.numQueues == 0));
  }
  auto desc = test::desc_of<ze_command_queue_desc_t>(ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC);
  desc.ordinal = 2;
  ze_command_list_handle_t made = nullptr;
  CHECK(zeCommandListCreateImmediate(world.context, world.devices[0], &desc, &made) ==
        ZE_RESULT_ERROR_INVALID_ARGUMENT);
}

TEST_CASE("what gives lists gives no more than was asked for and says how many there are") {
  test::set_env("LEVELZERO_DOUBLE_DEVICES", "3");
  const World world;
  ze_device_handle_t devices[4] = {};
  std::uint32_t count = 2;
  ok(zeDeviceGet(world.driver, &count, devices));
  CHECK(count == 2);
  CHECK((devices[1] == world.devices[1] && devices[2] == nullptr));
  count = 4;
  ok(zeDeviceGet(world.driver, &count, devices));
  CHECK(count == 3);
  CHECK((devices[2] == world.devices[2] && devices[3] == nullptr));
  // A count of 0 asks for the count, and the array has no room.
  ze_device_handle_t none = nullptr;
  count = 0;
  ok(zeDeviceGet(world.driver, &count, &none));
  CHECK((count == 3 && none == nullptr));
  ze_driver_handle_t driver = nullptr;
  count = 0;
  ok(zeDriverGet(&count, &driver));
  CHECK((count == 1 && driver == nullptr));
  ze_command_queue_group_properties_t group{};
  count = 0;
  ok(zeDeviceGetCommandQueueGroupProperties(world.devices[0], &count, &group));
  CHECK((count == 3 && group.numQueues == 0));
  ze_device_memory_properties_t memory{};
  count = 0;
  ok(zeDeviceGetMemoryProperties(world.devices[0], &count, &memory));
  CHECK((count == 1 && memory.totalSize == 0));
  CHECK(zeDeviceGet(world.driver, nullptr, devices) == ZE_RESULT_ERROR_INVALID_NULL_POINTER);
  CHECK(zeDeviceGetMemoryProperties(world.devices[0], nullptr, nullptr) == ZE_RESULT_ERROR_INVALID_NULL_POINTER);
}

TEST_CASE("an initialisation that is to fail does so with its code each time") {
  test::set_env("LEVELZERO_DOUBLE_INIT", "2013265921");
  CHECK(zeInit(0) == ZE_RESULT_ERROR_UNINITIALIZED);
  CHECK(zeInit(0) == ZE_RESULT_ERROR_UNINITIALIZED);
  std::uint32_t count = 0;
  CHECK(zeDriverGet(&count, nullptr) == ZE_RESULT_ERROR_UNINITIALIZED);
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
    const test::ChildResult ended = with(name, value);
    CHECK(ended.signal == SIGABRT);
    CHECK_THAT(ended.output, Contains(name));
  }
  CHECK(with("LEVELZERO_DOUBLE_MEMORY", "64M").status == 0);
}

TEST_CASE("misuse is said at once where that is asked for") {
  const test::ChildResult ended = test::in_child([] {
    test::set_env("LEVELZERO_DOUBLE_LOG", "1");
    const World world;
    int own = 0;
    zeMemFree(world.context, &own);
    return 0;
  });
  CHECK_THAT(ended.output, Contains("isn't one that was allocated"));
}

TEST_CASE("a report of calls and what is alive and misuse is written when the process ends") {
  const test::TempDir folder;
  const std::string path = (folder / "report").string();
  const test::ChildResult ended = test::in_child([&] {
    test::set_env("LEVELZERO_DOUBLE_REPORT", path);
    const World world;
    int own = 0;
    zeMemFree(world.context, &own);
    world.words({1, 2, 3});
    return 0;
  });
  REQUIRE(ended.status == 0);
  std::ifstream file(path);
  const std::string report{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  CHECK_THAT(report, Contains("call zeInit 1\n") && Contains("failures 0\n") && Contains("live memory 1 12 bytes\n") &&
                         Contains("live context 1") && Contains("misuse an address was freed"));
}

TEST_CASE("entries can be made slow") {
  test::set_env("LEVELZERO_DOUBLE_SLOW", "zeDriverGetApiVersion:zeDeviceGet");
  test::set_env("LEVELZERO_DOUBLE_SLOW_MS", "30");
  const World world;
  const auto start = std::chrono::steady_clock::now();
  CHECK(api_version(world) != 0);
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
  const test::ChildResult quiet = child(false, false);
  CHECK(quiet.status == 0);
  CHECK(quiet.output == "");
  for (const test::ChildResult& loud : {child(true, false), child(false, true)}) {
    CHECK(loud.signal == SIGABRT);
    CHECK_THAT(loud.output, Contains("when the driver had ended"));
  }
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
