// SPDX-License-Identifier: Apache-2.0
//
// Addresses and memory apart: pages, reservations, physical memory, mappings and their access.
#include "test_support.h"

namespace virtual_memory_test {

using Catch::Contains;
using test::each_gives;
using test::ok;
using test::World;

namespace {

constexpr std::size_t page_bytes = 64 << 10, large_page = 2 << 20;

char* reserve(const World& world, std::size_t bytes, const void* wish = nullptr) {
  void* made = nullptr;
  ok(zeVirtualMemReserve(world.context, wish, bytes, &made));
  return static_cast<char*>(made);
}

ze_physical_mem_handle_t physical(const World& world, std::size_t bytes, std::size_t device = 0) {
  auto desc = test::desc_of<ze_physical_mem_desc_t>(ZE_STRUCTURE_TYPE_PHYSICAL_MEM_DESC);
  desc.size = bytes;
  ze_physical_mem_handle_t made = nullptr;
  ok(zePhysicalMemCreate(world.context, world.devices.at(device), &desc, &made));
  return made;
}

ze_result_t map(const World& world, const void* address, std::size_t bytes, ze_physical_mem_handle_t memory,
                std::size_t offset = 0, ze_memory_access_attribute_t access = ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE) {
  return zeVirtualMemMap(world.context, address, bytes, memory, offset, access);
}

std::uint32_t* words_at(char* address) { return reinterpret_cast<std::uint32_t*>(address); }

}  // namespace

TEST_CASE("addresses are reserved in whole pages and given back whole") {
  const World world;
  void* made = nullptr;
  const auto reserve_bytes = [&](std::size_t bytes) {
    return zeVirtualMemReserve(world.context, nullptr, bytes, &made);
  };
  char* const range = reserve(world, 2 * page_bytes);
  const auto free = [&](const char* address, std::size_t bytes) {
    return zeVirtualMemFree(world.context, address, bytes);
  };
  each_gives(ZE_RESULT_ERROR_UNSUPPORTED_SIZE,
             {reserve_bytes(0), reserve_bytes(page_bytes + 1), reserve_bytes(large_page + page_bytes), free(range, 0),
              free(range, page_bytes + 1)});
  each_gives(ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT,
             {free(range + 1, page_bytes), zeVirtualMemReserve(world.context, range + 1, page_bytes, &made)});
  each_gives(ZE_RESULT_ERROR_INVALID_NULL_POINTER,
             {zeVirtualMemReserve(world.context, nullptr, page_bytes, nullptr), free(nullptr, page_bytes)});
  CHECK(made == nullptr);
  CHECK(world.control.misuses() == 0);
  each_gives(ZE_RESULT_ERROR_INVALID_ARGUMENT, {free(range, page_bytes), free(range + page_bytes, page_bytes),
                                                zeVirtualMemFree(world.another_context(), range, 2 * page_bytes)});
  CHECK(world.control.misuses() == 3);
  ok(free(range, 2 * page_bytes));
  CHECK(free(range, 2 * page_bytes) == ZE_RESULT_ERROR_INVALID_ARGUMENT);
  CHECK(world.control.live("reservation") == 0);
}

TEST_CASE("physical memory is of whole pages and of the device's memory") {
  test::set_env("LEVELZERO_DOUBLE_MEMORY", "4M");
  const World world;
  auto desc = test::desc_of<ze_physical_mem_desc_t>(ZE_STRUCTURE_TYPE_PHYSICAL_MEM_DESC);
  ze_physical_mem_handle_t made = nullptr;
  const auto create = [&](std::size_t bytes) {
    desc.size = bytes;
    return zePhysicalMemCreate(world.context, world.devices[0], &desc, &made);
  };
  CHECK(create(0) == ZE_RESULT_ERROR_UNSUPPORTED_SIZE);
  CHECK(create(page_bytes + 1) == ZE_RESULT_ERROR_UNSUPPORTED_SIZE);
  CHECK(create(large_page + page_bytes) == ZE_RESULT_ERROR_UNSUPPORTED_SIZE);
  CHECK(create(3 * large_page) == ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY);
  desc.flags = 2;
  CHECK(create(page_bytes) == ZE_RESULT_ERROR_INVALID_ENUMERATION);
  desc.flags = 0;
  CHECK(made == nullptr);
  ok(create(2 * large_page));
  ze_physical_mem_handle_t all = made;
  CHECK(create(page_bytes) == ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY);
  ok(zePhysicalMemDestroy(world.context, all));
  ok(create(2 * large_page));
  CHECK(world.control.misuses() == 0);
}

TEST_CASE("mapped memory is written and read through all its addresses") {
  const World world;
  char* const range = reserve(world, 4 * page_bytes);
  const auto memory = physical(world, 2 * page_bytes);
  ok(map(world, range, 2 * page_bytes, memory));
  ok(map(world, range + 2 * page_bytes, page_bytes, memory, page_bytes));  // its second page, again
  const auto list = world.list();
  ok(test::fill(list, words_at(range), 7, 2 * page_bytes / 4));
  test::finish(world, list);
  CHECK(*words_at(range + 2 * page_bytes) == 7);
  ok(test::fill(list, words_at(range + 2 * page_bytes), 8));
  test::finish(world, list);
  CHECK(*words_at(range + page_bytes) == 8);
  CHECK(*words_at(range) == 7);
  CHECK(world.control.live("mapping") == 2);
  CHECK(world.control.misuses() == 0);
}

TEST_CASE("mappings that adjoin are one memory for commands and a gap isn't") {
  const World world;
  char* const range = reserve(world, 3 * page_bytes);
  ok(map(world, range, page_bytes, physical(world, page_bytes)));
  const auto list = world.list();
  each_gives(ZE_RESULT_ERROR_INVALID_ARGUMENT, {test::fill(list, words_at(range), 1, 2 * page_bytes / 4),
                                                test::fill(list, words_at(range + page_bytes), 1)});
  CHECK(world.control.misuses() == 2);
  ok(map(world, range + page_bytes, page_bytes, physical(world, page_bytes)));
  ok(test::fill(list, words_at(range), 1, 2 * page_bytes / 4));
}

TEST_CASE("a mapping is of whole pages that are reserved and free and in its memory") {
  const World world;
  char* const range = reserve(world, 4 * page_bytes);
  const auto memory = physical(world, 2 * page_bytes);
  CHECK(map(world, nullptr, page_bytes, memory) == ZE_RESULT_ERROR_INVALID_NULL_POINTER);
  each_gives(ZE_RESULT_ERROR_UNSUPPORTED_SIZE,
             {map(world, range, 0, memory), map(world, range, page_bytes + 1, memory)});
  each_gives(ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT,
             {map(world, range + 1, page_bytes, memory), map(world, range, page_bytes, memory, 1)});
  CHECK(map(world, range, page_bytes, memory, 0, static_cast<ze_memory_access_attribute_t>(3)) ==
        ZE_RESULT_ERROR_INVALID_ENUMERATION);
  CHECK(world.control.misuses() == 0);
  ok(map(world, range + page_bytes, page_bytes, memory));
  each_gives(ZE_RESULT_ERROR_INVALID_ARGUMENT,
             {map(world, range, 3 * page_bytes, memory),                   // more than there is
              map(world, range, page_bytes, memory, 2 * page_bytes),       // behind it
              map(world, range + 3 * page_bytes, 2 * page_bytes, memory),  // not reserved
              map(world, range, 2 * page_bytes, memory)});                 // over another
  CHECK(world.control.misuses() == 4);
  CHECK(world.control.live("mapping") == 1);
}

TEST_CASE("commands have the access to a mapping that it was given") {
  const World world;
  char* const range = reserve(world, 3 * page_bytes);
  const auto memory = physical(world, page_bytes);
  ok(map(world, range, page_bytes, memory, 0, ZE_MEMORY_ACCESS_ATTRIBUTE_NONE));
  ok(map(world, range + page_bytes, page_bytes, memory, 0, ZE_MEMORY_ACCESS_ATTRIBUTE_READONLY));
  ok(map(world, range + 2 * page_bytes, page_bytes, memory));
  const auto list = world.list(test::in_order);
  std::uint32_t* const word = world.words({0});
  CHECK(test::copy(list, word, words_at(range)) == ZE_RESULT_ERROR_INVALID_ARGUMENT);
  CHECK(test::fill(list, words_at(range), 1) == ZE_RESULT_ERROR_INVALID_ARGUMENT);
  CHECK_THAT(world.control.misuse_text(), Contains("no access"));
  CHECK(test::fill(list, words_at(range + page_bytes), 1) == ZE_RESULT_ERROR_INVALID_ARGUMENT);
  CHECK_THAT(world.control.misuse_text(), Contains("mapped for reading"));
  // From memory that can be written into memory that can't, across their border.
  CHECK(test::fill(list, words_at(range + 2 * page_bytes - 4), 1, 2) == ZE_RESULT_ERROR_INVALID_ARGUMENT);
  CHECK(world.control.misuses() == 4);
  ok(test::fill(list, words_at(range + 2 * page_bytes), 7));
  ok(test::copy(list, word, words_at(range + page_bytes)));
  test::finish(world, list);
  CHECK(*word == 7);
  CHECK(world.control.misuses() == 4);
}

TEST_CASE("what is unmapped is whole mappings and is out of reach then") {
  const World world;
  char* const range = reserve(world, 4 * page_bytes);
  const auto memory = physical(world, 2 * page_bytes);
  ok(map(world, range, 2 * page_bytes, memory));
  ok(map(world, range + 2 * page_bytes, page_bytes, memory));
  const auto unmap = [&](const char* address, std::size_t bytes) {
    return zeVirtualMemUnmap(world.context, address, bytes);
  };
  CHECK(unmap(nullptr, page_bytes) == ZE_RESULT_ERROR_INVALID_NULL_POINTER);
  each_gives(ZE_RESULT_ERROR_UNSUPPORTED_SIZE, {unmap(range, 0), unmap(range, page_bytes + 1)});
  CHECK(unmap(range + 1, page_bytes) == ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT);
  CHECK(world.control.misuses() == 0);
  each_gives(ZE_RESULT_ERROR_INVALID_ARGUMENT, {unmap(range, page_bytes), unmap(range + 3 * page_bytes, page_bytes),
                                                zeVirtualMemUnmap(world.another_context(), range, 2 * page_bytes)});
  CHECK(world.control.misuses() == 3);
  ok(unmap(range, 3 * page_bytes));  // both
  CHECK(world.control.live("mapping") == 0);
  each_gives(ZE_RESULT_ERROR_INVALID_ARGUMENT,
             {test::fill(world.list(), words_at(range), 1), zeMemFree(world.context, range)});
  ok(map(world, range, 2 * page_bytes, memory));  // and may be mapped again
}

TEST_CASE("physical memory is not destroyed while it is mapped and is of its context") {
  const World world;
  char* const range = reserve(world, page_bytes);
  const auto memory = physical(world, page_bytes);
  const auto other = world.another_context();
  CHECK(zePhysicalMemDestroy(other, memory) == ZE_RESULT_ERROR_INVALID_ARGUMENT);
  CHECK(zeVirtualMemMap(other, range, page_bytes, memory, 0, ZE_MEMORY_ACCESS_ATTRIBUTE_READWRITE) ==
        ZE_RESULT_ERROR_INVALID_ARGUMENT);
  ok(map(world, range, page_bytes, memory));
  CHECK(zePhysicalMemDestroy(world.context, memory) == ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE);
  CHECK(world.control.misuses() == 3);
  ok(zeVirtualMemUnmap(world.context, range, page_bytes));
  ok(zePhysicalMemDestroy(world.context, memory));
  CHECK(zePhysicalMemDestroy(world.context, memory) == ZE_RESULT_ERROR_INVALID_NULL_HANDLE);
}

TEST_CASE("memory unmapped ahead of the command that uses it loses the device") {
  const World world;
  char* const range = reserve(world, page_bytes);
  const auto memory = physical(world, page_bytes);
  ok(map(world, range, page_bytes, memory));
  const auto gate = world.event();
  const auto done = world.event();
  ok(test::fill(world.list(), words_at(range), 1, 1, done, {gate}));
  ok(zeVirtualMemUnmap(world.context, range, page_bytes));
  ok(zeEventHostSignal(gate));
  CHECK(test::wait(done) == ZE_RESULT_ERROR_DEVICE_LOST);
  CHECK_THAT(world.control.misuse_text(), Contains("ran on memory that was freed"));
}

}  // namespace virtual_memory_test
