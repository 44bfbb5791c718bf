// SPDX-License-Identifier: Apache-2.0
// What is done, in which order, before memory is out; and what is said then.
#include <cstdlib>
#include <thread>

#include "memory/memory_support.h"

using namespace anyplace;
using namespace memory_test;

namespace {

constexpr std::uint64_t mib = std::uint64_t{1} << 20;

std::int64_t figure(const Device& device, const char* key) { return memory_stats(device).at(key); }

void configure(const Device& device, const std::string& text) {
  configure_allocator(device, AllocatorConfig::parse(text));
}

}  // namespace

TEST_CASE("Memory of a stream that is at work is lent to another, which waits for it on the device") {
  const std::string segments = GENERATE("virtual", "classic");
  const Device device(segments == "virtual" ? "cpu_sim:0" : "sim_full:0");
  configure(device, "limit_mb:64,segments:" + segments);
  const Stream stream(device);
  const Stream other(device);
  Bytes seen(1000);
  {
    HostGate gate(stream);
    {
      const Buffer buffer(stream, 40 * mib);
      stream.memset8(buffer.sub(0, 1000), 1);
    }
    const Buffer lent(other, 40 * mib);  // without waiting: the gate is closed
    other.memset8(lent.sub(0, 1000), 2);
    other.copy(seen, lent.sub(0, 1000));
    CHECK_FALSE(other.query());
  }
  other.synchronize();
  CHECK(seen == Bytes(1000, 2));
  device.synchronize();
  // It went back to where it was lent from.
  CHECK_NOTHROW(Buffer(stream, 40 * mib));
  CHECK(figure(device, "active.all.current") == 0);
}

TEST_CASE("Lent memory goes back when the borrower's work is done and not before") {
  const Device device("cpu_sim:0");
  configure(device, "limit_mb:64");
  const Stream stream(device);
  const Stream other(device);
  const Stream blocker{Device("cpu_sim:1")};
  Bytes seen(1000);
  HostGate gate(blocker);
  {
    HostGate first(stream);
    { const Buffer buffer(stream, 40 * mib); }
    const Buffer lent(other, 40 * mib);
    other.wait_stream(blocker);
    other.memset8(lent.sub(0, 1000), 2);
    other.copy(seen, lent.sub(0, 1000));
  }
  stream.synchronize();
  CHECK(figure(device, "allocation.all.current") == 0);
  CHECK(figure(device, "active.all.current") == 1);
  std::thread opener([&] { gate.open(); });
  const Buffer again(stream, 40 * mib);
  stream.memset8(again.sub(0, 1000), 3);
  opener.join();
  stream.synchronize();
  other.synchronize();
  CHECK(seen == Bytes(1000, 2));
}

TEST_CASE("Where lending is off an allocation waits for the memory's stream") {
  const Device device("cpu_sim:0");
  configure(device, "limit_mb:64,cross_stream_reuse:false");
  const Stream stream(device);
  const Stream other(device);
  HostGate gate(stream);
  { const Buffer buffer(stream, 40 * mib); }
  std::thread opener([&] { gate.open(); });
  CHECK_NOTHROW(Buffer(other, 40 * mib));
  opener.join();
  CHECK(figure(device, "num_sync_all_streams") <= 1);
}

TEST_CASE("An allocation waits for frees that are pending before memory is out") {
  const Device device("cpu_sim:0");
  configure(device, "limit_mb:64");
  const Stream stream(device);
  const Stream user(device);
  Buffer buffer(stream, 40 * mib);
  HostGate gate(user);
  user.memset8(buffer.sub(0, 100), 1);
  buffer.record_stream(user);
  buffer = Buffer();
  // What will never be there isn't waited for.
  refused(ErrorCode::out_of_memory, [&] { const Buffer too_large(stream, 65 * mib); });
  std::thread opener([&] { gate.open(); });
  CHECK_NOTHROW(Buffer(stream, 40 * mib));
  opener.join();
}

TEST_CASE("Memory of a stream that was destroyed at work isn't used before that is done") {
  const Device device("cpu_sim:0");
  configure(device, "limit_mb:64");
  auto stream = std::make_unique<Stream>(device);
  const Stream other(device);
  Bytes seen(1000);
  HostGate gate(*stream);
  {
    const Buffer buffer(*stream, 40 * mib);
    stream->memset8(buffer.sub(0, 1000), 1);
    stream->copy(seen, buffer.sub(0, 1000));
  }
  stream.reset();
  std::thread opener([&] { gate.open(); });
  const Buffer next(other, 40 * mib);
  other.memset8(next.sub(0, 1000), 2);
  opener.join();
  device.synchronize();
  CHECK(seen == Bytes(1000, 1));
}

TEST_CASE("Out of memory says what was asked for and what there is") {
  const std::string segments = GENERATE("virtual", "classic");
  const Device device(segments == "virtual" ? "cpu_sim:0" : "sim_full:0");
  configure(device, "limit_mb:100,segments:" + segments);
  const Stream stream(device);
  const Buffer held(stream, 60 * mib);
  const Buffer small(stream, 1000);
  { const Buffer freed(stream, 20 * mib); }
  const Error error = error_of([&] { const Buffer buffer(stream, 50 * mib); });
  CHECK(error.code() == ErrorCode::out_of_memory);
  REQUIRE(error.memory().has_value());
  CHECK(error.memory()->requested == 50 * mib);
  CHECK(error.memory()->in_use == 60 * mib + 1024);
  CHECK(error.memory()->limit == 100 * mib);
  CHECK(error.memory()->cached + error.memory()->in_use ==
        static_cast<std::uint64_t>(figure(device, "reserved_bytes.all.current")));
  CHECK(figure(device, "num_ooms") == 1);
  CHECK(figure(device, "num_alloc_retries") >= 1);
  CHECK_NOTHROW(Buffer(stream, 30 * mib));
}

TEST_CASE("Memory that somebody else has of the device is out too, and comes back when that is freed") {
  REQUIRE(setenv("ANYPLACE_CPU_SIM_MEMORY", "128MiB", 1) == 0);
  const std::string segments = GENERATE("virtual", "classic");
  const Device device(segments == "virtual" ? "cpu_sim:0" : "sim_full:0");
  configure(device, "segments:" + segments);
  const Stream stream(device);
  const auto raw = raw_allocator(device);
  const std::uint64_t others = raw->allocate(stream, 100 * mib);
  const Error error = error_of([&] { const Buffer buffer(stream, 64 * mib); });
  CHECK(error.code() == ErrorCode::out_of_memory);
  REQUIRE(error.memory().has_value());
  CHECK(error.memory()->free <= 28 * mib);
  CHECK(error.memory()->limit == 128 * mib);
  CHECK_NOTHROW(Buffer(stream, 10 * mib));
  raw->deallocate(stream, others, 100 * mib);
  device.synchronize();
  CHECK_NOTHROW(Buffer(stream, 64 * mib));
}

TEST_CASE("Cached memory of one size serves any other before memory is out") {
  const std::string segments = GENERATE("virtual", "classic");
  const Device device(segments == "virtual" ? "cpu_sim:0" : "sim_full:0");
  configure(device, "limit_mb:64,segments:" + segments);
  const Stream stream(device);
  const Stream other(device);
  for (int round = 0; round < 3; ++round) {
    for (std::uint64_t size = 1; size <= 62; size += 7) {
      CHECK_NOTHROW(Buffer(round % 2 == 0 ? stream : other, size * mib));
    }
    std::vector<Buffer> small;
    for (int i = 0; i < 60; ++i) small.emplace_back(stream, mib - 100);
  }
  CHECK(figure(device, "reserved_bytes.all.peak") <= static_cast<std::int64_t>(64 * mib));
}

TEST_CASE("A device that is lost takes memory back and gives none") {
  const Device device("sim_full:0");
  const CaughtReports reports;
  const Stream stream(device);
  const Stream second(device);
  Buffer shared(stream, 3 * mib);
  shared.record_stream(second);
  {
    const Buffer buffer(stream, 100);
    { const Buffer binned(stream, 5000); }
    controls_of(device).lost = true;
    refused(ErrorCode::device_lost, [&] { stream.copy(buffer.view(), shared.sub(0, 100)); });
    refused(ErrorCode::device_lost, [&] { const Buffer next(stream, 5000); });
  }
  shared = Buffer();
  CHECK(reports.all().empty());
}
