// SPDX-License-Identifier: Apache-2.0
// Devices, streams, events and callbacks, through the table alone; and what InitPlugin refuses.
#include <atomic>
#include <cstring>
#include <thread>

#include "entries.h"

using namespace entries_test;

CASE(
    "Given a Paddle whose structures have other sizes, When it loads the plug-in, Then it is refused with both sizes") {
  C_DeviceInterface table{};
  CustomRuntimeParams params{};
  params.interface = &table;
  params.size = sizeof(CustomRuntimeParams);
  table.size = sizeof(C_DeviceInterface) - 8;
  plugin().init(&params);
  REQUIRE(params.device_type == nullptr);
  const std::string error = plugin().error();
  REQUIRE(error.find(std::to_string(sizeof(C_DeviceInterface) - 8)) != std::string::npos);
  REQUIRE(error.find(std::to_string(sizeof(C_DeviceInterface)) + " bytes") != std::string::npos);
  table.size = sizeof(C_DeviceInterface);
  params.size = sizeof(CustomRuntimeParams) + 8;
  plugin().init(&params);
  REQUIRE(params.device_type == nullptr);
}

CASE("Given the table, When it is filled, Then the version is the header's and there are devices") {
  REQUIRE(plugin().params.version.minor == PADDLE_CUSTOM_RUNTIME_MINOR_VERSION);
  REQUIRE(std::strlen(plugin().params.device_type) > 0);
  std::vector<std::size_t> list(static_cast<std::size_t>(device_count()));
  REQUIRE(!list.empty());
  REQUIRE(plugin().table.get_device_list(list.data()) == C_SUCCESS);
  for (std::size_t i = 0; i < list.size(); ++i) REQUIRE(list[i] == i);
}

CASE("Given two threads, When each sets its device, Then each has its own") {
  Device last(device_count() - 1), found(-1);
  REQUIRE(plugin().table.set_device(last) == C_SUCCESS);
  int other = -1;
  std::thread([&] {
    Device mine(-1);
    if (plugin().table.get_device(mine) == C_SUCCESS) other = mine.device.id;
  }).join();
  REQUIRE(other == 0);
  REQUIRE(plugin().table.get_device(found) == C_SUCCESS);
  REQUIRE(found.device.id == device_count() - 1);
  Device first(0);
  REQUIRE(plugin().table.set_device(first) == C_SUCCESS);
}

CASE("Given a number that no place has, When it is set, Then that is an error that says how many there are") {
  Device none(1000);
  REQUIRE(plugin().table.set_device(none) == C_ERROR);
  const std::string error = plugin().error();
  REQUIRE(error.find(":1000") != std::string::npos);
  REQUIRE(error.find("ANYPLACE_PADDLE_PLACES") != std::string::npos);
}

CASE("Given two streams of any two devices, When one waits for the other's event, Then their callbacks run in order") {
  for (int first = 0; first < device_count(); ++first) {
    for (int second = 0; second < device_count(); ++second) {
      Stream before(first), after(second);
      Device device(first), other(second);
      C_Event event = nullptr;
      std::atomic<int> turn{0}, when_first{0}, when_second{0};
      std::atomic<bool> go{false};
      REQUIRE(plugin().table.create_event(device, &event) == C_SUCCESS);
      REQUIRE(plugin().table.query_event(device, event) == C_SUCCESS);  // never recorded
      REQUIRE(add_callback(first, before.get(), [&] {
                go.wait(false);
                when_first = ++turn;
              }) == C_SUCCESS);
      REQUIRE(plugin().table.record_event(device, before.get(), event) == C_SUCCESS);
      REQUIRE(plugin().table.stream_wait_event(other, after.get(), event) == C_SUCCESS);
      REQUIRE(add_callback(second, after.get(), [&] { when_second = ++turn; }) == C_SUCCESS);
      REQUIRE(plugin().table.query_event(device, event) == C_FAILED);
      go = true;
      go.notify_all();
      after.synchronize();
      REQUIRE(plugin().table.synchronize_event(device, event) == C_SUCCESS);
      REQUIRE(when_first == 1 && when_second == 2);
      REQUIRE(plugin().table.destroy_event(device, event) == C_SUCCESS);
    }
  }
}

CASE("Given work in a stream, When the device is synchronised, Then it is done") {
  Stream stream(0);
  Device device(0);
  std::atomic<bool> done{false};
  REQUIRE(add_callback(0, stream.get(), [&] {
            std::this_thread::yield();
            done = true;
          }) == C_SUCCESS);
  REQUIRE(plugin().table.synchronize_device(device) == C_SUCCESS);
  REQUIRE(done);
}

CASE("Given a callback that throws, When its stream is synchronised, Then that is an error with the text, once") {
  Stream stream(0);
  Device device(0);
  REQUIRE(add_callback(0, stream.get(), [] { throw std::runtime_error("the disk is full"); }) == C_SUCCESS);
  REQUIRE(plugin().table.synchronize_stream(device, stream.get()) == C_INTERNAL_ERROR);
  REQUIRE(plugin().error().find("the disk is full") != std::string::npos);
  stream.synchronize();
}

CASE("Given a callback that reports a failed status, When its stream is synchronised, Then that is an error") {
  Stream stream(0);
  Device device(0);
  REQUIRE(plugin().table.stream_add_callback(
              device, stream.get(), [](C_Device, C_Stream, void*, C_Status* status) { *status = C_FAILED; }, nullptr) ==
          C_SUCCESS);
  REQUIRE(plugin().table.synchronize_stream(device, stream.get()) == C_INTERNAL_ERROR);
  REQUIRE(plugin().error().find("status 2") != std::string::npos);
}

CASE("Given a stream and an event that were destroyed, When they are used, Then that is an error and no crash") {
  Device device(0);
  C_Stream stream = nullptr;
  C_Event event = nullptr;
  auto& table = plugin().table;
  REQUIRE(table.create_stream(device, &stream) == C_SUCCESS);
  REQUIRE(table.create_event(device, &event) == C_SUCCESS);
  REQUIRE(table.destroy_stream(device, stream) == C_SUCCESS);
  REQUIRE(table.destroy_event(device, event) == C_SUCCESS);
  REQUIRE(table.synchronize_stream(device, stream) == C_ERROR);
  REQUIRE(plugin().error().find("invalid_handle") != std::string::npos);
  REQUIRE(table.record_event(device, nullptr, event) == C_ERROR);
  (void)plugin().error();
  REQUIRE(table.query_event(device, event) == C_SUCCESS);  // who polls goes on, and the failure is said
  REQUIRE(plugin().error().find("invalid_handle") != std::string::npos);
  REQUIRE(table.destroy_stream(device, stream) == C_SUCCESS);
  REQUIRE(plugin().error().find("no such stream") != std::string::npos);
}

CASE("Given Paddle's null stream, When it is used, Then it is the device's null stream") {
  Device device(0);
  C_Event event = nullptr;
  auto& table = plugin().table;
  REQUIRE(table.create_event(device, &event) == C_SUCCESS);
  REQUIRE(table.record_event(device, nullptr, event) == C_SUCCESS);
  REQUIRE(table.synchronize_event(device, event) == C_SUCCESS);
  REQUIRE(table.synchronize_stream(device, nullptr) == C_SUCCESS);
  REQUIRE(table.query_stream(device, nullptr) == C_SUCCESS);
  REQUIRE(table.destroy_event(device, event) == C_SUCCESS);
}

CASE("Given each device, When Paddle asks for its properties, Then there are answers") {
  for (int id = 0; id < device_count(); ++id) {
    Device device(id);
    auto& table = plugin().table;
    std::size_t value = 0;
    std::array<unsigned int, 3> grid{};
    bool supported = true;
    REQUIRE(table.device_min_chunk_size(device, &value) == C_SUCCESS && value >= 256);
    REQUIRE(table.get_multi_process(device, &value) == C_SUCCESS && value > 0);
    REQUIRE(table.get_max_threads_per_block(device, &value) == C_SUCCESS && value > 0);
    REQUIRE(table.get_max_threads_per_mp(device, &value) == C_SUCCESS && value > 0);
    REQUIRE(table.get_compute_capability(device, &value) == C_SUCCESS);
    REQUIRE(table.get_driver_version(device, &value) == C_SUCCESS);
    REQUIRE(table.get_runtime_version(device, &value) == C_SUCCESS && value > 0);
    REQUIRE(table.get_max_grid_dim_size(device, &grid) == C_SUCCESS && grid[0] > 0);
    REQUIRE(table.is_float16_supported(device, &supported) == C_SUCCESS && !supported);
  }
}
