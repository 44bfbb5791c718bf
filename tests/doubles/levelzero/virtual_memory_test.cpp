// SPDX-License-Identifier: Apache-2.0
//
// Addresses and memory apart: pages, reservations, physical memory, mappings and their access.
#include "support/environment.h"
#include "test_support.h"

namespace virtual_memory_test {

using Catch::Contains;
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

TEST_CASE("a page is as big as what is wanted asks for") {
  const World world;
  std::size_t page = 0;
  for (const std::size_t small : {std::size_t{1}, page_bytes, large_page - 1}) {
    ok(zeVirtualMemQueryPageSize(world.context, world.devices[0], small, &page));
    CHECK(page == page_bytes);
  }
  ok(zeVirtualMemQueryPageSize(world.context, world.devices[0], large_page, &page));
  CHECK(page == large_page);
  CHECK(zeVirtualMemQueryPageSize(world.context, world.devices[0], 0, &page) == ZE_RESULT_ERROR_UNSUPPORTED_SIZE);
  CHECK(zeVirtualMemQueryPageSize(world.context, world.devices[0], 1, nullptr) == ZE_RESULT_ERROR_INVALID_NULL_POINTER);
}

TEST_CASE("addresses are reserved in whole pages and given back whole") {
  const World world;
  void* made = nullptr;
  CHECK(zeVirtualMemReserve(world.context, nullptr, 0, &made) == ZE_RESULT_ERROR_UNSUPPORTED_SIZE);
  CHECK(zeVirtualMemReserve(world.context, nullptr, page_bytes + 1, &made) == ZE_RESULT_ERROR_UNSUPPORTED_SIZE);
  CHECK(zeVirtualMemReserve(world.context, nullptr, large_page + page_bytes, &made) ==
        ZE_RESULT_ERROR_UNSUPPORTED_SIZE);
  CHECK(zeVirtualMemReserve(world.context, nullptr, page_bytes, nullptr) == ZE_RESULT_ERROR_INVALID_NULL_POINTER);
  char* const range = reserve(world, 2 * page_bytes);
  CHECK(reinterpret_cast<std::uintptr_t>(range) % page_bytes == 0);
  CHECK(world.control.live("reservation") == 1);
  CHECK(zeVirtualMemFree(world.context, nullptr, page_bytes) == ZE_RESULT_ERROR_INVALID_NULL_POINTER);
  CHECK(zeVirtualMemFree(world.context, range, 0) == ZE_RESULT_ERROR_UNSUPPORTED_SIZE);
  CHECK(zeVirtualMemFree(world.context, range, page_bytes + 1) == ZE_RESULT_ERROR_UNSUPPORTED_SIZE);
  CHECK(zeVirtualMemFree(world.context, range + 1, page_bytes) == ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT);
  CHECK(world.control.misuses() == 0);
  CHECK(zeVirtualMemFree(world.context, range, page_bytes) == ZE_RESULT_ERROR_INVALID_ARGUMENT);  // half
  CHECK(zeVirtualMemFree(world.context, range + page_bytes, page_bytes) ==
        ZE_RESULT_ERROR_INVALID_ARGUMENT);  // the other
  CHECK(zeVirtualMemFree(world.another_context(), range, 2 * page_bytes) == ZE_RESULT_ERROR_INVALID_ARGUMENT);
  CHECK(world.control.misuses() == 3);
  ok(zeVirtualMemFree(world.context, range, 2 * page_bytes));
  CHECK(zeVirtualMemFree(world.context, range, 2 * page_bytes) == ZE_RESULT_ERROR_INVALID_ARGUMENT);
  CHECK(world.control.live("reservation") == 0);
}

TEST_CASE("where a reservation should start is a wish") {
  const World world;
  char* const first = reserve(world, page_bytes);
  char* const second = reserve(world, page_bytes, first);  // taken
  CHECK(second != first);
  CHECK(reserve(world, page_bytes, first + 1024 * page_bytes) != nullptr);
  void* made = nullptr;
  CHECK(zeVirtualMemReserve(world.context, first + 1, page_bytes, &made) == ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT);
  CHECK(made == nullptr);
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

TEST_CASE("where physical memory has one address that is the last that it was mapped at") {
  test::set_env("LEVELZERO_DOUBLE_ONE_ADDRESS", "1");
  const World world;
  char* const range = reserve(world, 2 * page_bytes);
  const auto memory = physical(world, page_bytes);
  ok(map(world, range, page_bytes, memory));
  const auto list = world.list();
  ok(test::fill(list, words_at(range), 7));
  test::finish(world, list);
  ok(map(world, range + page_bytes, page_bytes, memory));
  ok(test::fill(list, words_at(range + page_bytes), 8));
  test::finish(world, list);
  CHECK(world.control.misuses() == 0);
  const auto done = world.event();
  ok(test::fill(list, words_at(range), 9, 1, done));
  CHECK(test::wait(done) == ZE_RESULT_ERROR_DEVICE_LOST);
  CHECK_THAT(world.control.misuse_text(), Contains("mapped at another since"));
}

TEST_CASE("mappings that adjoin are one memory for commands and a gap isn't") {
  const World world;
  char* const range = reserve(world, 3 * page_bytes);
  const auto first = physical(world, page_bytes);
  const auto second = physical(world, page_bytes);
  ok(map(world, range, page_bytes, first));
  const auto list = world.list();
  CHECK(test::fill(list, words_at(range), 1, 2 * page_bytes / 4) == ZE_RESULT_ERROR_INVALID_ARGUMENT);
  CHECK(test::fill(list, words_at(range + page_bytes), 1) == ZE_RESULT_ERROR_INVALID_ARGUMENT);
  CHECK(world.control.misuses() == 2);
  ok(map(world, range + page_bytes, page_bytes, second));
  ok(test::fill(list, words_at(range), 1, 2 * page_bytes / 4));
  test::finish(world, list);
  CHECK(*words_at(range + 2 * page_bytes - 4) == 1);
  CHECK(world.control.misuses() == 2);
}

TEST_CASE("a mapping is of whole pages that are reserved and free and in its memory") {
  const World world;
  char* const range = reserve(world, 4 * page_bytes);
  const auto memory = physical(world, 2 * page_bytes);
  CHECK(map(world, nullptr, page_bytes, memory) == ZE_RESULT_ERROR_INVALID_NULL_POINTER);
  CHECK(map(world, range, 0, memory) == ZE_RESULT_ERROR_UNSUPPORTED_SIZE);
  CHECK(map(world, range, page_bytes + 1, memory) == ZE_RESULT_ERROR_UNSUPPORTED_SIZE);
  CHECK(map(world, range + 1, page_bytes, memory) == ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT);
  CHECK(map(world, range, page_bytes, memory, 1) == ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT);
  CHECK(map(world, range, page_bytes, memory, 0, static_cast<ze_memory_access_attribute_t>(3)) ==
        ZE_RESULT_ERROR_INVALID_ENUMERATION);
  CHECK(world.control.misuses() == 0);
  CHECK(map(world, range, 3 * page_bytes, memory) == ZE_RESULT_ERROR_INVALID_ARGUMENT);  // more than there is
  CHECK(map(world, range, page_bytes, memory, 2 * page_bytes) == ZE_RESULT_ERROR_INVALID_ARGUMENT);  // behind it
  CHECK(map(world, range + 3 * page_bytes, 2 * page_bytes, memory) ==
        ZE_RESULT_ERROR_INVALID_ARGUMENT);  // not reserved
  ok(map(world, range + page_bytes, page_bytes, memory));
  CHECK(map(world, range, 2 * page_bytes, memory) == ZE_RESULT_ERROR_INVALID_ARGUMENT);  // over another
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
  CHECK(zeVirtualMemUnmap(world.context, nullptr, page_bytes) == ZE_RESULT_ERROR_INVALID_NULL_POINTER);
  CHECK(zeVirtualMemUnmap(world.context, range, 0) == ZE_RESULT_ERROR_UNSUPPORTED_SIZE);
  CHECK(zeVirtualMemUnmap(world.context, range, page_bytes + 1) == ZE_RESULT_ERROR_UNSUPPORTED_SIZE);
  CHECK(zeVirtualMemUnmap(world.context, range + 1, page_bytes) == ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT);
  CHECK(world.control.misuses() == 0);
  CHECK(zeVirtualMemUnmap(world.context, range, page_bytes) == ZE_RESULT_ERROR_INVALID_ARGUMENT);  // a half
  CHECK(zeVirtualMemUnmap(world.context, range + 3 * page_bytes, page_bytes) == ZE_RESULT_ERROR_INVALID_ARGUMENT);
  CHECK(zeVirtualMemUnmap(world.another_context(), range, 2 * page_bytes) == ZE_RESULT_ERROR_INVALID_ARGUMENT);
  CHECK(world.control.misuses() == 3);
  ok(zeVirtualMemUnmap(world.context, range, 3 * page_bytes));  // both
  CHECK(world.control.live("mapping") == 0);
  CHECK(test::fill(world.list(), words_at(range), 1) == ZE_RESULT_ERROR_INVALID_ARGUMENT);
  CHECK(zeMemFree(world.context, range) == ZE_RESULT_ERROR_INVALID_ARGUMENT);
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

TEST_CASE("with its addresses a mapping goes but its memory stays") {
  const World world;
  char* const range = reserve(world, 2 * page_bytes);
  const auto memory = physical(world, page_bytes);
  ok(map(world, range, page_bytes, memory));
  ok(map(world, range + page_bytes, page_bytes, memory));
  ok(zeVirtualMemFree(world.context, range, 2 * page_bytes));
  CHECK(world.control.live("mapping") == 0);
  CHECK(world.control.live("reservation") == 0);
  CHECK(world.control.live("physical") == 1);
  ok(zePhysicalMemDestroy(world.context, memory));
  CHECK(world.control.misuses() == 0);
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
