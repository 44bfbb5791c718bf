// SPDX-License-Identifier: Apache-2.0
//
// Virtual memory whose unmapping fails, at the table: the public API has no calls for it. What it does when all is well
// the conformance suite asks.
#include <dlfcn.h>

#include <cstdint>
#include <stdexcept>
#include <string>

#include "anyplace/backend/abi.h"
#include "support.h"

namespace virtual_memory_test {

namespace {

using namespace levelzero_test;

constexpr int unknown = 0x7ffffffe;

/// What the plugin left on this thread.
std::string& message() {
  thread_local std::string text;
  return text;
}

void check(anyplace_status status) {
  if (status != ANYPLACE_STATUS_OK) throw std::runtime_error(std::to_string(status) + ": " + message());
}

/// The plugin's table without a core, and two granules of memory that are mapped side by side.
struct Space {
  Double ze{{{"ANYPLACE_LEVELZERO_VIRTUAL_MEMORY", "1"}}};
  anyplace_host host{};
  anyplace_backend_table table{};
  std::uint64_t granule = 0;
  anyplace_address range = 0;

  Space() {
    host.struct_size = sizeof(host);
    host.abi_major = ANYPLACE_ABI_MAJOR;
    host.abi_minor = ANYPLACE_ABI_MINOR;
    host.leave_message = [](void*, int64_t, const char*, const char* text) { message() = text == nullptr ? "" : text; };
    host.stream_fault = [](void*, uint64_t, anyplace_status, int64_t, const char*, const char*) {};
    host.user_code_begin = [](void*) {};
    host.user_code_end = [](void*) {};
    host.log = [](void*, uint32_t, const char*) {};
    void* const library = dlopen(ANYPLACE_LEVELZERO_PLUGIN, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw std::runtime_error(dlerror());
    const auto entry = reinterpret_cast<anyplace_backend_entry_function>(dlsym(library, ANYPLACE_ENTRY_SYMBOL));
    table.struct_size = sizeof(table);
    check(entry(&host, &table));
    static void* entered = nullptr;  // a backend lives until the process ends: where a leak checker finds it
    entered = table.self;
    static_cast<void>(entered);
    check(table.virtual_granularity(table.self, 0, &granule));
    check(table.virtual_reserve(table.self, 0, 4 * granule, &range));
    for (const anyplace_address address : {range, range + granule}) {
      anyplace_physical physical = 0;
      check(table.physical_create(table.self, 0, granule, &physical));
      check(table.virtual_map(table.self, 0, address, physical));
      check(table.physical_destroy(table.self, physical));  // from here on the mapping alone holds it
    }
  }

  anyplace_status unmap(std::uint64_t first, std::uint64_t granules) const {
    return table.virtual_unmap(table.self, 0, range + first * granule, granules * granule);
  }
  anyplace_status release() const { return table.virtual_release(table.self, 0, range, 4 * granule); }
  void shut_down() const { CHECK(table.shutdown(table.self, ANYPLACE_FOREVER) == ANYPLACE_STATUS_OK); }

  void check_nothing_left() const {
    INFO(ze.live_text());
    CHECK(ze.live("mapping") == 0);
    CHECK(ze.live("physical") == 0);
    CHECK(ze.live("reservation") == 0);
  }
};

}  // namespace

TEST_CASE("A range is released with what couldn't be unmapped from it and not with what wasn't") {
  const Space space;
  REQUIRE(space.ze.fail_nth("zeVirtualMemUnmap", 1, unknown));
  CHECK(space.unmap(0, 1) == ANYPLACE_STATUS_BACKEND_FAILED);
  CHECK(space.release() == ANYPLACE_STATUS_INVALID_ARGUMENT);
  CHECK(space.unmap(1, 1) == ANYPLACE_STATUS_OK);
  CHECK(space.release() == ANYPLACE_STATUS_OK);
  space.check_nothing_left();
  space.shut_down();
}

TEST_CASE("What couldn't be unmapped isn't unmapped again") {
  const Space space;
  REQUIRE(space.ze.fail_nth("zeVirtualMemUnmap", 1, unknown));
  CHECK(space.unmap(0, 2) == ANYPLACE_STATUS_BACKEND_FAILED);
  CHECK(space.ze.calls_of("zeVirtualMemUnmap") == 2);  // the one behind it is unmapped all the same
  CHECK(space.unmap(0, 1) == ANYPLACE_STATUS_BACKEND_FAILED);
  CHECK_THAT(message(), Contains("zeVirtualMemUnmap"));
  CHECK(space.ze.calls_of("zeVirtualMemUnmap") == 2);
  CHECK(space.release() == ANYPLACE_STATUS_OK);
  space.check_nothing_left();
  space.shut_down();
}

TEST_CASE("At its end the backend gives back what couldn't be unmapped") {
  const Space space;
  REQUIRE(space.ze.fail_nth("zeVirtualMemUnmap", 1, unknown));
  CHECK(space.unmap(0, 1) == ANYPLACE_STATUS_BACKEND_FAILED);
  space.shut_down();
  space.check_nothing_left();
}

}  // namespace virtual_memory_test
