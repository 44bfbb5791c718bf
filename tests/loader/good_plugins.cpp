// SPDX-License-Identifier: Apache-2.0
// Plugins that keep the contract load, whatever they are written in, and work.
#include <catch2/catch.hpp>
#include <cstdint>
#include <numeric>
#include <string>
#include <vector>

#include "anyplace/anyplace.h"
#include "anyplace/backend/abi.h"
#include "loader/files.h"

namespace good_plugins_cases {

using anyplace::Buffer;
using anyplace::Device;
using anyplace::ErrorCode;
using anyplace::Event;
using anyplace::Stream;
using anyplace_test::built_plugin;
using anyplace_test::Folder;
using anyplace_test::search_in;
using Catch::Contains;

namespace {

/// Streams, events, memory, copies and fills, each once.
void exercise(const Device& device) {
  Stream first(device);
  Stream second(device);
  std::vector<std::uint8_t> sent(1000);
  std::iota(sent.begin(), sent.end(), static_cast<std::uint8_t>(0));
  std::vector<std::uint8_t> received(1000);
  Buffer a(first, 1000);
  Buffer b(first, 1000);
  CHECK(a.address() % 256 == 0);
  first.copy(a, sent);
  first.copy(b, a);
  const Event done = first.record_event();
  second.wait_event(done);
  second.copy(received, b);
  second.synchronize();
  CHECK(received == sent);
  CHECK(done.query());
  CHECK(second.query());
  first.memset16(a, 0x1234);
  first.copy(received, a);
  first.synchronize();
  CHECK(received[998] == 0x34);
  CHECK(received[999] == 0x12);
  device.default_stream().synchronize();
  device.synchronize();
}

}  // namespace

TEST_CASE("A plugin written by hand in C loads and works") {
  search_in(std::string(ANYPLACE_TEST_PLUGINS) + "/plain");
  const Device device("plain:0");
  CHECK(device.to_string() == "plain:0");
  CHECK(device.properties().name == "plain");
  CHECK_FALSE(device.properties().total_memory.has_value());
  exercise(device);
}

TEST_CASE("A plugin derived from DeviceBackend loads and works") {
  search_in(std::string(ANYPLACE_TEST_PLUGINS) + "/plus");
  CHECK(anyplace::device_count("plus") == 2);
  for (const Device& device : anyplace::devices("plus")) exercise(device);
}

TEST_CASE("Two backends live in one process and copy to each other") {
  search_in(std::string(ANYPLACE_TEST_PLUGINS) + "/plain:" + ANYPLACE_TEST_PLUGINS + "/plus");
  exercise(Device("plain"));
  exercise(Device("plus"));
  exercise(Device("cpu_sim"));
}

TEST_CASE("What a plugin says of itself is there to be read") {
  search_in(std::string(ANYPLACE_TEST_PLUGINS) + "/plain");
  const anyplace::BackendInfo info = anyplace::backend_info("plain");
  CHECK(info.name == "plain");
  CHECK(info.version == "1.0");
  CHECK_THAT(info.description, Contains("written in C"));
  CHECK(info.path == built_plugin("plain"));
  CHECK(info.abi_major == ANYPLACE_ABI_MAJOR);
  CHECK(info.abi_minor == ANYPLACE_ABI_MINOR);
  const auto candidate = anyplace_test::candidate_at(built_plugin("plain"));
  REQUIRE(candidate.has_value());
  CHECK(candidate->state == anyplace::PluginCandidate::State::accepted);
  CHECK(candidate->source == anyplace::PluginCandidate::Source::path_variable);
  CHECK(candidate->code == ErrorCode::ok);
}

TEST_CASE("What a plugin lacks is unsupported and everything else goes on") {
  search_in(std::string(ANYPLACE_TEST_PLUGINS) + "/plain");
  const Device device("plain:0");
  const Stream stream(device);
  CHECK(anyplace_test::error_of([&] { stream.launch_host_func([] {}); }).code() == ErrorCode::unsupported);
  CHECK(anyplace_test::error_of([&] { device.reset(); }).code() == ErrorCode::unsupported);
  CHECK(anyplace_test::error_of([&] { device.native_handle(); }).code() == ErrorCode::unsupported);
  CHECK(anyplace_test::error_of([&] { device.enable_peer_access(device); }).code() == ErrorCode::unsupported);
  exercise(device);
}

TEST_CASE("A plugin of a newer minor with a longer table is taken") {
  const Folder folder;
  anyplace_test::add_mimic(folder, "newer", "minor");
  search_in(folder.path());
  CHECK(anyplace::backend_info("newer").abi_minor == ANYPLACE_ABI_MINOR + 1);
  exercise(Device("newer:0"));
}

TEST_CASE("A plugin without devices is taken and has none") {
  const Folder folder;
  anyplace_test::add_mimic(folder, "empty", "count=0");
  search_in(folder.path());
  CHECK(anyplace::device_count("empty") == 0);
  CHECK(anyplace::devices("empty").empty());
  for (const char* const place : {"empty", "empty:0", "empty:uuid=A-1"}) {
    const anyplace::Error error = anyplace_test::device_error(place);
    CHECK(error.code() == ErrorCode::no_such_device);
    CHECK_THAT(error.text(), Contains("has no device"));
  }
}

TEST_CASE("The greatest number of devices is taken") {
  const Folder folder;
  anyplace_test::add_mimic(folder, "many", "count=" + std::to_string(ANYPLACE_MAX_DEVICES));
  search_in(folder.path());
  CHECK(anyplace::device_count("many") == ANYPLACE_MAX_DEVICES);
  CHECK(Device("many:4095").index() == 4095);
}

}  // namespace good_plugins_cases
