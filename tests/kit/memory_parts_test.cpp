// SPDX-License-Identifier: Apache-2.0
//
// Sharing, MemoryPool, VirtualMemory and Gates on a vendor that is made up.
#include <catch2/catch.hpp>
#include <cstdlib>

#include "anyplace/backend/kit/gates.h"
#include "anyplace/backend/kit/memory_pool.h"
#include "anyplace/backend/kit/sharing.h"
#include "anyplace/backend/kit/virtual_memory.h"
#include "made_up.h"

namespace memory_parts_test {

using namespace made_up;

namespace {

struct SharingCalls : Calls {
  struct Access {
    int device;
    bool may;
  };
  static constexpr int already_enabled = 11;
  static constexpr int not_enabled = 12;
  static Access access_of(int device, bool may) noexcept { return {device, may}; }
  static Called<int> can_access(Device&, Device&, bool& can) {
    can = true;
    return {driver.call("can_access"), "can_access"};
  }
  static Called<int> enable(Device&, Device&, int) { return {driver.call("enable"), "enable"}; }
  static Called<int> disable(int) noexcept { return {driver.call("disable"), "disable"}; }
};
using Shared = Sharing<SharingCalls>;

struct PoolCalls : Calls {
  using Sharing = Shared;
  using Pool = int;
  static constexpr int out_of_memory = 1;
  static Called<int> total_memory(int, std::size_t& bytes) noexcept {
    bytes = 1600;
    return {driver.call("total_memory"), "total_memory"};
  }
  static Called<int> create(int, int& pool) noexcept {
    pool = 5;
    return {driver.call("create_pool"), "create_pool"};
  }
  static Called<int> destroy(int) noexcept { return {driver.call("destroy_pool"), "destroy_pool"}; }
  static Called<int> set_up(int, std::uint64_t kept) noexcept {
    return {driver.call("keep " + std::to_string(kept)), "set_up"};
  }
  static Called<int> set_access(int, const SharingCalls::Access*, std::size_t count) noexcept {
    return {driver.call("pool_access " + std::to_string(count)), "set_access"};
  }
  static bool figures(int, std::uint64_t& reserved, std::uint64_t& used) noexcept {
    reserved = 100;
    used = 30;
    return true;
  }
  static void trim(int) noexcept { driver.call("trim"); }
};
using Pool = MemoryPool<PoolCalls>;

template <bool one_access>
struct VirtualCalls : Calls {
  using Sharing = Shared;
  using Memory = Pool;
  using Physical = int;
  static constexpr int out_of_memory = 1;
  static constexpr bool one_access_for_several = one_access;
  static bool is_supported(const OneDevice&) { return true; }
  static Called<int> granularity(int, std::uint64_t& bytes) noexcept {
    bytes = 64;
    return {0, "granularity"};
  }
  static Called<int> reserve(anyplace_address& address, std::uint64_t) noexcept {
    address = 0x1000;
    return {driver.call("reserve"), "reserve"};
  }
  static Called<int> release(anyplace_address, std::uint64_t) noexcept { return {driver.call("release"), "release"}; }
  static bool is_shareable(const OneDevice&) { return true; }
  static Called<int> create(int, int& physical, std::uint64_t, bool& shareable) noexcept {
    physical = 8;
    if (driver.fail.count("shareable") != 0) shareable = false;
    return {driver.call("create"), "create"};
  }
  static Called<int> destroy(int) noexcept { return {driver.call("destroy"), "destroy"}; }
  static Called<int> map(anyplace_address, std::uint64_t, int) noexcept { return {driver.call("map"), "map"}; }
  static Called<int> unmap(anyplace_address address, std::uint64_t) noexcept {
    return {driver.call("unmap " + std::to_string(address)), "unmap"};
  }
  static Called<int> set_access(anyplace_address, std::uint64_t, const SharingCalls::Access*, std::size_t) noexcept {
    return {driver.call("map_access"), "map_access"};
  }
};
using Virtual = VirtualMemory<VirtualCalls<true>>;

struct GateCalls : Calls {
  using Number = std::uint32_t;
  static constexpr std::size_t words = 2;
  static constexpr std::size_t distance = 64;
  static Called<int> allocate(void*& host, anyplace_address& device) noexcept {
    const int result = driver.call("allocate");
    if (result == 0) host = std::aligned_alloc(64, words * distance);
    device = 0x9000;
    return {result, "allocate"};
  }
  static int free(void* host) noexcept {
    std::free(host);
    return driver.call("free");
  }
};

const auto nothing = [](const auto&) {};

struct Parts : House {
  Shared sharing{device};
  Pool pool{device, sharing};
  Virtual memory{device, sharing, pool};
};

}  // namespace

// ---- Sharing -------------------------------------------------------------------------------------------------------

TEST_CASE("Access is given once and taken back only if it was given here") {
  Parts parts;
  parts.sharing.enable(parts.peer, nothing);
  parts.sharing.enable(parts.peer, nothing);
  CHECK(driver.count("enable") == 1);
  parts.sharing.with_readers([](const auto& readers) {
    REQUIRE(readers.size() == 1);
    CHECK(readers[0].device == 2);
    CHECK(readers[0].may);
  });
  parts.sharing.disable(parts.peer, nothing);
  CHECK(driver.count("disable") == 1);
  parts.sharing.disable(parts.peer, nothing);
  CHECK(driver.count("disable") == 1);
  driver.fail["enable"] = SharingCalls::already_enabled;
  parts.sharing.enable(parts.peer, nothing);
  parts.sharing.disable(parts.peer, nothing);
  CHECK(driver.count("disable") == 1);
}

TEST_CASE("Access whose lists can't be changed isn't given") {
  Parts parts;
  CHECK_THROWS_AS(parts.sharing.enable(parts.peer, [](const auto&) { throw 1; }), int);
  CHECK(driver.count("disable") == 1);
  parts.sharing.with_readers([](const auto& readers) { CHECK(readers.empty()); });
}

// ---- MemoryPool ----------------------------------------------------------------------------------------------------

TEST_CASE("A pool is made at its first use with the readers there are and keeps a share") {
  Parts parts;
  parts.sharing.enable(parts.peer, nothing);
  CHECK_FALSE(parts.pool.is_made());
  CHECK(parts.pool.idle() == 0);
  CHECK(parts.pool.allocate_from([](int pool) { return pool == 5 ? 0 : 3; }) == 0);
  CHECK(driver.count("keep 100") == 1);
  CHECK(driver.count("pool_access 1") == 1);
  CHECK(parts.pool.idle() == 70);
  CHECK(parts.pool.close() == 0);
  CHECK(driver.count("destroy_pool") == 1);
  CHECK(parts.pool.close() == 0);
  CHECK(driver.count("destroy_pool") == 1);
}

TEST_CASE("A pool that can't be set up is destroyed and tried again") {
  Parts parts;
  driver.fail["keep 100"] = 3;
  CHECK(status_of([&] { parts.pool.allocate_from([](int) { return 0; }); }) == ANYPLACE_STATUS_BACKEND_FAILED);
  CHECK(driver.count("destroy_pool") == 1);
  CHECK_FALSE(parts.pool.is_made());
}

TEST_CASE("An allocation that found no memory is tried once more after the pool was trimmed") {
  Parts parts;
  int tries = 0;
  CHECK(parts.pool.allocate_from([&](int) { return ++tries == 1 ? 1 : 0; }) == 0);
  CHECK(driver.count("trim") == 1);
  CHECK(parts.pool.allocate_from([&](int) { return 1; }) == 1);
}

// ---- VirtualMemory -------------------------------------------------------------------------------------------------

TEST_CASE("A range that isn't whole mappings is refused and nothing of it is unmapped") {
  Parts parts;
  Virtual::Physical* const physical = parts.memory.create(64);
  parts.memory.map(0x1000, *physical);
  parts.memory.map(0x1040, *physical);
  CHECK(status_of([&] { parts.memory.map(0x1000, *physical); }) == ANYPLACE_STATUS_INVALID_ARGUMENT);
  CHECK(status_of([&] { parts.memory.unmap(0x1000, 32); }) == ANYPLACE_STATUS_INVALID_ARGUMENT);
  CHECK(status_of([&] { parts.memory.unmap(0x1000, 192); }) == ANYPLACE_STATUS_INVALID_ARGUMENT);
  CHECK(status_of([&] { parts.memory.unmap(0x1010, 64); }) == ANYPLACE_STATUS_INVALID_ARGUMENT);
  CHECK(driver.count("unmap 4096") == 0);
  parts.memory.unmap(0x1000, 128);
  CHECK(driver.count("unmap 4096") == 1);
  CHECK(driver.count("unmap 4160") == 1);
  Virtual::destroy(physical);
  CHECK(driver.count("destroy") == 1);
}

TEST_CASE("Of several mappings each is tried and one that failed counts as mapped") {
  Parts parts;
  Virtual::Physical* const physical = parts.memory.create(64);
  parts.memory.map(0x1000, *physical);
  parts.memory.map(0x1040, *physical);
  driver.fail["unmap 4096"] = 3;
  CHECK(status_of([&] { parts.memory.unmap(0x1000, 128); }) == ANYPLACE_STATUS_BACKEND_FAILED);
  CHECK(driver.count("unmap 4160") == 1);
  CHECK(status_of([&] { parts.memory.map(0x1000, *physical); }) == ANYPLACE_STATUS_INVALID_ARGUMENT);
  parts.memory.map(0x1040, *physical);
  Virtual::destroy(physical);
}

TEST_CASE("Memory that the driver doesn't make shareable is made all the same, and counts as such from then on") {
  Parts parts;
  Virtual::destroy(parts.memory.create(64));
  CHECK(parts.memory.is_shareable());
  driver.fail["shareable"] = 1;
  Virtual::destroy(parts.memory.create(64));
  CHECK_FALSE(parts.memory.is_shareable());
}

TEST_CASE("The mappings behind some bytes are those that have one of them, and none where one is missing") {
  Parts parts;
  Virtual::Physical* const physical = parts.memory.create(64);
  for (const anyplace_address at : {0x1000, 0x1040, 0x10c0}) parts.memory.map(at, *physical);
  using Mappings = std::vector<std::pair<anyplace_address, std::uint64_t>>;
  CHECK(parts.memory.mappings_behind(0x1000, 64) == Mappings{{0x1000, 64}});
  CHECK(parts.memory.mappings_behind(0x103f, 2) == Mappings{{0x1000, 64}, {0x1040, 64}});
  CHECK(parts.memory.mappings_behind(0x1050, 1) == Mappings{{0x1040, 64}});
  CHECK(parts.memory.mappings_behind(0x1040, 65).empty());
  CHECK(parts.memory.mappings_behind(0x1080, 1).empty());
  CHECK(parts.memory.mappings_behind(0xfff, 1).empty());
  CHECK(parts.memory.mappings_behind(0x1100, 1).empty());
  Virtual::destroy(physical);
}

TEST_CASE("A mapping without access is undone") {
  Parts parts;
  Virtual::Physical* const physical = parts.memory.create(64);
  driver.fail["map_access"] = 3;
  CHECK(status_of([&] { parts.memory.map(0x1000, *physical); }) == ANYPLACE_STATUS_BACKEND_FAILED);
  CHECK(driver.count("unmap 4096") == 1);
  driver.fail.clear();
  parts.memory.map(0x1000, *physical);
  Virtual::destroy(physical);
}

TEMPLATE_TEST_CASE_SIG("Several memories are mapped with as few accesses as the vendor allows", "", ((bool one), one),
                       true, false) {
  using Memory = VirtualMemory<VirtualCalls<one>>;
  Parts parts;
  Memory memory{parts.device, parts.sharing, parts.pool};
  typename Memory::Physical* const physical = memory.create(64);
  const auto map_three = [&] {
    return status_of([&] {
      memory.map_all(0x1000, 3, [&](std::uint64_t /*index*/) -> const typename Memory::Physical& { return *physical; });
    });
  };
  CHECK(map_three() == ANYPLACE_STATUS_OK);
  CHECK(driver.count("map") == 3);
  CHECK(driver.count("map_access") == (one ? 1 : 3));
  memory.unmap(0x1000, 192);

  // Whatever fails, nothing of it stays.
  memory.map(0x1080, *physical);
  CHECK(map_three() == ANYPLACE_STATUS_INVALID_ARGUMENT);
  CHECK(driver.calls.back() == "unmap 4160");
  memory.unmap(0x1080, 64);
  driver.calls.clear();
  driver.fail["map_access"] = 3;
  CHECK(map_three() == ANYPLACE_STATUS_BACKEND_FAILED);
  CHECK(driver.count("map_access") == 1);
  for (const char* undone : {"unmap 4096", "unmap 4160", "unmap 4224"}) CHECK(driver.count(undone) == 1);
  driver.fail.clear();
  CHECK(map_three() == ANYPLACE_STATUS_OK);
  memory.unmap(0x1000, 192);
  Memory::destroy(physical);
}

TEST_CASE("Physical memory that isn't to be had is asked for again after the pool was trimmed") {
  Parts parts;
  parts.pool.allocate_from([](int) { return 0; });
  driver.fail["create"] = 1;
  CHECK(status_of([&] { parts.memory.create(64); }) == ANYPLACE_STATUS_OUT_OF_MEMORY);
  CHECK(driver.count("create") == 2);
  CHECK(driver.count("trim") == 1);
}

// ---- Gates ---------------------------------------------------------------------------------------------------------

TEST_CASE("A word that is used again waits for a greater number") {
  Parts parts;
  Gates<GateCalls> gates(parts.device);
  auto* const first = gates.create();
  auto* const second = gates.create();
  CHECK(first->word != second->word);
  CHECK(first->address != second->address);
  CHECK(driver.count("allocate") == 1);
  CHECK(first->word->load() < first->number);
  first->open();
  CHECK(first->word->load() >= first->number);
  const auto number = first->number;
  gates.destroy(*first);
  auto* const again = gates.create();
  REQUIRE(again == first);
  CHECK(again->number == number + 1);
  CHECK(again->word->load() < again->number);
  CHECK(gates.close() == 0);
  CHECK(driver.count("free") == 1);
}

TEST_CASE("A gate without memory is a failure and the next one is tried again") {
  Parts parts;
  Gates<GateCalls> gates(parts.device);
  driver.fail["allocate"] = 1;
  CHECK(status_of([&] { gates.create(); }) == ANYPLACE_STATUS_OUT_OF_MEMORY);
  driver.fail.clear();
  CHECK(gates.create() != nullptr);
  CHECK(gates.close() == 0);
}

}  // namespace memory_parts_test
