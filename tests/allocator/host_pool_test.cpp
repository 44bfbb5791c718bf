// SPDX-License-Identifier: Apache-2.0
// Pinned host memory is kept and used again.
#include <atomic>
#include <thread>

#include "memory/memory_support.h"
#include "support/environment.h"
#include "support/process.h"

namespace host_pool_test {

using namespace anyplace;
using namespace memory_test;

namespace {

constexpr std::uint64_t mib = 1024 * 1024;

}  // namespace

TEST_CASE("Pinned memory that was given up is used again for its size") {
  const Device device("sim_full:0");
  const Controls& controls = controls_of(device);
  std::byte* data = nullptr;
  {
    const HostBuffer first(device, 10'000);
    data = first.data();
  }
  CHECK(controls.frees == 0);
  for (const std::uint64_t bytes : {10'000, 9'999, 10'240, 9'217}) {  // one class: an eighth of a power of two
    const HostBuffer next(device, bytes);
    CHECK(next.data() == data);
    CHECK(next.size() == bytes);
  }
  const HostBuffer larger(device, 10'241);
  CHECK(larger.data() != data);
  const HostBuffer smaller(device, 9'216);
  CHECK(smaller.data() != data);
  CHECK(controls.pinned_allocations == 3);
  CHECK(controls.frees == 0);
}

TEST_CASE("Two pinned buffers never share memory") {
  const Device device("cpu_sim:0");
  std::vector<HostBuffer> buffers;
  for (int round = 0; round < 2; ++round) {
    for (std::uint64_t i = 0; i < 50; ++i) {
      buffers.emplace_back(device, 5000 + i % 3);
      std::fill_n(buffers.back().as<std::uint8_t>().data(), buffers.back().size(), static_cast<std::uint8_t>(i));
    }
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      const auto bytes = buffers[i].as<std::uint8_t>();
      CHECK(std::all_of(bytes.begin(), bytes.end(), [i](std::uint8_t byte) { return byte == i; }));
    }
    buffers.clear();
  }
}

TEST_CASE("A class of pinned memory is at most an eighth larger than what is asked for") {
  const Device device("cpu_sim:0");
  std::uint64_t before = host_memory_stats(device).reserved_bytes;
  for (std::uint64_t bytes = 4096; bytes < 64 * mib; bytes += bytes / 3 + 7) {
    const HostBuffer buffer(device, bytes);
    const std::uint64_t now = host_memory_stats(device).reserved_bytes;
    CHECK(now - before >= bytes);
    CHECK(now - before <= bytes + bytes / 8);
    before = now;
  }
}

TEST_CASE("The figures of pinned memory") {
  const Device device("cpu_sim:0");
  CHECK(host_memory_stats(device).device_allocations == 0);
  {
    const HostBuffer first(device, 1000);
    const HostBuffer second(device, 8192);
    const HostMemoryStats now = host_memory_stats(device);
    CHECK(now.allocated_bytes == 9192);
    CHECK(now.reserved_bytes == 4096 + 8192);
    CHECK(now.cached_bytes == 0);
    CHECK(now.allocations == 2);
    CHECK(now.device_allocations == 2);
  }
  { const HostBuffer third(device, 2000); }
  HostMemoryStats now = host_memory_stats(device);
  CHECK(now.allocated_bytes == 0);
  CHECK(now.peak_allocated_bytes == 9192);
  CHECK(now.reserved_bytes == 4096 + 8192);
  CHECK(now.peak_reserved_bytes == 4096 + 8192);
  CHECK(now.cached_bytes == 4096 + 8192);
  CHECK(now.allocations == 0);
  CHECK(now.total_allocations == 3);
  CHECK(now.device_allocations == 2);
  CHECK(now.device_frees == 0);
  empty_cache(device);
  reset_peak_memory_stats(device);
  now = host_memory_stats(device);
  CHECK(now.reserved_bytes == 0);
  CHECK(now.cached_bytes == 0);
  CHECK(now.device_frees == 2);
  CHECK(now.peak_allocated_bytes == 0);
  CHECK(now.peak_reserved_bytes == 0);
  reset_accumulated_memory_stats(device);
  now = host_memory_stats(device);
  CHECK(now.total_allocations == 0);
  CHECK(now.device_allocations == 0);
  CHECK(now.device_frees == 0);
}

TEST_CASE("Emptying the cache leaves pinned memory in use alone") {
  const Device device("sim_full:0");
  const HostBuffer kept(device, 5000);
  std::fill_n(kept.as<std::uint8_t>().data(), kept.size(), std::uint8_t{7});
  { const HostBuffer freed(device, 5000); }
  empty_cache(device);
  CHECK(controls_of(device).frees == 1);
  const auto bytes = kept.as<std::uint8_t>();
  CHECK(std::all_of(bytes.begin(), bytes.end(), [](std::uint8_t byte) { return byte == 7; }));
}

TEST_CASE("Pinned memory has a limit, which what is kept makes room under") {
  test::set_env("ANYPLACE_ALLOCATOR", "pinned_limit_mb:16");
  const Device device("cpu_sim:0");
  { const HostBuffer kept(device, 8 * mib); }
  const HostBuffer first(device, 12 * mib);
  CHECK(host_memory_stats(device).cached_bytes == 0);
  const Error error = error_of([&] { const HostBuffer second(device, 5 * mib); });
  CHECK(error.code() == ErrorCode::out_of_memory);
  CHECK_THAT(error.what(), Catch::Contains("pinned_limit_mb"));
  REQUIRE(error.memory().has_value());
  CHECK(error.memory()->requested == 5 * mib);
  CHECK(error.memory()->in_use == 12 * mib);
  CHECK(error.memory()->limit == 16 * mib);
  // To the last byte: the rounding gives way.
  const HostBuffer third(device, 4 * mib - 100);
  CHECK(third);
}

TEST_CASE("A pinned allocation that the device refuses is tried again without what is kept") {
  const Device device("sim_full:0");
  Controls& controls = controls_of(device);
  { const HostBuffer kept(device, 5000); }
  controls.failing_pinned = 1;
  const HostBuffer buffer(device, 100'000);
  CHECK(buffer);
  CHECK(controls.frees == 1);
  // One that goes on refusing is believed: after the kept ones and the rounding.
  { const HostBuffer kept(device, 5000); }
  controls.failing_pinned = 3;
  const Error error = error_of([&] { const HostBuffer next(device, 300'000); });
  CHECK(error.code() == ErrorCode::out_of_memory);
  CHECK(controls.failing_pinned == 0);
  CHECK(host_memory_stats(device).cached_bytes == 0);
  const HostMemoryStats now = host_memory_stats(device);
  CHECK(now.allocations == 1);
  CHECK(now.reserved_bytes == 106'496);
}

TEST_CASE("With caching off pinned memory goes back at once") {
  test::set_env("ANYPLACE_ALLOCATOR", "caching:false");
  const Device device("sim_full:0");
  { const HostBuffer buffer(device, 5000); }
  CHECK(controls_of(device).frees == 1);
  CHECK(host_memory_stats(device).reserved_bytes == 0);
  CHECK(host_memory_stats(device).peak_reserved_bytes == 5000);
}

TEST_CASE("Pinned memory let go of inside a host function is kept too") {
  const Device device("sim_full:0");
  const Stream stream(device);
  auto pinned = std::make_shared<HostBuffer>(device, 5000);
  std::byte* const data = pinned->data();
  stream.launch_host_func([pinned = std::move(pinned)]() mutable { pinned.reset(); });
  stream.synchronize();
  CHECK(controls_of(device).frees == 0);
  CHECK(HostBuffer(device, 5000).data() == data);
}

TEST_CASE("Pinned memory of a lost device goes back to it without a word") {
  const CaughtReports reports;
  const Device device("sim_full:0");
  const Stream stream(device);
  Controls& controls = controls_of(device);
  const Buffer buffer(stream, 100);
  {
    const HostBuffer host(device, 5000);
    controls.lost = true;
    Bytes bytes(100);
    refused(ErrorCode::device_lost, [&] { stream.copy(bytes, buffer); });
  }
  CHECK(controls.frees == 1);
  refused(ErrorCode::device_lost, [&] { const HostBuffer next(device, 5000); });
  CHECK(reports.all().empty());
}

TEST_CASE("Threads share what is kept of pinned memory") {
  const Device device("cpu_sim:0");
  std::vector<std::thread> threads;
  std::atomic<int> mixed_up{0};
  for (unsigned t = 0; t < 4; ++t) {
    threads.emplace_back([&device, &mixed_up, t] {
      for (std::uint64_t i = 0; i < 300; ++i) {
        const HostBuffer buffer(device, 1000 * (1 + i % 7));
        const auto bytes = buffer.as<std::uint8_t>();
        std::fill(bytes.begin(), bytes.end(), static_cast<std::uint8_t>(t));
        if (i % 50 == 0) empty_cache(device);
        if (std::any_of(bytes.begin(), bytes.end(), [t](std::uint8_t byte) { return byte != t; })) ++mixed_up;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(mixed_up == 0);
  const HostMemoryStats now = host_memory_stats(device);
  CHECK(now.allocations == 0);
  CHECK(now.reserved_bytes == now.cached_bytes);
  CHECK(now.total_allocations == 1200);
}

TEST_CASE("Pinned memory that is kept goes back before the process ends") {
  const test::Ended child = test::in_child([] {
    const Device device("sim_full:0");
    controls_of(device).tell_at_shutdown = true;
    const HostBuffer first(device, 5000);
    const HostBuffer second(device, 50'000);
    return 0;
  });
  CHECK(child.status == 0);
  CHECK_THAT(child.out, Catch::Contains("pinned allocations 2, frees 2"));
}

}  // namespace host_pool_test
