// SPDX-License-Identifier: Apache-2.0
// What is done, in which order, before memory is out; and what is said then.
#include <cstdio>
#include <cstdlib>
#include <thread>

#include "memory/memory_support.h"
#include "support/process.h"

namespace shortage_test {

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

TEST_CASE("Memory whose pages can't be mapped at once is mapped page by page") {
  const Device device("sim_plain:0");
  REQUIRE(device.has(Capability::virtual_memory));
  Controls& controls = controls_of(device);
  const Stream stream(device);
  controls.failing_batches = 1;
  const Buffer first(stream, 64 << 20);
  CHECK(controls.batches_mapped == 1);
  CHECK(controls.failing_batches == 0);
  // One failure says nothing of virtual memory: the next request maps at once again.
  const Buffer second(stream, 64 << 20);
  CHECK(controls.batches_mapped == 2);
  CHECK(memory_snapshot(device).segments.size() == 1);
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

namespace {

/// How often pressure callbacks are called, and what else a request for nothing mustn't touch.
struct Untouched {
  explicit Untouched(const Device& of)
      : device(of), registration(of, [this](auto&&...) { return ++calls == 0; }), before(memory_stats(of)) {}
  /// Fails the test if anything but the count of refusals is different.
  void check() {
    CHECK(calls == 0);
    for (const auto& [name, value] : memory_stats(device)) {
      INFO(name);
      CHECK(value == before.at(name) + (name == "num_ooms" ? 1 : 0));
    }
    before = memory_stats(device);
  }

  Device device;
  int calls = 0;
  PressureRegistration registration;
  MemoryStats before;
};

/// 256 MiB, and a device of its own for each kind of segments.
Device device_of_256_mib(const std::string& segments, const std::string& more = "") {
  REQUIRE(setenv("ANYPLACE_CPU_SIM_MEMORY", "256MiB", 1) == 0);
  const Device device(segments == "virtual" ? "cpu_sim:0" : "sim_full:0");
  configure(device, "segments:" + segments + more);
  return device;
}

Error out_of_memory(const StreamView& stream, std::uint64_t bytes) {
  Error error = error_of([&] { const Buffer buffer(stream, bytes); });
  INFO(error.what());
  CHECK(error.code() == ErrorCode::out_of_memory);
  REQUIRE(error.memory().has_value());
  CHECK(error.memory()->requested == bytes);
  return error;
}

}  // namespace

TEST_CASE("A request for more than the device has costs the cache nothing, and says what the device has") {
  const Device device = device_of_256_mib(GENERATE("virtual", "classic"));
  const Stream stream(device);
  { const Buffer cached(stream, 100 * mib); }
  Untouched untouched(device);
  for (const std::uint64_t bytes : {257 * mib, std::uint64_t{2} << 40, std::uint64_t{1} << 62}) {
    const Error error = out_of_memory(stream, bytes);
    untouched.check();
    CHECK_THAT(error.text(), Catch::Contains("the device has 268435456 bytes in all"));
    CHECK(error.memory()->limit == 256 * mib);
    CHECK(error.memory()->cached >= 100 * mib);
    CHECK(error.memory()->free.value() + error.memory()->cached == 256 * mib);
  }
}

TEST_CASE("A request for more than a limit allows costs the cache nothing, and names the limit") {
  const Device device = device_of_256_mib(GENERATE("virtual", "classic"), ",limit_mb:64");
  const Stream stream(device);
  { const Buffer cached(stream, 40 * mib); }
  Untouched untouched(device);
  Error error = out_of_memory(stream, 65 * mib);
  untouched.check();
  CHECK_THAT(error.text(), Catch::Contains("the limit of 67108864 bytes") && Catch::Contains("limit_mb"));
  MemoryPoolOptions options;
  options.limit_bytes = 16 * mib;
  const MemoryPool pool(device, options);
  const MemoryPoolGuard guard(pool);
  error = out_of_memory(stream, 17 * mib);
  untouched.check();
  CHECK_THAT(error.text(), Catch::Contains("the memory pool's limit of 16777216 bytes"));
}

TEST_CASE("A limit that was lowered leaves what is cached to requests of any size") {
  const Device device = device_of_256_mib(GENERATE("virtual", "classic"));
  const Stream stream(device);
  { const Buffer cached(stream, 100 * mib); }
  set_per_process_memory_fraction(device, 0.125);
  CHECK_NOTHROW(Buffer(stream, 90 * mib));
  stream.synchronize();
  empty_cache(device);
  CHECK_THAT(out_of_memory(stream, 90 * mib).text(), Catch::Contains("the limit of 33554432 bytes"));
}

TEST_CASE("A limit that is less than what is taken from the device at a time says so") {
  struct Case {
    const char* segments;
    const char* limit;
    std::uint64_t bytes;
    const char* at_a_time;
  };
  const Case of = GENERATE(Case{"virtual", "1", 100, "2097152 bytes"}, Case{"virtual", "0", 100, "2097152 bytes"},
                           Case{"virtual", "3", 3 * mib, "4194304 bytes"}, Case{"classic", "1", 100, "2097152 bytes"},
                           Case{"classic", "10", 5 * mib, "20971520 bytes"});
  // A process for each: what a device is configured to be it stays.
  const test::Ended result = test::in_child([&] {
    const Device device = device_of_256_mib(of.segments, std::string(",limit_mb:") + of.limit);
    const Stream stream(device);
    std::puts(out_of_memory(stream, of.bytes).text().c_str());
    return 0;
  });
  CHECK(result.status == 0);
  CHECK_THAT(result.out, Catch::Contains(of.at_a_time) && Catch::Contains("at a time") && Catch::Contains("limit_mb") &&
                             Catch::Contains(std::to_string(std::stoull(of.limit) * mib) + " bytes"));
}

TEST_CASE("A pool's limit that is less than what is taken from the device at a time says so") {
  const Device device = device_of_256_mib(GENERATE("virtual", "classic"));
  const Stream stream(device);
  MemoryPoolOptions options;
  options.limit_bytes = 1 * mib;
  const MemoryPool pool(device, options);
  const MemoryPoolGuard guard(pool);
  CHECK_THAT(out_of_memory(stream, 100).text(),
             Catch::Contains("the memory pool's limit of 1048576 bytes") && Catch::Contains("2097152 bytes at a time"));
}

TEST_CASE("What is said of free memory when memory is out is one thing") {
  const Device device = device_of_256_mib(GENERATE("virtual", "classic"));
  const Stream stream(device);
  const Buffer held(stream, 200 * mib);
  const Error error = out_of_memory(stream, 100 * mib);
  CHECK(error.memory()->free == 56 * mib);
  CHECK_THAT(error.what(), !Catch::Contains(" 0 free"));
}

}  // namespace shortage_test
