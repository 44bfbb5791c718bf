// SPDX-License-Identifier: Apache-2.0
// Who gets memory again, and when: its stream at once, others when its work is done; whichever thread freed it.
#include <cstdlib>
#include <thread>

#include "memory/memory_support.h"

namespace reuse_test {

using namespace anyplace;
using namespace memory_test;

namespace {

constexpr std::uint64_t mib = std::uint64_t{1} << 20;

std::int64_t figure(const Device& device, const char* key) { return memory_stats(device).at(key); }

/// Memory that is allocated and given back at once.
std::uint64_t passing(Allocator& allocator, const StreamView& stream, std::uint64_t bytes) {
  const std::uint64_t address = allocator.allocate(stream, bytes);
  allocator.deallocate(stream, address, bytes);
  return address;
}

void configure(const Device& device, const char* text) { configure_allocator(device, AllocatorConfig::parse(text)); }

}  // namespace

TEST_CASE("Memory is aligned to 256 bytes and counted in units of 512") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  const auto allocator = caching_allocator(device);
  std::uint64_t rounded = 0;
  for (const std::uint64_t bytes : {1ull, 511ull, 512ull, 513ull, 100000ull, 1048576ull, 1048577ull, 50000001ull}) {
    const std::uint64_t address = allocator->allocate(stream, bytes);
    CHECK(address % 256 == 0);
    rounded += (bytes + 511) / 512 * 512;
    CHECK(figure(device, "allocated_bytes.all.current") == static_cast<std::int64_t>(rounded));
  }
}

TEST_CASE("A stream gets its memory again at once, whatever it still has to do with it") {
  const std::string config = GENERATE("bins:true", "bins:false");
  const Device device(config == "bins:true" ? "cpu_sim:0" : "sim_full:0");
  configure(device, config.c_str());
  const Stream stream(device);
  const auto allocator = caching_allocator(device);
  HostGate gate(stream);
  for (const std::uint64_t bytes : {std::uint64_t{100}, std::uint64_t{5000}, 3 * mib, 70 * mib}) {
    const std::uint64_t address = allocator->allocate(stream, bytes);
    stream.memset8(Buffer::from_native(device, address, bytes), 1);
    allocator->deallocate(stream, address, bytes);
    CHECK(passing(*allocator, stream, bytes) == address);
    CHECK(passing(*allocator, stream, bytes) == address);
  }
}

TEST_CASE("Another stream doesn't get memory that pending work uses") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  const Stream other(device);
  const auto allocator = caching_allocator(device);
  HostGate gate(stream);
  for (const std::uint64_t bytes : {std::uint64_t{4096}, 40 * mib}) {
    const std::uint64_t address = allocator->allocate(stream, bytes);
    stream.memset8(Buffer::from_native(device, address, bytes), 1);
    allocator->deallocate(stream, address, bytes);
    CHECK(passing(*allocator, other, bytes) != address);
  }
}

TEST_CASE("Memory that another stream was named for comes back when that one's work is done") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  const Stream user(device);
  const auto allocator = caching_allocator(device);
  Buffer buffer(stream, 3 * mib);
  const std::uint64_t address = buffer.address();
  {
    HostGate gate(user);
    user.memset8(buffer, 1);
    buffer.record_stream(user);
    buffer = Buffer();
    CHECK(figure(device, "allocation.all.current") == 0);  // asked for
    CHECK(figure(device, "active.all.current") == 1);      // not done
    CHECK(figure(device, "requested_bytes.all.current") == 3 * mib);
    CHECK(passing(*allocator, stream, 3 * mib) != address);
  }
  user.synchronize();
  device.synchronize();
  CHECK(figure(device, "active.all.current") == 0);
}

TEST_CASE("Memory freed on another thread is its stream's all the same") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  const auto allocator = caching_allocator(device);
  const std::uint64_t address = allocator->allocate(stream, 5000);
  std::thread([&] { allocator->deallocate(stream, address, 5000); }).join();
  CHECK(passing(*allocator, stream, 5000) == address);
  CHECK(figure(device, "allocation.all.current") == 0);
}

TEST_CASE("What a thread had in its bins is there for others when it ends") {
  const Device device("cpu_sim:0");
  configure(device, "limit_mb:64");
  const Stream stream(device);
  const auto allocator = caching_allocator(device);
  std::thread([&] {
    for (int i = 0; i < 3; ++i) passing(*allocator, stream, 50 * mib);
  }).join();
  CHECK_NOTHROW(passing(*allocator, stream, 60 * mib));
  CHECK(figure(device, "allocation.all.allocated") == 4);
}

TEST_CASE("What a thread has in its bins is taken from it before others go without") {
  const Device device("cpu_sim:0");
  configure(device, "limit_mb:64");
  const Stream stream(device);
  const Stream other(device);
  const auto allocator = caching_allocator(device);
  std::promise<void> filled;
  std::promise<void> over;
  std::thread thread([&] {
    passing(*allocator, stream, 50 * mib);
    filled.set_value();
    over.get_future().wait();
    // Its bins were emptied under it, and go on.
    passing(*allocator, stream, 50 * mib);
  });
  filled.get_future().wait();
  CHECK_NOTHROW(passing(*allocator, stream, 60 * mib));
  CHECK_NOTHROW(passing(*allocator, other, 60 * mib));
  over.set_value();
  thread.join();
  CHECK(figure(device, "allocation.all.current") == 0);
}

TEST_CASE("A mix of sizes that come again asks the device for nothing more") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  const auto allocator = caching_allocator(device);
  const std::vector<std::uint64_t> sizes{700, 4096, 5 * mib, 100000, 30 * mib, 3 * mib, 1 * mib, 12345678};
  std::int64_t calls = 0;
  for (int round = 0; round < 50; ++round) {
    std::vector<std::uint64_t> addresses;
    for (const std::uint64_t bytes : sizes) addresses.push_back(allocator->allocate(stream, bytes));
    for (std::size_t i = 0; i < sizes.size(); ++i) allocator->deallocate(stream, addresses[i], sizes[i]);
    if (round == 1) calls = figure(device, "num_device_alloc");
  }
  CHECK(figure(device, "num_device_alloc") == calls);
}

TEST_CASE("A number that marks memory in a bin is no address") {
  const Device device("cpu_sim:0");
  const Stream stream(device);
  const auto allocator = caching_allocator(device);
  passing(*allocator, stream, 4096);
  passing(*allocator, stream, 4096);
  for (const std::uint64_t address : {0ull, 1ull, 2ull, ~0ull}) {
    refused(ErrorCode::invalid_argument, [&] { allocator->deallocate(stream, address, 4096); });
  }
  CHECK(figure(device, "allocation.all.current") == 0);
}

TEST_CASE("Buffers of a destroyed stream's memory outlive it, and its memory serves others") {
  const Device device("cpu_sim:0");
  configure(device, "limit_mb:64");
  for (int i = 0; i < 50; ++i) {
    auto stream = std::make_unique<Stream>(device);
    Buffer first(*stream, 20 * mib);
    Buffer second(*stream, 20 * mib);
    stream->memset8(first, 1);
    first = Buffer();
    stream.reset();
    second = Buffer();
  }
  device.synchronize();
  empty_cache(device);
  CHECK(figure(device, "reserved_bytes.all.current") == 0);
}

TEST_CASE("Threads on their own streams and with their own pools come and go") {
  const std::string segments = GENERATE("virtual", "classic");
  const Device device(segments == "virtual" ? "cpu_sim:0" : "sim_full:0");
  configure(device, ("segments:" + segments).c_str());
  const auto allocator = caching_allocator(device);
  for (int round = 0; round < 5; ++round) {
    std::vector<std::thread> threads;
    for (int i = 0; i < 6; ++i) {
      threads.emplace_back([&] {
        const Stream stream(device);
        for (int j = 0; j < 300; ++j) {
          const std::uint64_t kept = allocator->allocate(stream, 1000);
          passing(*allocator, stream, 1000);
          passing(*allocator, stream, 2 * mib);
          const Buffer buffer(stream, 5000);
          if (j % 4 == 0) {
            const MemoryPool pool(device);
            const MemoryPoolGuard guard(pool);
            const Buffer inside(stream, 3 * mib);
            stream.memset8(inside.sub(0, 4096), 1);  // it runs on when the pool has ended
          }
          allocator->deallocate(stream, kept, 1000);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
  }
  CHECK(figure(device, "allocation.all.current") == 0);
  CHECK(figure(device, "allocation.all.allocated") == 5 * 6 * (300 * 4 + 75));
  device.synchronize();
  empty_cache(device);
  CHECK(figure(device, "reserved_bytes.all.current") == 0);
}

}  // namespace reuse_test
