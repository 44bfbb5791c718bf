// SPDX-License-Identifier: Apache-2.0
//
// Mapped memory for other processes, at the table. What is exported is opened here in the same process, which the core
// would refuse and the drivers allow; between two processes it is what tests/ipc and the conformance suite try.
#include <cstddef>
#include <filesystem>

#include "anyplace/backend/kit/mapped_sharing.h"
#include "plugin.h"
#include "support.h"

namespace sharing_test {

namespace {

using namespace vendor_test;
using anyplace::backend::MappedBytes;

std::size_t descriptors() {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {}));
}

/// So many pieces of a granule each, mapped side by side on device 0.
struct Mapped {
  Double driver;
  Plugin plugin;
  uint64_t granule = 0;
  uint64_t reserved = 0;
  anyplace_address address = 0;
  std::vector<anyplace_physical> pieces;

  explicit Mapped(std::size_t count, Variables variables = {}) : driver(variables) {
    Plugin::check(plugin->virtual_granularity(plugin.self(), 0, &granule));
    reserved = (count + 2) * granule;
    Plugin::check(plugin->virtual_reserve(plugin.self(), 0, reserved, &address));
    for (std::size_t i = 0; i < count; ++i) add(address + i * granule, 1);
  }
  ~Mapped() {
    CHECK(plugin->virtual_unmap(plugin.self(), 0, address, mapped) == ANYPLACE_STATUS_OK);
    for (const anyplace_physical piece : pieces) plugin->physical_destroy(plugin.self(), piece);
    CHECK(plugin->virtual_release(plugin.self(), 0, address, reserved) == ANYPLACE_STATUS_OK);
    INFO(driver.live_text());
    CHECK(driver.live("mapping") == 0);
    CHECK(driver.live("physical") == 0);
    CHECK(driver.live("reservation") == 0);
  }
  void add(anyplace_address at, uint64_t granules) {
    Plugin::check(plugin->physical_create(plugin.self(), 0, granules * granule, &pieces.emplace_back()));
    Plugin::check(plugin->virtual_map(plugin.self(), 0, at, pieces.back()));
    mapped += granules * granule;
  }
  anyplace_status export_status(uint64_t from, uint64_t bytes, anyplace_ipc_handle& handle) {
    handle = {};
    handle.struct_size = sizeof(handle);
    return plugin->memory_export(plugin.self(), 0, address + from, bytes, &handle);
  }
  anyplace_ipc_handle exported(uint64_t from, uint64_t bytes) {
    anyplace_ipc_handle handle{};
    Plugin::check(export_status(from, bytes, handle));
    return handle;
  }
  void end_export(const anyplace_ipc_handle& handle) {
    Plugin::check(plugin->memory_export_end(plugin.self(), 0, address, &handle));
  }
  anyplace_status import_status(const anyplace_ipc_handle& handle, anyplace_address& out) {
    return plugin->memory_import(plugin.self(), 0, &handle, &out);
  }
  uint64_t mapped = 0;
};

}  // namespace

TEST_CASE("A piece has one descriptor from the first export to the last end, and a thousand leave none") {
  Mapped memory(3);
  memory.end_export(memory.exported(0, 1));  // the server is there from now on
  const std::size_t before = descriptors();
  const anyplace_ipc_handle first = memory.exported(0, 2 * memory.granule);
  CHECK(descriptors() == before + 2);
  const anyplace_ipc_handle same = memory.exported(100, 2 * memory.granule - 100);
  CHECK(std::memcmp(first.bytes, same.bytes, first.byte_count) == 0);
  const anyplace_ipc_handle overlapping = memory.exported(memory.granule, 2 * memory.granule);
  CHECK(descriptors() == before + 3);
  memory.end_export(first);
  memory.end_export(same);
  CHECK(descriptors() == before + 2);
  memory.end_export(overlapping);
  CHECK(descriptors() == before);
  for (int i = 0; i < 1000; ++i) {
    const anyplace_ipc_handle handle = memory.exported(0, memory.mapped);
    anyplace_address opened = 0;
    if (i % 10 == 0) {
      Plugin::check(memory.import_status(handle, opened));
      Plugin::check(memory.plugin->memory_import_end(memory.plugin.self(), 0, opened));
    }
    memory.end_export(handle);
  }
  CHECK(descriptors() == before);
}

TEST_CASE("Memory in pieces of different sizes, or in too many, is UNSUPPORTED and says why") {
  anyplace_ipc_handle handle{};
  {
    Mapped memory(1);
    memory.add(memory.address + memory.granule, 2);
    CHECK(memory.export_status(0, memory.mapped, handle) == ANYPLACE_STATUS_UNSUPPORTED);
    CHECK_THAT(Plugin::message(), Catch::Contains("different sizes"));
  }
  Mapped memory(123);
  CHECK(memory.export_status(0, memory.mapped, handle) == ANYPLACE_STATUS_UNSUPPORTED);
  CHECK_THAT(Plugin::message(), Catch::Contains("123 pieces") && Catch::Contains("122 at most"));
  memory.end_export(memory.exported(0, memory.mapped - memory.granule));
}

TEST_CASE("Bytes of mapped memory that contradict each other are refused") {
  Mapped memory(2);
  const anyplace_ipc_handle good = memory.exported(0, memory.mapped);
  const auto refused = [&](auto&& change) {
    anyplace_ipc_handle bad = good;
    MappedBytes head{};
    std::memcpy(&head, bad.bytes, sizeof(head));
    change(bad, head);
    std::memcpy(bad.bytes, &head, sizeof(head));
    anyplace_address opened = 0;
    return memory.import_status(bad, opened);
  };
  using Handle = anyplace_ipc_handle;
  const anyplace_status invalid = ANYPLACE_STATUS_INVALID_ARGUMENT;
  CHECK(refused([](Handle&, MappedBytes& head) { head.pieces = 0; }) == invalid);
  CHECK(refused([](Handle&, MappedBytes& head) { head.pieces = 3; }) == invalid);
  CHECK(refused([](Handle&, MappedBytes& head) { head.pieces = ~0u; }) == invalid);
  CHECK(refused([](Handle&, MappedBytes& head) { head.piece_bytes = 0; }) == invalid);
  CHECK(refused([](Handle&, MappedBytes& head) { head.piece_bytes *= 2; }) == invalid);
  CHECK(refused([](Handle&, MappedBytes& head) { head.magic[0] ^= 1; }) == invalid);
  CHECK(refused([](Handle& handle, MappedBytes&) { --handle.byte_count; }) == invalid);
  CHECK(refused([](Handle& handle, MappedBytes&) { handle.byte_count = 8; }) == invalid);
  CHECK(refused([](Handle& handle, MappedBytes&) { handle.bytes[sizeof(MappedBytes)] ^= 64; }) == invalid);
  CHECK(refused([](Handle& handle, MappedBytes&) { handle.bytes[sizeof(MappedBytes) + 4] ^= 1; }) == invalid);
  CHECK(refused([](Handle&, MappedBytes& head) { ++head.owner.start; }) == ANYPLACE_STATUS_PEER_GONE);
  memory.end_export(good);
  CHECK(memory.driver.live("reservation") == 1);
}

TEST_CASE("An export or an import that fails at one of its calls leaves nothing") {
  Mapped memory(2);
  memory.end_export(memory.exported(0, 1));
  const std::size_t before = descriptors();
  anyplace_ipc_handle handle{};
  for (const char* call : {call::retain_memory, call::export_memory}) {
    for (const int nth : {1, 2}) {
      REQUIRE(memory.driver.fail_nth(call, nth, result::out_of_memory));
      CHECK(memory.export_status(0, memory.mapped, handle) == ANYPLACE_STATUS_OUT_OF_MEMORY);
      CHECK(descriptors() == before);
    }
  }
  handle = memory.exported(0, memory.mapped);
  const std::size_t exported = descriptors();
  anyplace_address opened = 0;
  for (const char* call : {call::reserve, call::import_memory, call::map, call::set_access}) {
    INFO(call);
    REQUIRE(memory.driver.fail_nth(call, 1, result::out_of_memory));
    CHECK(memory.import_status(handle, opened) == ANYPLACE_STATUS_OUT_OF_MEMORY);
    CHECK(memory.driver.live("reservation") == 1);
    CHECK(memory.driver.live("physical") == 2);
    CHECK(descriptors() == exported);
  }
  memory.end_export(handle);
}

TEST_CASE("Where the driver makes no memory that can be exported then it makes other, and exporting is UNSUPPORTED") {
  Mapped memory(0);
  REQUIRE(memory.driver.fail_nth(call::create_memory, 1, result::not_supported));
  memory.add(memory.address, 1);
  anyplace_ipc_handle handle{};
  CHECK(memory.export_status(0, memory.mapped, handle) == ANYPLACE_STATUS_UNSUPPORTED);
  CHECK_THAT(Plugin::message(), Catch::Contains("exports no mapped memory"));
}

}  // namespace sharing_test
