// SPDX-License-Identifier: Apache-2.0
//
// Memory: what can be had and what is said of it; what commands may be given of it; copies and fills.
#include <cstring>
#include <numeric>

#include "support/environment.h"
#include "test_support.h"

namespace memory_test {

using Catch::Contains;
using test::ok;
using test::World;

namespace {

auto device_desc() { return test::desc_of<ze_device_mem_alloc_desc_t>(ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC); }
auto host_desc() { return test::desc_of<ze_host_mem_alloc_desc_t>(ZE_STRUCTURE_TYPE_HOST_MEM_ALLOC_DESC); }

enum class Kind { device, host, shared };

ze_result_t allocate(const World& world, Kind kind, std::size_t bytes, std::size_t alignment, void** made) {
  const auto device = device_desc();
  const auto host = host_desc();
  const auto of = world.devices[0];
  if (kind == Kind::device) return zeMemAllocDevice(world.context, &device, bytes, alignment, of, made);
  if (kind == Kind::host) return zeMemAllocHost(world.context, &host, bytes, alignment, made);
  return zeMemAllocShared(world.context, &device, &host, bytes, alignment, of, made);
}

std::uint32_t* allocate_words(const World& world, Kind kind, std::size_t count) {
  void* made = nullptr;
  ok(allocate(world, kind, 4 * count, 0, &made));
  return static_cast<std::uint32_t*>(made);
}

struct Properties {
  ze_memory_type_t type = ZE_MEMORY_TYPE_FORCE_UINT32;
  std::uint64_t id = 0;
  ze_device_handle_t device = nullptr;
};

Properties properties_of(const World& world, const void* address, ze_context_handle_t context = nullptr) {
  auto with = test::desc_of<ze_memory_allocation_properties_t>(ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES);
  ze_device_handle_t device = nullptr;
  ok(zeMemGetAllocProperties(context == nullptr ? world.context : context, address, &with, &device));
  return {with.type, with.id, device};
}

}  // namespace

TEST_CASE("memory is aligned as asked for and of a size and flags that can be") {
  const World world;
  const Kind kind = GENERATE(Kind::device, Kind::host, Kind::shared);
  for (std::size_t alignment = 1; alignment <= 4096; alignment *= 2) {
    void* made = nullptr;
    ok(allocate(world, kind, 3, alignment, &made));
    CHECK(reinterpret_cast<std::uintptr_t>(made) % alignment == 0);
  }
  void* made = nullptr;
  CHECK(allocate(world, kind, 0, 0, &made) == ZE_RESULT_ERROR_UNSUPPORTED_SIZE);
  CHECK(allocate(world, kind, 16, 3, &made) == ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT);
  CHECK(allocate(world, kind, 16, 0, nullptr) == ZE_RESULT_ERROR_INVALID_NULL_POINTER);
  CHECK(made == nullptr);
}

TEST_CASE("memory is refused with flags and ordinals that aren't there") {
  const World world;
  auto device = device_desc();
  auto host = host_desc();
  void* made = nullptr;
  device.ordinal = 1;
  CHECK(zeMemAllocDevice(world.context, &device, 16, 0, world.devices[0], &made) == ZE_RESULT_ERROR_INVALID_ARGUMENT);
  device = device_desc();
  device.flags = 8;
  host.flags = 0x10;
  CHECK(zeMemAllocDevice(world.context, &device, 16, 0, world.devices[0], &made) ==
        ZE_RESULT_ERROR_INVALID_ENUMERATION);
  CHECK(zeMemAllocHost(world.context, &host, 16, 0, &made) == ZE_RESULT_ERROR_INVALID_ENUMERATION);
  const auto good_host = host_desc();
  const auto good_device = device_desc();
  CHECK(zeMemAllocShared(world.context, &device, &good_host, 16, 0, world.devices[0], &made) ==
        ZE_RESULT_ERROR_INVALID_ENUMERATION);
  CHECK(zeMemAllocShared(world.context, &good_device, &host, 16, 0, world.devices[0], &made) ==
        ZE_RESULT_ERROR_INVALID_ENUMERATION);
  CHECK(made == nullptr);
}

TEST_CASE("memory is used up and is there again when it was given back") {
  test::set_env("LEVELZERO_DOUBLE_MEMORY", "1M");
  test::set_env("LEVELZERO_DOUBLE_HOST_MEMORY", "2M");
  const World world;
  const Kind kind = GENERATE(Kind::device, Kind::host, Kind::shared);
  const std::size_t all = kind == Kind::device ? 1U << 20U : 2U << 20U;
  const auto used_up = kind == Kind::device ? ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY : ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
  void* made = nullptr;
  void* more = nullptr;
  ok(allocate(world, kind, all, 0, &made));
  CHECK(allocate(world, kind, 1, 0, &more) == used_up);
  CHECK(more == nullptr);
  ok(zeMemFree(world.context, made));
  CHECK(allocate(world, kind, all + 1, 0, &made) == used_up);
  ok(allocate(world, kind, all, 0, &made));
  ok(zeMemFree(world.context, made));
  CHECK(world.control.live("memory") + world.control.live("host") == 0);
}

TEST_CASE("a block bigger than the device says that blocks may be needs the extension") {
  test::set_env("LEVELZERO_DOUBLE_LARGEST", "64K");
  const World world;
  auto with = test::desc_of<ze_device_properties_t>(ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES);
  ok(zeDeviceGetProperties(world.devices[0], &with));
  CHECK(with.maxMemAllocSize == 64 * 1024);
  auto desc = device_desc();
  void* made = nullptr;
  ok(zeMemAllocDevice(world.context, &desc, 64 * 1024, 0, world.devices[0], &made));
  CHECK(zeMemAllocDevice(world.context, &desc, 64 * 1024 + 1, 0, world.devices[0], &made) ==
        ZE_RESULT_ERROR_UNSUPPORTED_SIZE);
  auto relaxed =
      test::desc_of<ze_relaxed_allocation_limits_exp_desc_t>(ZE_STRUCTURE_TYPE_RELAXED_ALLOCATION_LIMITS_EXP_DESC);
  desc.pNext = &relaxed;
  CHECK(zeMemAllocDevice(world.context, &desc, 64 * 1024 + 1, 0, world.devices[0], &made) ==
        ZE_RESULT_ERROR_UNSUPPORTED_SIZE);
  relaxed.flags = ZE_RELAXED_ALLOCATION_LIMITS_EXP_FLAG_MAX_SIZE;
  ok(zeMemAllocDevice(world.context, &desc, 64 * 1024 + 1, 0, world.devices[0], &made));
}

TEST_CASE("a device without shared memory says so and gives none") {
  test::set_env("LEVELZERO_DOUBLE_MANAGED", "0");
  const World world;
  auto with = test::desc_of<ze_device_memory_access_properties_t>(ZE_STRUCTURE_TYPE_DEVICE_MEMORY_ACCESS_PROPERTIES);
  ok(zeDeviceGetMemoryAccessProperties(world.devices[0], &with));
  CHECK(with.sharedSingleDeviceAllocCapabilities == 0);
  CHECK((with.deviceAllocCapabilities & ZE_MEMORY_ACCESS_CAP_FLAG_RW) != 0);
  void* made = nullptr;
  CHECK(allocate(world, Kind::shared, 16, 0, &made) == ZE_RESULT_ERROR_UNSUPPORTED_FEATURE);
}

TEST_CASE("what is said of an address") {
  const World world;
  std::uint32_t* const device = allocate_words(world, Kind::device, 4);
  std::uint32_t* const host = allocate_words(world, Kind::host, 4);
  std::uint32_t* const shared = allocate_words(world, Kind::shared, 4);
  const Properties first = properties_of(world, device);
  CHECK(first.type == ZE_MEMORY_TYPE_DEVICE);
  CHECK(first.device == world.devices[0]);
  CHECK(properties_of(world, device + 3).id == first.id);
  CHECK(properties_of(world, host).type == ZE_MEMORY_TYPE_HOST);
  CHECK(properties_of(world, host).device == nullptr);
  CHECK(properties_of(world, shared).type == ZE_MEMORY_TYPE_SHARED);
  CHECK(properties_of(world, shared).device == world.devices[0]);
  CHECK(properties_of(world, shared).id != first.id);
  const int own = 0;
  CHECK(properties_of(world, &own).type == ZE_MEMORY_TYPE_UNKNOWN);
  CHECK(properties_of(world, device, world.another_context()).type == ZE_MEMORY_TYPE_UNKNOWN);
  ok(zeMemFree(world.context, device));
  CHECK(properties_of(world, device).type == ZE_MEMORY_TYPE_UNKNOWN);
  CHECK(world.control.misuses() == 0);
}

TEST_CASE("shared memory may be of no device") {
  const World world;
  const auto device = device_desc();
  const auto host = host_desc();
  void* made = nullptr;
  ok(zeMemAllocShared(world.context, &device, &host, 4, 0, nullptr, &made));
  CHECK(properties_of(world, made).type == ZE_MEMORY_TYPE_SHARED);
  CHECK(properties_of(world, made).device == nullptr);
  const auto list = world.list(0, 1);
  ok(test::fill(list, static_cast<std::uint32_t*>(made), 7));
  test::finish(world, list);
  CHECK(*static_cast<std::uint32_t*>(made) == 7);
}

TEST_CASE("only what was allocated is freed, once, and on its context") {
  const World world;
  std::uint32_t* const words = allocate_words(world, GENERATE(Kind::device, Kind::host, Kind::shared), 4);
  world.control.reset();
  int own = 0;
  CHECK(zeMemFree(world.context, nullptr) == ZE_RESULT_ERROR_INVALID_NULL_POINTER);
  CHECK(zeMemFree(world.context, &own) == ZE_RESULT_ERROR_INVALID_ARGUMENT);
  CHECK(zeMemFree(world.context, words + 1) == ZE_RESULT_ERROR_INVALID_ARGUMENT);
  CHECK(zeMemFree(world.another_context(), words) == ZE_RESULT_ERROR_INVALID_ARGUMENT);
  CHECK(world.control.misuses() == 3);
  ok(zeMemFree(world.context, words));
  CHECK(zeMemFree(world.context, words) == ZE_RESULT_ERROR_INVALID_ARGUMENT);
  CHECK(world.control.misuses() == 4);
}

TEST_CASE("copies and fills reach all kinds of memory") {
  const World world;
  const auto list = world.list(test::in_order);
  std::uint32_t* const device = allocate_words(world, Kind::device, 100);
  std::uint32_t* const host = allocate_words(world, Kind::host, 100);
  std::uint32_t* const shared = allocate_words(world, Kind::shared, 100);
  std::iota(host, host + 100, 0U);
  ok(test::copy(list, device, host, 100));
  ok(test::copy(list, shared, device, 100));
  ok(test::fill(list, device, 9, 100));
  ok(test::copy(list, host, device, 50));
  test::finish(world, list);
  for (std::uint32_t i = 0; i < 100; ++i) {
    REQUIRE(shared[i] == i);
    REQUIRE(host[i] == (i < 50 ? 9 : i));
  }
  CHECK(world.control.misuses() == 0);
}

TEST_CASE("a copy of what isn't Level Zero's, or isn't there, or overlaps is refused") {
  const World world;
  const auto list = world.list();
  std::uint32_t* const words = allocate_words(world, Kind::device, 8);
  std::uint32_t* const other = allocate_words(world, Kind::device, 8);
  std::uint32_t own[8] = {};
  const auto refused = [&](std::uint32_t* to, const std::uint32_t* from, std::size_t count, const char* why) {
    world.control.reset();
    INFO(why);
    const ze_result_t result = test::copy(list, to, from, count);
    CHECK(world.control.misuses() == 1);
    CHECK_THAT(world.control.misuse_text(), Contains(why));
    return result;
  };
  CHECK(refused(words, own, 8, "isn't Level Zero's") == ZE_RESULT_ERROR_INVALID_ARGUMENT);
  CHECK(refused(own, words, 8, "isn't Level Zero's") == ZE_RESULT_ERROR_INVALID_ARGUMENT);
  CHECK(refused(words, other, 9, "behind the end") == ZE_RESULT_ERROR_INVALID_ARGUMENT);
  CHECK(refused(words, other + 4, 5, "behind the end") == ZE_RESULT_ERROR_INVALID_ARGUMENT);
  CHECK(refused(words, words + 7, 8, "behind the end") == ZE_RESULT_ERROR_INVALID_ARGUMENT);
  CHECK(refused(words, words + 3, 4, "overlap") == ZE_RESULT_ERROR_OVERLAPPING_REGIONS);
  CHECK(refused(words, words, 1, "overlap") == ZE_RESULT_ERROR_OVERLAPPING_REGIONS);
  CHECK(refused(words, other, 0, "no bytes") == ZE_RESULT_ERROR_INVALID_SIZE);
  world.control.reset();
  CHECK(test::copy(list, words, nullptr) == ZE_RESULT_ERROR_INVALID_NULL_POINTER);
  CHECK(test::copy(list, nullptr, words) == ZE_RESULT_ERROR_INVALID_NULL_POINTER);
  ok(test::copy(list, words, words + 4, 4));  // adjoins
  CHECK(world.control.misuses() == 0);
  ok(zeMemFree(world.context, other));
  CHECK(refused(words, other, 1, "freed") == ZE_RESULT_ERROR_INVALID_ARGUMENT);
}

TEST_CASE("memory is of its context") {
  const World world;
  const auto context = world.another_context();
  const auto desc = device_desc();
  void* made = nullptr;
  ok(zeMemAllocDevice(context, &desc, 16, 0, world.devices[0], &made));
  auto* const foreign = static_cast<std::uint32_t*>(made);
  const auto list = world.list();
  CHECK(test::fill(list, foreign, 1) == ZE_RESULT_ERROR_INVALID_ARGUMENT);
  CHECK(test::copy(list, world.words({1}), foreign) == ZE_RESULT_ERROR_INVALID_ARGUMENT);
  const auto kernel = world.kernel("count");
  ok(test::set_argument(kernel, 0, foreign));
  ok(test::set_argument(kernel, 1, 1U));
  CHECK(test::launch(list, kernel) == ZE_RESULT_ERROR_INVALID_ARGUMENT);
  CHECK(world.control.misuses() == 3);
}

TEST_CASE("memory of another device is reached by a peer alone") {
  test::set_env("LEVELZERO_DOUBLE_PEERS", "0");
  test::set_env("LEVELZERO_DOUBLE_SUBDEVICES", "2");
  World world;
  ze_bool_t can = 1;
  ok(zeDeviceCanAccessPeer(world.devices[0], world.devices[1], &can));
  CHECK(can == 0);
  ok(zeDeviceCanAccessPeer(world.devices[0], world.devices[0], &can));
  CHECK(can == 1);
  ze_device_handle_t parts[2] = {};
  std::uint32_t count = 2;
  ok(zeDeviceGetSubDevices(world.devices[0], &count, parts));
  ok(zeDeviceCanAccessPeer(parts[0], parts[1], &can));
  CHECK(can == 1);  // of one parent
  ok(zeDeviceCanAccessPeer(parts[0], world.devices[1], &can));
  CHECK(can == 0);
  std::uint32_t* const word = world.words({1});
  CHECK(test::fill(world.list(0, 1), word, 2) == ZE_RESULT_ERROR_INVALID_ARGUMENT);
  CHECK(world.control.misuses() == 1);
  world.devices.push_back(parts[0]);
  ok(test::fill(world.list(0, 2), word, 2));  // a part of its device
  CHECK(world.control.misuses() == 1);
}

TEST_CASE("a region is copied row by row") {
  const World world;
  const auto list = world.list();
  std::uint32_t* const from = allocate_words(world, Kind::device, 5 * 4);
  std::uint32_t* const to = allocate_words(world, Kind::device, 4 * 3);
  std::iota(from, from + 20, 0U);
  std::fill(to, to + 12, 99U);
  const ze_copy_region_t source{4, 1, 0, 8, 2, 1};       // from column 1 of row 1: 2 columns, 2 rows
  const ze_copy_region_t destination{8, 0, 0, 8, 2, 1};  // to column 2 of row 0
  ok(zeCommandListAppendMemoryCopyRegion(list, to, &destination, 16, 0, from, &source, 20, 0, nullptr, 0, nullptr));
  test::finish(world, list);
  CHECK(std::vector<std::uint32_t>(to, to + 12) ==
        std::vector<std::uint32_t>{99, 99, 6, 7, 99, 99, 11, 12, 99, 99, 99, 99});
}

TEST_CASE("a region that isn't whole or isn't there or overlaps is refused") {
  const World world;
  const auto list = world.list();
  std::uint32_t* const words = allocate_words(world, Kind::device, 16);  // 4 rows of 4
  std::uint32_t* const other = allocate_words(world, Kind::device, 16);
  const auto append = [&](std::uint32_t* to, ze_copy_region_t to_region, std::uint32_t* from,
                          ze_copy_region_t from_region, std::uint32_t pitch = 16) {
    return zeCommandListAppendMemoryCopyRegion(list, to, &to_region, pitch, 0, from, &from_region, pitch, 0, nullptr, 0,
                                               nullptr);
  };
  const ze_copy_region_t whole{0, 0, 0, 16, 4, 1};
  ok(append(words, whole, other, whole));
  // The left half and the right half of the same rows share no byte.
  ok(append(words, {0, 0, 0, 8, 4, 1}, words, {8, 0, 0, 8, 4, 1}));
  CHECK(world.control.misuses() == 0);
  CHECK(append(words, {0, 0, 0, 8, 4, 1}, words, {4, 0, 0, 8, 4, 1}) == ZE_RESULT_ERROR_OVERLAPPING_REGIONS);
  CHECK(append(words, {0, 0, 0, 16, 3, 1}, words, {0, 1, 0, 16, 3, 1}) == ZE_RESULT_ERROR_OVERLAPPING_REGIONS);
  CHECK(append(words, {0, 1, 0, 16, 3, 1}, words, {0, 0, 0, 16, 3, 1}) == ZE_RESULT_ERROR_OVERLAPPING_REGIONS);
  CHECK(append(words, whole, other, {0, 1, 0, 16, 4, 1}) == ZE_RESULT_ERROR_INVALID_ARGUMENT);  // behind the end
  CHECK(append(words, whole, other, {0, 0, 0, 16, 3, 1}) == ZE_RESULT_ERROR_INVALID_ARGUMENT);  // of another size
  CHECK(append(words, whole, other, whole, 15) == ZE_RESULT_ERROR_INVALID_ARGUMENT);            // pitch
  CHECK(append(words, {0, 0, 0, 0, 4, 1}, other, {0, 0, 0, 0, 4, 1}) == ZE_RESULT_ERROR_INVALID_ARGUMENT);
  CHECK(world.control.misuses() == 7);
  CHECK(append(nullptr, {4, 0, 0, 4, 1, 1}, other, {4, 0, 0, 4, 1, 1}) == ZE_RESULT_ERROR_INVALID_NULL_POINTER);
  CHECK(append(words, {4, 0, 0, 4, 1, 1}, nullptr, {4, 0, 0, 4, 1, 1}) == ZE_RESULT_ERROR_INVALID_NULL_POINTER);
  CHECK(append(words, {0, 0, 0, 4, 1, 2}, other, {0, 0, 0, 4, 1, 2}) == ZE_RESULT_ERROR_UNSUPPORTED_FEATURE);
}

TEST_CASE("a fill repeats its pattern, which is read when it is appended") {
  const World world;
  const auto list = world.list();
  std::uint32_t* const words = allocate_words(world, Kind::device, 8);
  std::uint32_t pattern[4] = {1, 2, 3, 4};
  REQUIRE(world.control.hold(0, true));
  ok(zeCommandListAppendMemoryFill(list, words, pattern, 16, 32, nullptr, 0, nullptr));
  std::memset(pattern, 0, sizeof(pattern));
  REQUIRE(world.control.hold(0, false));
  test::finish(world, list);
  CHECK(std::vector<std::uint32_t>(words, words + 8) == std::vector<std::uint32_t>{1, 2, 3, 4, 1, 2, 3, 4});
}

TEST_CASE("a pattern is a power of two and no longer than the queue group says") {
  test::set_env("LEVELZERO_DOUBLE_FILL_PATTERN", "8");
  const World world;
  std::uint32_t count = 3;
  std::vector<ze_command_queue_group_properties_t> groups(
      count, test::desc_of<ze_command_queue_group_properties_t>(ZE_STRUCTURE_TYPE_COMMAND_QUEUE_GROUP_PROPERTIES));
  ok(zeDeviceGetCommandQueueGroupProperties(world.devices[0], &count, groups.data()));
  CHECK(groups[2].maxMemoryFillPatternSize == 8);
  const auto list = world.list();
  std::uint32_t* const words = allocate_words(world, Kind::device, 16);
  const unsigned char pattern[32] = {};
  const auto append = [&](std::size_t pattern_bytes, std::size_t bytes) {
    return zeCommandListAppendMemoryFill(list, words, pattern, pattern_bytes, bytes, nullptr, 0, nullptr);
  };
  for (const std::size_t good : {1, 2, 4, 8}) ok(append(good, 64));
  CHECK(world.control.misuses() == 0);
  for (const std::size_t bad : {0, 3, 6, 16, 32}) CHECK(append(bad, 64) == ZE_RESULT_ERROR_INVALID_SIZE);
  CHECK(append(4, 0) == ZE_RESULT_ERROR_INVALID_SIZE);
  CHECK(append(4, 6) == ZE_RESULT_ERROR_INVALID_SIZE);
  CHECK(append(4, 68) == ZE_RESULT_ERROR_INVALID_ARGUMENT);  // behind the end
  CHECK(world.control.misuses() == 8);
  CHECK(zeCommandListAppendMemoryFill(list, words, nullptr, 4, 4, nullptr, 0, nullptr) ==
        ZE_RESULT_ERROR_INVALID_NULL_POINTER);
}

TEST_CASE("a timestamp is written to whole aligned words") {
  const World world;
  const auto list = world.list();
  std::uint32_t* const words = allocate_words(world, Kind::device, 3);
  const auto append = [&](std::uint32_t* to) {
    return zeCommandListAppendWriteGlobalTimestamp(list, reinterpret_cast<std::uint64_t*>(to), nullptr, 0, nullptr);
  };
  ok(append(words));
  CHECK(append(words + 1) == ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT);
  CHECK(append(words + 2) == ZE_RESULT_ERROR_INVALID_ARGUMENT);  // behind the end
  CHECK(world.control.misuses() == 2);
}

namespace {

/// The command's memory is freed before it runs.
template <class Append>
void free_ahead_of(const World& world, const Append& append) {
  std::uint32_t* const word = world.words({1});
  const auto gate = world.event();
  const auto done = world.event();
  ok(append(word, done, gate));
  ok(zeMemFree(world.context, word));
  CHECK(world.control.misuses() == 0);  // nothing runs on it yet
  ok(zeEventHostSignal(gate));
  CHECK(test::wait(done) == ZE_RESULT_ERROR_DEVICE_LOST);
  CHECK(world.control.misuses() == 1);
  CHECK_THAT(world.control.misuse_text(), Contains("ran on memory that was freed"));
  CHECK(zeDeviceGetStatus(world.devices[0]) == ZE_RESULT_ERROR_DEVICE_LOST);
}

}  // namespace

TEST_CASE("a fill of memory that was freed before it ran loses the device") {
  const World world;
  const auto list = world.list();
  free_ahead_of(world, [&](std::uint32_t* word, ze_event_handle_t done, ze_event_handle_t gate) {
    return test::fill(list, word, 2, 1, done, {gate});
  });
}

TEST_CASE("a kernel on memory that was freed before it ran loses the device") {
  const World world;
  const auto list = world.list();
  free_ahead_of(world, [&](std::uint32_t* word, ze_event_handle_t done, ze_event_handle_t gate) {
    const auto kernel = world.kernel("count");
    ok(test::set_argument(kernel, 0, word));
    ok(test::set_argument(kernel, 1, 1U));
    return test::launch(list, kernel, done, {gate});
  });
}

}  // namespace memory_test
