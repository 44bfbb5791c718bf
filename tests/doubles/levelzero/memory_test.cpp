// SPDX-License-Identifier: Apache-2.0
//
// Memory: what can be had; what copies, fills and timestamps may be given of it; handles for other processes.
#include <fcntl.h>

#include <cstring>

#include "test_support.h"

namespace memory_test {

using Catch::Contains;
using test::each_gives;
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

}  // namespace

TEST_CASE("memory is refused with a size, an alignment, flags and an ordinal that can't be") {
  const World world;
  void* made = nullptr;
  for (const Kind kind : {Kind::device, Kind::host, Kind::shared}) {
    CHECK(allocate(world, kind, 0, 0, &made) == ZE_RESULT_ERROR_UNSUPPORTED_SIZE);
    CHECK(allocate(world, kind, 16, 3, &made) == ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT);
    CHECK(allocate(world, kind, 16, 0, nullptr) == ZE_RESULT_ERROR_INVALID_NULL_POINTER);
  }
  auto ordinal = device_desc(), device = device_desc();
  auto host = host_desc();
  const auto good_host = host_desc();
  const auto good_device = device_desc();
  ordinal.ordinal = 1;
  device.flags = 8;
  host.flags = 0x10;
  const auto context = world.context;
  const auto of = world.devices[0];
  CHECK(zeMemAllocDevice(context, &ordinal, 16, 0, of, &made) == ZE_RESULT_ERROR_INVALID_ARGUMENT);
  each_gives(ZE_RESULT_ERROR_INVALID_ENUMERATION,
             {zeMemAllocDevice(context, &device, 16, 0, of, &made), zeMemAllocHost(context, &host, 16, 0, &made),
              zeMemAllocShared(context, &device, &good_host, 16, 0, of, &made),
              zeMemAllocShared(context, &good_device, &host, 16, 0, of, &made)});
  CHECK(made == nullptr);
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
  relaxed.flags = ZE_RELAXED_ALLOCATION_LIMITS_EXP_FLAG_MAX_SIZE;
  ok(zeMemAllocDevice(world.context, &desc, 64 * 1024 + 1, 0, world.devices[0], &made));
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

TEST_CASE("a copy of what isn't Level Zero's, or isn't there, or overlaps is refused and noted") {
  const World world;
  const auto list = world.list();
  std::uint32_t* const words = allocate_words(world, Kind::device, 8);
  std::uint32_t* const other = allocate_words(world, Kind::device, 8);
  std::uint32_t own[8] = {};
  each_gives(ZE_RESULT_ERROR_INVALID_NULL_POINTER,
             {test::copy(list, words, nullptr), test::copy(list, nullptr, words)});
  ok(test::copy(list, words, words + 4, 4));  // adjoins
  CHECK(world.control.misuses() == 0);
  each_gives(ZE_RESULT_ERROR_INVALID_ARGUMENT,
             {test::copy(list, words, own, 8), test::copy(list, own, words, 8), test::copy(list, words, other, 9),
              test::copy(list, words, other + 4, 5), test::copy(list, words, words + 7, 8)});
  each_gives(ZE_RESULT_ERROR_OVERLAPPING_REGIONS,
             {test::copy(list, words, words + 3, 4), test::copy(list, words, words, 1)});
  CHECK(test::copy(list, words, other, 0) == ZE_RESULT_ERROR_INVALID_SIZE);
  test::finish(world, list);
  ok(zeMemFree(world.context, other));
  CHECK(test::copy(list, words, other, 1) == ZE_RESULT_ERROR_INVALID_ARGUMENT);
  CHECK(world.control.misuses() == 9);
  for (const char* why : {"isn't Level Zero's", "behind the end", "overlap", "no bytes", "freed"})
    CHECK_THAT(world.control.misuse_text(), Contains(why));
}

TEST_CASE("an address says whose memory it is and of what kind, on its context") {
  const World world;
  const auto type_of = [&](const void* address, ze_context_handle_t context) {
    auto with = test::desc_of<ze_memory_allocation_properties_t>(ZE_STRUCTURE_TYPE_MEMORY_ALLOCATION_PROPERTIES);
    ze_device_handle_t device = nullptr;
    ok(zeMemGetAllocProperties(context, address, &with, &device));
    const bool of_device = with.type == ZE_MEMORY_TYPE_DEVICE || with.type == ZE_MEMORY_TYPE_SHARED;
    CHECK(device == (of_device ? world.devices[0] : nullptr));
    return with.type;
  };
  std::uint32_t* const device = allocate_words(world, Kind::device, 4);
  CHECK(type_of(device + 3, world.context) == ZE_MEMORY_TYPE_DEVICE);
  CHECK(type_of(allocate_words(world, Kind::host, 4), world.context) == ZE_MEMORY_TYPE_HOST);
  CHECK(type_of(allocate_words(world, Kind::shared, 4), world.context) == ZE_MEMORY_TYPE_SHARED);
  const int own = 0;
  CHECK(type_of(&own, world.context) == ZE_MEMORY_TYPE_UNKNOWN);
  CHECK(type_of(device, world.another_context()) == ZE_MEMORY_TYPE_UNKNOWN);
  ok(zeMemFree(world.context, device));
  CHECK(type_of(device, world.context) == ZE_MEMORY_TYPE_UNKNOWN);
}

TEST_CASE("memory is of its context") {
  World world;
  const auto list = world.list();
  const auto kernel = world.kernel("count");
  std::uint32_t* const own = world.words({1});
  world.context = world.another_context();
  std::uint32_t* const foreign = world.words({1});
  ok(test::set_argument(kernel, 0, foreign));
  ok(test::set_argument(kernel, 1, 1U));
  each_gives(ZE_RESULT_ERROR_INVALID_ARGUMENT,
             {test::fill(list, foreign, 1), test::copy(list, own, foreign), test::launch(list, kernel)});
  CHECK(world.control.misuses() == 3);
}

TEST_CASE("memory of another device is reached by a peer alone, and by a part of its device") {
  test::set_env("LEVELZERO_DOUBLE_PEERS", "0");
  test::set_env("LEVELZERO_DOUBLE_SUBDEVICES", "1");
  World world;
  ze_device_handle_t part = nullptr;
  std::uint32_t count = 1;
  ok(zeDeviceGetSubDevices(world.devices[0], &count, &part));
  std::uint32_t* const word = world.words({1});
  CHECK(test::fill(world.list(0, 1), word, 2) == ZE_RESULT_ERROR_INVALID_ARGUMENT);
  CHECK(world.control.misuses() == 1);
  world.devices.push_back(part);
  ok(test::fill(world.list(0, 2), word, 2));
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
  const ze_copy_region_t whole{0, 0, 0, 16, 4, 1}, left{0, 0, 0, 8, 4, 1}, upper{0, 0, 0, 16, 3, 1},
      lower{0, 1, 0, 16, 3, 1}, middle{4, 0, 0, 4, 1, 1}, deep{0, 0, 0, 4, 1, 2}, empty{0, 0, 0, 0, 4, 1};
  ok(append(words, left, words, {8, 0, 0, 8, 4, 1}));  // the left and the right half of the same rows share no byte
  each_gives(ZE_RESULT_ERROR_INVALID_NULL_POINTER,
             {append(nullptr, middle, other, middle), append(words, middle, nullptr, middle)});
  CHECK(append(words, deep, other, deep) == ZE_RESULT_ERROR_UNSUPPORTED_FEATURE);
  CHECK(world.control.misuses() == 0);
  each_gives(ZE_RESULT_ERROR_OVERLAPPING_REGIONS,
             {append(words, left, words, {4, 0, 0, 8, 4, 1}), append(words, upper, words, lower),
              append(words, lower, words, upper)});
  each_gives(ZE_RESULT_ERROR_INVALID_ARGUMENT,
             {append(words, whole, other, {0, 1, 0, 16, 4, 1}),  // behind the end
              append(words, whole, other, upper),                // of another size
              append(words, whole, other, whole, 15), append(words, empty, other, empty)});
  CHECK(world.control.misuses() == 7);
}

TEST_CASE("a pattern is a power of two and no longer than the queue group says") {
  test::set_env("LEVELZERO_DOUBLE_FILL_PATTERN", "8");
  const World world;
  const auto list = world.list();
  std::uint32_t* const words = allocate_words(world, Kind::device, 16);
  const unsigned char pattern[32] = {};
  const auto append = [&](std::size_t pattern_bytes, std::size_t bytes) {
    return zeCommandListAppendMemoryFill(list, words, pattern, pattern_bytes, bytes, nullptr, 0, nullptr);
  };
  for (const std::size_t good : {1, 2, 4, 8}) ok(append(good, 64));
  CHECK(zeCommandListAppendMemoryFill(list, words, nullptr, 4, 4, nullptr, 0, nullptr) ==
        ZE_RESULT_ERROR_INVALID_NULL_POINTER);
  CHECK(world.control.misuses() == 0);
  each_gives(ZE_RESULT_ERROR_INVALID_SIZE,
             {append(0, 64), append(3, 64), append(6, 64), append(16, 64), append(4, 0), append(4, 6)});
  CHECK(append(4, 68) == ZE_RESULT_ERROR_INVALID_ARGUMENT);  // behind the end
  CHECK(world.control.misuses() == 7);
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

void free_ahead_of_command(bool as_kernel) {
  const World world;
  const auto list = world.list();
  std::uint32_t* const word = world.words({1});
  const auto gate = world.event();
  const auto done = world.event();
  if (as_kernel) {
    const auto kernel = world.kernel("count");
    ok(test::set_argument(kernel, 0, word));
    ok(test::set_argument(kernel, 1, 1U));
    ok(test::launch(list, kernel, done, {gate}));
  } else {
    ok(test::fill(list, word, 2, 1, done, {gate}));
  }
  ok(zeMemFree(world.context, word));
  CHECK(world.control.misuses() == 0);  // nothing runs on it yet
  ok(zeEventHostSignal(gate));
  CHECK(test::wait(done) == ZE_RESULT_ERROR_DEVICE_LOST);
  CHECK(world.control.misuses() == 1);
  CHECK_THAT(world.control.misuse_text(), Contains("ran on memory that was freed"));
  CHECK(zeDeviceGetStatus(world.devices[0]) == ZE_RESULT_ERROR_DEVICE_LOST);
}

}  // namespace

TEST_CASE("a fill of memory that was freed before it ran loses the device") { free_ahead_of_command(false); }

TEST_CASE("a kernel on memory that was freed before it ran loses the device") { free_ahead_of_command(true); }

// -- Handles for other processes.

TEST_CASE("a handle is of device memory's beginning, on its context, and opened by others alone") {
  const World world;
  std::uint32_t* const words = world.words({7, 8});
  ze_ipc_mem_handle_t handle{};
  void* opened = nullptr;
  const auto open = [&](ze_ipc_memory_flags_t flags, void** out) {
    return zeMemOpenIpcHandle(world.context, world.devices[0], handle, flags, out);
  };
  ok(zeMemGetIpcHandle(world.context, words, &handle));
  each_gives(ZE_RESULT_ERROR_INVALID_NULL_POINTER,
             {zeMemGetIpcHandle(world.context, nullptr, &handle), zeMemGetIpcHandle(world.context, words, nullptr),
              open(0, nullptr), zeMemCloseIpcHandle(world.context, nullptr)});
  CHECK(open(4, &opened) == ZE_RESULT_ERROR_INVALID_ENUMERATION);
  CHECK(world.control.misuses() == 0);
  CHECK(open(0, &opened) == ZE_RESULT_ERROR_INVALID_ARGUMENT);
  CHECK_THAT(world.control.misuse_text(), Contains("in the process that made it"));
  each_gives(ZE_RESULT_ERROR_INVALID_ARGUMENT,
             {zeMemGetIpcHandle(world.context, words + 1, &handle), zeMemGetIpcHandle(world.context, &handle, &handle),
              zeMemGetIpcHandle(world.another_context(), words, &handle), zeMemCloseIpcHandle(world.context, words)});
  CHECK(world.control.misuses() == 5);
}

TEST_CASE("a handle's descriptor is put back once, and ends with its memory") {
  const World world;
  std::uint32_t* const words = world.words({7});
  ze_ipc_mem_handle_t handle{};
  const auto is_there = [&handle] {
    int number = -1;
    std::memcpy(&number, handle.data, sizeof(number));
    return fcntl(number, F_GETFD) >= 0;
  };
  ok(zeMemGetIpcHandle(world.context, words, &handle));
  CHECK(is_there());
  ok(zeMemPutIpcHandle(world.context, handle));
  CHECK_FALSE(is_there());
  CHECK(zeMemPutIpcHandle(world.context, handle) == ZE_RESULT_ERROR_INVALID_ARGUMENT);
  ok(zeMemGetIpcHandle(world.context, words, &handle));
  CHECK(is_there());
  ok(zeMemFree(world.context, words));
  CHECK_FALSE(is_there());
}

}  // namespace memory_test
