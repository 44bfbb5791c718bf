// SPDX-License-Identifier: Apache-2.0
//
// What the environment says, and what it may not say.
#include <catch2/catch.hpp>

#include "plugin.h"

namespace test_config_cases {

using namespace cpu_sim_test;

namespace {

std::int32_t count(Plugin& plugin) {
  std::int32_t count = -1;
  check(plugin->device_count(plugin.self(), &count));
  return count;
}

}  // namespace

TEST_CASE(
    "Given no variables, When the plugin is entered, Then there are two devices of 1 GiB and at least 2 workers") {
  Plugin plugin;
  CHECK(count(plugin) == 2);
  CHECK(plugin.properties(0).total_memory == std::uint64_t{1} << 30);
  CHECK(plugin.properties(0).compute_units >= 2);
}

TEST_CASE("Given an empty variable, Then it counts as unset") {
  Plugin plugin(Environment{{"DEVICES", ""}, {"MEMORY", ""}, {"WORKERS", ""}});
  CHECK(count(plugin) == 2);
  CHECK(plugin.properties(1).total_memory == std::uint64_t{1} << 30);
}

TEST_CASE("Given a number of devices from 0 to 4096, Then there are that many") {
  for (std::int32_t devices : {0, 1, 64, 4096}) {
    Plugin plugin(Environment{{"DEVICES", std::to_string(devices)}});
    CHECK(count(plugin) == devices);
  }
}

TEST_CASE("Given no device, When one is used, Then the answer is NO_SUCH_DEVICE and says how many there are") {
  Plugin plugin(Environment{{"DEVICES", "0"}});
  std::string text;
  CHECK(status_of([&] { plugin.allocate(1); }, &text) == ANYPLACE_STATUS_NO_SUCH_DEVICE);
  CHECK_THAT(text, Catch::Contains("0 devices"));
}

TEST_CASE("Given a device index out of range, Then every device entry answers NO_SUCH_DEVICE") {
  Plugin plugin;
  for (std::int32_t device : {-1, 2, INT32_MAX, INT32_MIN}) {
    CHECK(status_of([&] { plugin.properties(device); }) == ANYPLACE_STATUS_NO_SUCH_DEVICE);
    CHECK(status_of([&] { plugin.synchronize(device); }) == ANYPLACE_STATUS_NO_SUCH_DEVICE);
    CHECK(status_of([&] { plugin.free_bytes(device); }) == ANYPLACE_STATUS_NO_SUCH_DEVICE);
    CHECK(status_of([&] { Gate gate(plugin, device); }) == ANYPLACE_STATUS_NO_SUCH_DEVICE);
    CHECK(status_of([&] { Event event(plugin, 0, device); }) == ANYPLACE_STATUS_NO_SUCH_DEVICE);
    CHECK(plugin->peer_enable(plugin.self(), 0, device) == ANYPLACE_STATUS_NO_SUCH_DEVICE);
    std::uint64_t bytes = 0;
    CHECK(plugin->virtual_granularity(plugin.self(), device, &bytes) == ANYPLACE_STATUS_NO_SUCH_DEVICE);
  }
}

TEST_CASE("Given a memory size with or without a suffix, Then each device has that much") {
  const std::pair<const char*, std::uint64_t> sizes[] = {{"1", 1},
                                                         {"4096", 4096},
                                                         {"3KiB", 3 << 10},
                                                         {"64MiB", 64 << 20},
                                                         {"40GiB", std::uint64_t{40} << 30},
                                                         {"2TiB", std::uint64_t{2} << 40}};
  for (const auto& [text, bytes] : sizes) {
    Plugin plugin(Environment{{"MEMORY", text}});
    CHECK(plugin.properties(0).total_memory == bytes);
    CHECK(plugin.free_bytes(1) == bytes);
  }
}

TEST_CASE("Given a number of workers, Then that is the number of compute units") {
  Plugin plugin(Environment{{"WORKERS", "3"}});
  CHECK(plugin.properties(0).compute_units == 3);
}

TEST_CASE("Given a bad value, When the plugin is entered, Then it refuses, showing the variable and the value") {
  const std::pair<const char*, std::vector<const char*>> bad[] = {
      {"DEVICES", {"-1", "4097", "two", "1x", " 1", "1 ", "+1", "0x2", "99999999999999999999"}},
      {"WORKERS", {"0", "-1", "1025", "many", "1.5"}},
      {"IDLE_BACKOFF", {"-1", "1000001", "50us", "0.5", "never"}},
      {"MEMORY", {"0", "-1", "1GB", "1 GiB", "GiB", "1gib", "0KiB", "9223372036854775808", "8388608TiB", "1GiBx"}}};
  for (const auto& [name, values] : bad) {
    for (const char* value : values) {
      CAPTURE(name, value);
      std::string text;
      CHECK(Plugin::enter({{name, value}}, &text) == ANYPLACE_STATUS_INVALID_ARGUMENT);
      CHECK_THAT(text, Catch::Contains(std::string("ANYPLACE_CPU_SIM_") + name));
      CHECK_THAT(text, Catch::Contains(std::string("\"") + value + "\""));
      CHECK_THAT(text, Catch::Contains("allowed is"));
    }
  }
}

TEST_CASE("Given a long value with control characters, Then the message shows it shortened and escaped") {
  std::string text;
  CHECK(Plugin::enter({{"DEVICES", "\x01\"" + std::string(1000, 'a')}}, &text) == ANYPLACE_STATUS_INVALID_ARGUMENT);
  CHECK_THAT(text, Catch::Contains("\\x01\\x22aaa"));
  CHECK(text.size() < 300);
}

}  // namespace test_config_cases
