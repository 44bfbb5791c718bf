// SPDX-License-Identifier: Apache-2.0
//
// Virtual memory, at the table: the public API has no calls for it.
#include "plugin.h"
#include "support.h"

namespace virtual_memory_test {

namespace {

using namespace vendor_test;

/// Two devices, a stream on each, and a granule of the first one's memory to play with.
struct Space {
  Double driver;
  Plugin plugin;
  uint64_t granule = 0;
  anyplace_stream stream = plugin.make_stream(0);
  anyplace_stream other = plugin.make_stream(1);

  explicit Space(Variables variables = {}) : driver(variables) {
    Plugin::check(plugin->virtual_granularity(plugin.self(), 0, &granule));
  }
  ~Space() {
    CHECK(plugin->stream_destroy(plugin.self(), stream) == ANYPLACE_STATUS_OK);
    CHECK(plugin->stream_destroy(plugin.self(), other) == ANYPLACE_STATUS_OK);
    INFO(driver.live_text());
    CHECK(driver.live("mapping") == 0);
    CHECK(driver.live("physical") == 0);
    CHECK(driver.live("reservation") == 0);
  }

  anyplace_address reserve(uint64_t granules) {
    anyplace_address address = 0;
    Plugin::check(plugin->virtual_reserve(plugin.self(), 0, granules * granule, &address));
    return address;
  }
  void release(anyplace_address address, uint64_t granules) {
    Plugin::check(plugin->virtual_release(plugin.self(), 0, address, granules * granule));
  }
  anyplace_physical create(uint64_t granules) {
    anyplace_physical physical = 0;
    Plugin::check(plugin->physical_create(plugin.self(), 0, granules * granule, &physical));
    return physical;
  }
  void destroy(anyplace_physical physical) { Plugin::check(plugin->physical_destroy(plugin.self(), physical)); }
  anyplace_status map_status(anyplace_address address, anyplace_physical physical) {
    return plugin->virtual_map(plugin.self(), 0, address, physical);
  }
  void map(anyplace_address address, anyplace_physical physical) { Plugin::check(map_status(address, physical)); }
  anyplace_status map_all_status(anyplace_address address, const std::vector<anyplace_physical>& physicals) {
    return plugin->virtual_map_all(plugin.self(), 0, address, physicals.data(), physicals.size());
  }
  void map_all(anyplace_address address, const std::vector<anyplace_physical>& physicals) {
    Plugin::check(map_all_status(address, physicals));
  }
  anyplace_status unmap_status(anyplace_address address, uint64_t bytes) {
    return plugin->virtual_unmap(plugin.self(), 0, address, bytes);
  }
  void unmap(anyplace_address address, uint64_t granules) { Plugin::check(unmap_status(address, granules * granule)); }

  void fill(anyplace_address address, uint32_t value) {
    Plugin::check(plugin->memory_set(plugin.self(), stream, address, value, 4, granule / 4));
    plugin.synchronize(stream);
  }
  /// The first and the last number of the granule, which must be the same.
  uint32_t value_at(anyplace_address address) {
    std::vector<uint32_t> found(granule / 4);
    Plugin::check(plugin->memory_copy(plugin.self(), stream, reinterpret_cast<uint64_t>(found.data()), address, granule,
                                      ANYPLACE_COPY_DEVICE_TO_HOST));
    plugin.synchronize(stream);
    CHECK(found.front() == found.back());
    return found.front();
  }
};

}  // namespace

TEST_CASE("Mappings that adjoin are unmapped at once and a part of one is not") {
  Space space;
  const anyplace_address range = space.reserve(4);
  const anyplace_physical large = space.create(2), small = space.create(1);
  space.map(range, large);
  space.map(range + 2 * space.granule, small);
  const auto is_refused = [&](anyplace_address address, uint64_t bytes) {
    CHECK(space.unmap_status(address, bytes) == ANYPLACE_STATUS_INVALID_ARGUMENT);
    CHECK_THAT(Plugin::message(), contains("each whole"));
  };
  is_refused(range, space.granule);
  is_refused(range + space.granule, space.granule);
  is_refused(range + space.granule, 2 * space.granule);
  is_refused(range, 4 * space.granule);
  is_refused(range + 3 * space.granule, space.granule);
  space.fill(range, 11);
  CHECK(space.value_at(range) == 11);
  space.unmap(range, 3);
  space.destroy(large);
  space.destroy(small);
  space.release(range, 4);
}

TEST_CASE("Where memory is mapped no other is mapped") {
  Space space;
  const anyplace_address range = space.reserve(3);
  const anyplace_physical first = space.create(2), second = space.create(2);
  space.map(range, first);
  CHECK(space.map_status(range, second) == ANYPLACE_STATUS_INVALID_ARGUMENT);
  CHECK(space.map_status(range + space.granule, second) == ANYPLACE_STATUS_INVALID_ARGUMENT);
  space.fill(range, 12);
  CHECK(space.value_at(range) == 12);
  space.unmap(range, 2);
  space.destroy(first);
  space.destroy(second);
  space.release(range, 3);
}

TEST_CASE("What is idle in the pool is given up for memory without an address") {
  Space space({{DOUBLE_VARIABLE("MEMORY"), "64M"}});
  anyplace_address idle = 0;
  Plugin::check(space.plugin->memory_allocate(space.plugin.self(), 0, ANYPLACE_MEMORY_DEVICE, 3 << 20, &idle));
  Plugin::check(space.plugin->memory_free(space.plugin.self(), 0, ANYPLACE_MEMORY_DEVICE, idle));
  uint64_t granules = (64u << 20) / space.granule;
  const anyplace_physical memory = space.create(granules - 1);
  space.destroy(memory);
}

TEST_CASE("Of several memories none is mapped where one can't be") {
  Space space;
  const anyplace_address range = space.reserve(3);
  const std::vector<anyplace_physical> memories = {space.create(1), space.create(1), space.create(1)};
  for (const int nth : {1, 2, 3}) {
    REQUIRE(space.driver.fail_nth(call::map, nth, result::out_of_memory));
    CHECK(space.map_all_status(range, memories) == ANYPLACE_STATUS_OUT_OF_MEMORY);
    CHECK(space.driver.live("mapping") == 0);
  }
  REQUIRE(space.driver.fail_nth(call::set_access, 1, result::out_of_memory));
  CHECK(space.map_all_status(range, memories) == ANYPLACE_STATUS_OUT_OF_MEMORY);
  CHECK(space.driver.live("mapping") == 0);
  space.map(range + 2 * space.granule, memories[0]);
  CHECK(space.map_all_status(range, memories) == ANYPLACE_STATUS_INVALID_ARGUMENT);
  CHECK(space.driver.live("mapping") == 1);
  space.unmap(range + 2 * space.granule, 1);
  space.map_all(range, memories);
  space.unmap(range, 3);
  for (const anyplace_physical memory : memories) space.destroy(memory);
  space.release(range, 3);
}

TEST_CASE("Each call that fails leaves nothing behind") {
  Space space;
  const anyplace_address range = space.reserve(1);
  const anyplace_physical memory = space.create(1);
  anyplace_address none = 0;
  REQUIRE(space.driver.fail_nth(call::reserve, 1, result::out_of_memory));
  CHECK(space.plugin->virtual_reserve(space.plugin.self(), 0, space.granule, &none) == ANYPLACE_STATUS_OUT_OF_MEMORY);
  REQUIRE(space.driver.fail_nth(call::map, 1, result::out_of_memory));
  CHECK(space.map_status(range, memory) == ANYPLACE_STATUS_OUT_OF_MEMORY);
  REQUIRE(space.driver.fail_nth(call::set_access, 1, result::out_of_memory));
  CHECK(space.map_status(range, memory) == ANYPLACE_STATUS_OUT_OF_MEMORY);
  CHECK(space.driver.live("mapping") == 0);
  space.map(range, memory);
  space.unmap(range, 1);
  space.destroy(memory);
  space.release(range, 1);
}

TEST_CASE("Of mappings that adjoin each is unmapped also where one fails") {
  Space space;
  const anyplace_address range = space.reserve(2);
  for (const anyplace_address address : {range, range + space.granule}) {
    const anyplace_physical physical = space.create(1);
    space.map(address, physical);
    space.destroy(physical);
  }
  REQUIRE(space.driver.fail_nth(call::unmap, 1, result::unknown));
  CHECK(space.unmap_status(range, 2 * space.granule) == ANYPLACE_STATUS_BACKEND_FAILED);
  CHECK(space.driver.calls_of(call::unmap) == 2);
  CHECK(space.unmap_status(range + space.granule, space.granule) == ANYPLACE_STATUS_INVALID_ARGUMENT);
  space.release(range, 2);
}

TEST_CASE("A mapping that couldn't be unmapped is forgotten with its range") {
  Space space;
  const anyplace_physical physical = space.create(1);
  const anyplace_address range = space.reserve(1);
  space.map(range, physical);
  REQUIRE(space.driver.fail_nth(call::unmap, 1, result::unknown));
  CHECK(space.unmap_status(range, space.granule) == ANYPLACE_STATUS_BACKEND_FAILED);
  CHECK(space.map_status(range, physical) == ANYPLACE_STATUS_INVALID_ARGUMENT);
  space.release(range, 1);
  // Each mapping is given to the peer then.
  Plugin::check(space.plugin->peer_enable(space.plugin.self(), 1, 0));
  space.destroy(physical);
}

TEST_CASE("Peers have access to what is mapped before and after it was enabled and not after it was disabled") {
  Space space;
  const anyplace_address range = space.reserve(2);
  const anyplace_physical memory = space.create(1);
  space.map(range, memory);
  CHECK(access_of(0, range) == readable);
  CHECK(access_of(1, range) == 0);
  Plugin::check(space.plugin->peer_enable(space.plugin.self(), 1, 0));
  CHECK(access_of(1, range) == readable);
  space.map(range + space.granule, memory);
  CHECK(access_of(1, range + space.granule) == readable);
  // A stream of the other device reads it.
  space.fill(range, 13);
  std::vector<uint32_t> found(16);
  Plugin::check(space.plugin->memory_copy(space.plugin.self(), space.other, reinterpret_cast<uint64_t>(found.data()),
                                          range, 64, ANYPLACE_COPY_DEVICE_TO_HOST));
  space.plugin.synchronize(space.other);
  CHECK(found == std::vector<uint32_t>(16, 13));
  Plugin::check(space.plugin->peer_disable(space.plugin.self(), 1, 0));
  CHECK(access_of(1, range) == 0);
  CHECK(access_of(0, range) == readable);
  space.unmap(range, 2);
  space.destroy(memory);
  space.release(range, 2);
}

TEST_CASE("A device without virtual memory management says so") {
  const Double driver({without_virtual_memory});
  Plugin plugin;
  CHECK_FALSE(plugin.has(0, ANYPLACE_CAPABILITY_BIT_VIRTUAL_MEMORY));
  uint64_t bytes = 0;
  anyplace_address address = 0;
  anyplace_physical physical = 0;
  CHECK(plugin->virtual_granularity(plugin.self(), 0, &bytes) == ANYPLACE_STATUS_UNSUPPORTED);
  CHECK(plugin->virtual_reserve(plugin.self(), 0, 1 << 21, &address) == ANYPLACE_STATUS_UNSUPPORTED);
  CHECK(plugin->physical_create(plugin.self(), 0, 1 << 21, &physical) == ANYPLACE_STATUS_UNSUPPORTED);
}

}  // namespace virtual_memory_test
