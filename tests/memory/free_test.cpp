// SPDX-License-Identifier: Apache-2.0
// When memory is given back: in stream order, without waiting, after every stream that uses it, whatever became of
// those.
#include <atomic>
#include <cstdlib>

#include "memory/memory_support.h"

namespace free_test {

using namespace anyplace;
using namespace memory_test;

namespace {

constexpr std::uint64_t mebibyte = 1 << 20;

/// Before the first use of a backend.
void give_devices_memory(const char* bytes) { REQUIRE(setenv("ANYPLACE_CPU_SIM_MEMORY", bytes, 1) == 0); }

std::uint64_t free_bytes(const Device& device) { return device.memory_info().free.value(); }

}  // namespace

TEST_CASE("Given pending work a freed buffer's memory stays until that work is done") {
  const std::string place = GENERATE("cpu_sim:0", "sim_plain:0", "sim_bare:0");
  const Device device(place);
  const Stream stream(device);
  const Bytes bytes = pattern(100000);
  Bytes result(bytes.size());
  Buffer buffer = upload(stream, bytes);
  {
    HostGate gate(stream);
    stream.copy(result, buffer);
    buffer = Buffer();
    // Whoever got the memory too early would be seen in the result.
    const Stream other(device);
    std::vector<Buffer> others;
    for (int i = 0; i < 8; ++i) {
      others.emplace_back(other, bytes.size());
      other.memset8(others.back(), 0xee);
    }
    other.synchronize();
  }
  stream.synchronize();
  CHECK(result == bytes);
}

TEST_CASE("Memory that a host function let go of is there for an allocation that is short, and for empty_cache") {
  const Device device("cpu_sim:0");
  if (!allocator_config(device).limit_bytes) configure_allocator(device, {.limit_bytes = 64 * mebibyte});
  const Stream stream(device);
  const bool short_of_memory = GENERATE(true, false);
  constexpr int rounds = 40;
  for (int i = 0; i < rounds; ++i) {
    // A thread that is to free them one after the other hasn't come to the last.
    auto held = std::make_shared<std::vector<Buffer>>();
    for (int j = 0; j < 1000; ++j) held->emplace_back(stream, 16);
    held->emplace_back(stream, 48 * mebibyte);
    stream.launch_host_func([held = std::move(held)]() mutable { held.reset(); });
    stream.synchronize();
    if (short_of_memory) {
      REQUIRE_NOTHROW(Buffer(stream, 56 * mebibyte));
    } else {
      empty_cache(device);
      REQUIRE(memory_reserved(device) == 0);
    }
  }
}

TEST_CASE("Pinned memory that a host function let go of is there for an allocation that is short") {
  const Device device("cpu_sim:0");
  configure_allocator(device, {.pinned_limit_bytes = 64 * mebibyte});
  const Stream stream(device);
  const Buffer target(stream, 16);
  constexpr int rounds = 40;
  for (int i = 0; i < rounds; ++i) {
    auto held = std::make_shared<std::vector<HostBuffer>>();
    for (int j = 0; j < 200; ++j) held->emplace_back(device, 16);
    held->emplace_back(device, 48 * mebibyte);
    for (const HostBuffer& each : *held) stream.copy(target, ConstHostSpan(each.data(), 16));
    stream.launch_host_func([held = std::move(held)]() mutable { held.reset(); });
    stream.synchronize();
    REQUIRE_NOTHROW(HostBuffer(device, 56 * mebibyte));
  }
}

TEST_CASE("Destroying a buffer waits for nothing even where the vendor's free synchronises") {
  without_cache();
  const Device device("sim_plain:0");
  Controls& controls = controls_of(device);
  controls.free_synchronises = true;
  const Stream stream(device);
  Buffer buffer(stream, 1000);
  {
    HostGate gate(stream);
    stream.memset8(buffer, 1);
    buffer = Buffer();  // would never return
    CHECK(controls.frees == 0);
  }
  stream.synchronize();
  const Buffer next(stream, 1000);
  CHECK(controls.frees == 1);
  CHECK(controls.allocations == 2);
}

TEST_CASE("Deferred memory is given back when the device is synchronised") {
  without_cache();
  const Device device("sim_plain:0");
  const Stream stream(device);
  {
    const Buffer buffer(stream, 1000);
    stream.memset8(buffer, 1);
  }
  device.synchronize();
  CHECK(controls_of(device).frees == 1);
}

TEST_CASE("A buffer of one stream is freed in that stream's order by the backend that can") {
  without_cache();
  const Device device("sim_full:0");
  Controls& controls = controls_of(device);
  const Stream stream(device);
  {
    HostGate gate(stream);
    const Buffer buffer(stream, 1000);
    CHECK(controls.async_allocations == 1);
  }
  CHECK(controls.async_frees == 1);
  stream.synchronize();
  CHECK(controls.frees == 0);
  CHECK(controls.events == 0);
}

TEST_CASE("record_stream takes streams of other devices and of other backends") {
  without_cache();
  const Device device("sim_plain:0");
  const Stream home(device);
  const std::string place = GENERATE("sim_plain:1", "cpu_sim:0", "sim_bare:0");
  const Stream user{Device(place)};
  const std::uint64_t before = controls_of(device).frees;
  Buffer buffer(home, 64);
  {
    HostGate gate(user);
    buffer.record_stream(user);
    buffer = Buffer();
    home.synchronize();
    { const Buffer looks_at_what_is_pending(home, 64); }
    CHECK(controls_of(device).frees == before);
  }
  user.synchronize();
  device.synchronize();
  CHECK(controls_of(device).frees == before + 2);
}

TEST_CASE("A buffer keeps the backend's stream and not the handle") {
  const Device device("sim_full:0");
  Controls& controls = controls_of(device);
  Buffer buffer;
  StreamView view;
  {
    const Stream stream(device);
    view = stream;
    buffer = Buffer(stream, 10);
  }
  CHECK(controls.streams_destroyed == 0);
  refused(ErrorCode::invalid_handle, [&] { view.synchronize(); });
  buffer = Buffer();
  CHECK(controls.streams_destroyed == 1);
}

TEST_CASE("A buffer that lives long lets go of streams that are over") {
  const Device device("sim_full:0");
  Controls& controls = controls_of(device);
  const Stream home(device);
  const Buffer buffer(home, 10);
  for (int i = 0; i < 200; ++i) {
    const Stream user(device);
    user.memset8(buffer, 1);
    buffer.record_stream(user);
    user.synchronize();
  }
  CHECK(controls.streams_destroyed >= 100);
}

TEST_CASE("A buffer destroyed inside a host function is freed") {
  without_cache();
  const std::string place = GENERATE("sim_full:0", "sim_plain:0", "sim_bare:0");
  const Device device(place);
  Controls& controls = controls_of(device);
  const Stream stream(device);
  auto buffer = std::make_shared<Buffer>(stream, 100);
  stream.memset8(*buffer, 1);
  std::atomic<bool> not_permitted{false};
  stream.launch_host_func([&not_permitted, &stream, kept = std::move(buffer)]() mutable {
    try {
      kept->record_stream(stream);
    } catch (const Error& error) {
      not_permitted = error.code() == ErrorCode::not_permitted;
    }
    kept.reset();
  });
  stream.synchronize();
  CHECK(not_permitted);
  // The service thread may still be at it: ask until it is done.
  while (controls.frees + controls.async_frees == 0) device.synchronize();
  CHECK(controls.frees + controls.async_frees == 1);
}

TEST_CASE("Out of memory has the figures") {
  without_cache();
  give_devices_memory("1MiB");
  const std::string place = GENERATE("cpu_sim:0", "sim_plain:0");
  const Device device(place);
  const Stream stream(device);
  const Buffer held(stream, 600000);
  const Error error = error_of([&] { const Buffer buffer(stream, 500000); });
  CHECK(error.code() == ErrorCode::out_of_memory);
  CHECK(error.place() == place);
  REQUIRE(error.memory().has_value());
  CHECK(error.memory()->requested == 500000);
  CHECK(error.memory()->free == mebibyte - 600000);
  CHECK(error.memory()->cached == 0);
  CHECK(error.memory()->in_use == 600000);
  CHECK(error.memory()->limit == mebibyte);
  CHECK_THAT(std::string(error.what()), Catch::Contains("500000") && Catch::Contains("600000"));
}

TEST_CASE("Memory is not out before pending frees were waited for") {
  without_cache();
  give_devices_memory("1MiB");
  const std::string place = GENERATE("cpu_sim:0", "sim_plain:0");
  const Device device(place);
  const Stream slow(device);
  const Stream stream(device);
  Buffer buffer(slow, 900000);
  std::promise<void> opened;
  slow.launch_host_func([&] { opened.get_future().wait(); });
  slow.memset8(buffer, 1);
  buffer = Buffer();
  const Error error = error_of([&] { const Buffer too_large(stream, 2 * mebibyte); });
  CHECK(error.code() == ErrorCode::out_of_memory);  // without waiting: that much will never be free
  std::thread opener([&] { opened.set_value(); });
  const Buffer next(stream, 900000);
  opener.join();
  CHECK(free_bytes(device) == mebibyte - 900000);
}

TEST_CASE("Bytes in use follow buffers and not what is pending") {
  without_cache();
  give_devices_memory("1MiB");
  const Device device("cpu_sim:0");
  const Stream stream(device);
  Buffer first(stream, 1000);
  const Buffer second(stream, 2000);
  const auto in_use = [&] { return error_of([&] { const Buffer buffer(stream, 4 * mebibyte); }).memory()->in_use; };
  CHECK(in_use() == 3000);
  HostGate gate(stream);
  first = Buffer();
  CHECK(in_use() == 2000);
}

TEST_CASE("A buffer of a lost device frees itself without a word") {
  without_cache();
  const std::string place = GENERATE("sim_full:0", "sim_plain:0");
  const Device device(place);
  Controls& controls = controls_of(device);
  const CaughtReports reports;
  {
    const Stream stream(device);
    const Stream second(device);
    Buffer buffer(stream, 100);
    Buffer shared(stream, 100);
    shared.record_stream(second);
    controls.lost = true;  // with nothing running: the simulated device would go on with it
    refused(ErrorCode::device_lost, [&] { stream.copy(buffer.view(), shared.view()); });
    refused(ErrorCode::device_lost, [&] { const Buffer next(stream, 100); });
    refused(ErrorCode::device_lost, [&] { const HostBuffer next(device, 100); });
    refused(ErrorCode::device_lost, [&] { Buffer::from_native(device, 4096, 1); });
  }
  CHECK(controls.frees == 2);
  CHECK(reports.all().empty());
}

TEST_CASE("A device that is lost while memory waits to be freed takes it all the same") {
  without_cache();
  const Device device("sim_plain:0");
  Controls& controls = controls_of(device);
  const CaughtReports reports;
  const Stream stream(device);
  Buffer first(stream, 100);
  Buffer second(stream, 100);
  Bytes host(100);
  {
    HostGate gate(stream);
    first = Buffer();
    controls.lost = true;
    refused(ErrorCode::device_lost, [&] { stream.copy(host, second); });
    second = Buffer();
  }
  CHECK(controls.frees == 2);
  CHECK(reports.all().empty());
}

TEST_CASE("A loss that only the core's own look at pending memory finds is told by the free that finds it, too") {
  without_cache();
  const Device device("sim_plain:0");
  Controls& controls = controls_of(device);
  const CaughtReports reports;
  const Stream stream(device);
  Buffer pending(stream, 100);
  Buffer idle(stream, 100);
  {
    HostGate gate(stream);
    pending = Buffer();
    controls.lost_in_free = controls.lost = true;
    idle = Buffer();
  }
  CHECK(controls.frees == 2);
  REQUIRE(reports.all().size() == 1);
  CHECK_THAT(reports.all().front(), Catch::Contains("freeing memory: device_lost"));
}

TEST_CASE("Memory that no event can stand for is freed when the device is idle") {
  without_cache();
  give_devices_memory("1MiB");
  const Device device("sim_plain:0");
  Controls& controls = controls_of(device);
  const Stream stream(device);
  Buffer buffer(stream, 900000);
  stream.memset8(buffer, 1);
  controls.failing_records = 1;
  buffer = Buffer();
  CHECK(controls.failing_records == 0);
  device.synchronize();
  CHECK(controls.frees == 0);  // nothing has shown that the work which it waits for was part of that
  const Buffer next(stream, 900000);
  CHECK(controls.frees == 1);
}

}  // namespace free_test
