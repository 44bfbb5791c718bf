// SPDX-License-Identifier: Apache-2.0
//
// The table's own promises: gates, host functions, what a shutdown gives back.
#include <atomic>

#include "anyplace/backend/entries.h"
#include "plugin.h"
#include "support.h"

namespace table_test {

namespace {

using namespace vendor_test;

/// All is given back by shutdown, and nothing is left for a context's end to clean up.
void check_that_all_is_given_back(const Double& driver) {
  INFO(driver.live_text());
  CHECK(driver.live() == 0);
  CHECK(driver.left_behind() == 0);
}

}  // namespace

TEST_CASE("The table is whole but for what the vendor has not") {
  const Double driver;
  const Plugin plugin;
  CHECK(std::string(plugin->name) == backend);
  CHECK(plugin->device_reset == nullptr);
  CHECK(plugin->kernel_from_host == nullptr);
  CHECK(plugin->kernel_destroy == nullptr);
  anyplace_device_properties properties{};
  properties.struct_size = sizeof(properties);
  Plugin::check(plugin->device_properties(plugin.self(), 0, &properties));
  int there = 0;
  // The vendors tell the time between two events and no more, and nothing is to do at the end of an export.
#define CHECK_ENTRY(entry, presence, needed_for)                                                               \
  {                                                                                                            \
    INFO(#entry);                                                                                              \
    const std::uint64_t capabilities = needed_for;                                                             \
    const bool expected = std::string(#entry) != "event_timestamp" && std::string(#entry) != "device_clock" && \
                          (capabilities == 0 || (properties.capabilities & capabilities) != 0);                \
    CHECK((plugin->entry != nullptr) == expected);                                                             \
    there += plugin->entry != nullptr;                                                                         \
  }
  ANYPLACE_ENTRY_LIST(CHECK_ENTRY)
#undef CHECK_ENTRY
  CHECK(there >= 50);
}

TEST_CASE("A gate lets pass when it is opened and its word is used again at once") {
  const Double driver;
  {
    Plugin plugin;
    const anyplace_stream first = plugin.make_stream(0), second = plugin.make_stream(0);
    anyplace_gate gate = 0;
    Plugin::check(plugin->gate_create(plugin.self(), 0, &gate));
    Plugin::check(plugin->stream_wait_gate(plugin.self(), first, gate));
    CHECK_FALSE(plugin.is_done(first));
    // Opened and destroyed before the device came to look.
    driver.hold(0, true);
    Plugin::check(plugin->gate_open(plugin.self(), gate));
    Plugin::check(plugin->gate_destroy(plugin.self(), gate));
    anyplace_gate next = 0;
    Plugin::check(plugin->gate_create(plugin.self(), 0, &next));
    Plugin::check(plugin->stream_wait_gate(plugin.self(), second, next));
    driver.hold(0, false);
    plugin.synchronize(first);
    CHECK_FALSE(plugin.is_done(second));
    CHECK(plugin->stream_synchronize(plugin.self(), second, 1'000'000) == ANYPLACE_STATUS_TIMEOUT);
    Plugin::check(plugin->gate_open(plugin.self(), next));
    plugin.synchronize(second);
    // One that is open holds nobody.
    Plugin::check(plugin->stream_wait_gate(plugin.self(), first, next));
    plugin.synchronize(first);
    Plugin::check(plugin->gate_destroy(plugin.self(), next));
    Plugin::check(plugin->stream_destroy(plugin.self(), first));
    Plugin::check(plugin->stream_destroy(plugin.self(), second));
  }
  check_that_all_is_given_back(driver);
}

TEST_CASE("Many gates at a time") {
  const Double driver;
  {
    Plugin plugin;
    const anyplace_stream stream = plugin.make_stream(0);
    std::vector<anyplace_gate> gates(200);
    for (anyplace_gate& gate : gates) {
      Plugin::check(plugin->gate_create(plugin.self(), 0, &gate));
      Plugin::check(plugin->stream_wait_gate(plugin.self(), stream, gate));
    }
    for (const anyplace_gate gate : gates) {
      CHECK_FALSE(plugin.is_done(stream));
      Plugin::check(plugin->gate_open(plugin.self(), gate));
    }
    plugin.synchronize(stream);
    for (const anyplace_gate gate : gates) Plugin::check(plugin->gate_destroy(plugin.self(), gate));
    Plugin::check(plugin->stream_destroy(plugin.self(), stream));
  }
  check_that_all_is_given_back(driver);
}

TEST_CASE("A host function is called once with success and once with another status when the device is lost") {
  const Double driver;
  Plugin plugin;
  struct Calls {
    std::atomic<int> made{0};
    std::atomic<anyplace_status> status{-1};
  } calls;
  const auto count = [](void* user, anyplace_status status) {
    auto& to = *static_cast<Calls*>(user);
    to.status = status;
    ++to.made;
    to.made.notify_all();
  };
  const anyplace_stream stream = plugin.make_stream(0);
  Plugin::check(plugin->stream_host_function(plugin.self(), stream, count, &calls));
  plugin.synchronize(stream);
  CHECK(calls.made == 1);
  CHECK(calls.status == ANYPLACE_STATUS_OK);
  driver.hold(0, true);
  Plugin::check(plugin->stream_host_function(plugin.self(), stream, count, &calls));
  REQUIRE(driver.fail_device(0, result::illegal_address));
  calls.made.wait(1);
  CHECK(calls.status == ANYPLACE_STATUS_DEVICE_LOST);
  driver.hold(0, false);
  CHECK(plugin->stream_synchronize(plugin.self(), stream, ANYPLACE_FOREVER) == ANYPLACE_STATUS_DEVICE_LOST);
  CHECK(plugin->stream_destroy(plugin.self(), stream) == ANYPLACE_STATUS_OK);
  CHECK(calls.made == 2);
}

TEST_CASE("A host function that the vendor refuses is not called") {
  const Double driver;
  Plugin plugin;
  const anyplace_stream stream = plugin.make_stream(0);
  bool called = false;
  REQUIRE(driver.fail_nth(call::launch_host_function, 1, result::out_of_memory));
  const auto note = [](void* user, anyplace_status) { *static_cast<bool*>(user) = true; };
  CHECK(plugin->stream_host_function(plugin.self(), stream, note, &called) == ANYPLACE_STATUS_OUT_OF_MEMORY);
  plugin.synchronize(stream);
  CHECK_FALSE(called);
  Plugin::check(plugin->stream_destroy(plugin.self(), stream));
}

TEST_CASE("Frees and destroys after the loss of a device are silent") {
  const Double driver;
  Plugin plugin;
  const anyplace_stream stream = plugin.make_stream(0);
  anyplace_event_desc desc{sizeof(desc), 0};
  anyplace_event event = 0;
  Plugin::check(plugin->event_create(plugin.self(), 0, &desc, &event));
  anyplace_address device = 0, pinned = 0, managed = 0, ordered = 0;
  Plugin::check(plugin->memory_allocate(plugin.self(), 0, ANYPLACE_MEMORY_DEVICE, 4096, &device));
  Plugin::check(plugin->memory_allocate(plugin.self(), 0, ANYPLACE_MEMORY_PINNED, 4096, &pinned));
  Plugin::check(plugin->memory_allocate(plugin.self(), 0, ANYPLACE_MEMORY_MANAGED, 4096, &managed));
  Plugin::check(plugin->memory_allocate_async(plugin.self(), stream, 4096, &ordered));
  plugin.synchronize(stream);
  REQUIRE(driver.fail_device(0, result::launch_failed));
  CHECK(plugin->stream_synchronize(plugin.self(), stream, ANYPLACE_FOREVER) == ANYPLACE_STATUS_DEVICE_LOST);
  CHECK(Plugin::vendor_code() == result::launch_failed);
  CHECK(plugin->memory_free_async(plugin.self(), stream, ordered) == ANYPLACE_STATUS_OK);
  CHECK(plugin->memory_free(plugin.self(), 0, ANYPLACE_MEMORY_DEVICE, device) == ANYPLACE_STATUS_OK);
  CHECK(plugin->memory_free(plugin.self(), 0, ANYPLACE_MEMORY_PINNED, pinned) == ANYPLACE_STATUS_OK);
  CHECK(plugin->memory_free(plugin.self(), 0, ANYPLACE_MEMORY_MANAGED, managed) == ANYPLACE_STATUS_OK);
  CHECK(plugin->event_destroy(plugin.self(), event) == ANYPLACE_STATUS_OK);
  CHECK(plugin->stream_destroy(plugin.self(), stream) == ANYPLACE_STATUS_OK);
}

TEST_CASE("A shutdown waits for what is running and gives everything back") {
  const Double driver;
  {
    Plugin plugin;
    const anyplace_stream stream = plugin.make_stream(0), left = plugin.make_stream(1);
    anyplace_address memory = 0;
    Plugin::check(plugin->memory_allocate(plugin.self(), 0, ANYPLACE_MEMORY_DEVICE, 4096, &memory));
    Plugin::check(plugin->memory_set(plugin.self(), stream, memory, 1, 4, 1024));
    Plugin::check(plugin->stream_destroy(plugin.self(), stream));
    Plugin::check(plugin->stream_destroy(plugin.self(), left));
    plugin.synchronize(plugin.make_stream(1));
    CHECK(plugin->device_synchronize(plugin.self(), 0, ANYPLACE_FOREVER) == ANYPLACE_STATUS_OK);
    Plugin::check(plugin->memory_free(plugin.self(), 0, ANYPLACE_MEMORY_DEVICE, memory));
  }
  CHECK(driver.live("context") == 0);
  CHECK(driver.live("pool") == 0);
  CHECK(driver.live("event") == 0);
  CHECK(driver.live("stream") == 0);  // also the one that was never destroyed
}

TEST_CASE("A shutdown that runs out of time leaves things as they are") {
  const Double driver;
  Plugin plugin;
  const anyplace_stream stream = plugin.make_stream(0);
  anyplace_address memory = 0;
  Plugin::check(plugin->memory_allocate(plugin.self(), 0, ANYPLACE_MEMORY_DEVICE, 4096, &memory));
  driver.hold(0, true);
  Plugin::check(plugin->memory_set(plugin.self(), stream, memory, 1, 4, 1024));
  CHECK(plugin->shutdown(plugin.self(), 1'000'000) == ANYPLACE_STATUS_TIMEOUT);
  CHECK(driver.live("context") == contexts_of_a_device);
  CHECK(driver.live("stream") == 2);  // ours and the backend's own
  driver.hold(0, false);
  plugin.synchronize(stream);
  Plugin::check(plugin->memory_free(plugin.self(), 0, ANYPLACE_MEMORY_DEVICE, memory));
  Plugin::check(plugin->stream_destroy(plugin.self(), stream));
}

}  // namespace table_test
