// SPDX-License-Identifier: Apache-2.0
// Devices align their allocations to 256 bytes or more. The allocator serves one that does so to exactly 256, and to
// less: what a device is to promise is checked by the conformance suite, not here.
#include <cstdlib>
#include <map>
#include <thread>

#include "memory/memory_support.h"

namespace alignment_test {

using namespace anyplace;
using namespace memory_test;

namespace {

constexpr std::uint64_t mib = 1024 * 1024;

/// A device of classic segments each of which begins at an odd multiple of `alignment`.
Device device_aligned_to(std::uint64_t alignment) {
  const Device device("sim_plain:0");
  controls_of(device).aligned_to = alignment;
  configure_allocator(device, AllocatorConfig::parse("segments:classic"));
  return device;
}

std::int64_t figure(const Device& device, const char* key) { return memory_stats(device).at(key); }

/// Of every size class, and some that come again.
constexpr std::uint64_t sizes[] = {1, 255, 256, 257, 512, 513, 4096, 100000, mib, mib + 1, 3 * mib, 25 * mib};

}  // namespace

namespace {

void give_back_by_address(std::uint64_t alignment) {
  const Device device = device_aligned_to(alignment);
  const Stream stream(device);
  const auto allocator = caching_allocator(device);
  for (int round = 0; round < 3; ++round) {
    std::map<std::uint64_t, std::uint64_t> live;
    for (const std::uint64_t bytes : sizes) {
      const std::uint64_t address = allocator->allocate(stream, bytes);
      CHECK(address % alignment == 0);
      CHECK(address % (2 * alignment) != 0);
      CHECK(live.emplace(address, bytes).second);
    }
    for (const auto& [address, bytes] : live) CHECK_NOTHROW(allocator->deallocate(stream, address, bytes));
    CHECK(figure(device, "allocation.all.current") == 0);
  }
  device.synchronize();
  empty_cache(device);
  CHECK(figure(device, "reserved_bytes.all.current") == 0);
}

}  // namespace

TEST_CASE("Memory of a device that aligns to exactly 256 bytes is given back by its address") {
  give_back_by_address(256);
}

TEST_CASE("Memory of a device that aligns to exactly 128 bytes is given back by its address") {
  give_back_by_address(128);
}

TEST_CASE("Memory of a device that aligns to exactly 8 bytes is given back by its address") { give_back_by_address(8); }

TEST_CASE("Memory at odd addresses goes through the bins, and from thread to thread") {
  const Device device = device_aligned_to(256);
  const Stream stream(device);
  const auto allocator = caching_allocator(device);
  const std::uint64_t first = allocator->allocate(stream, 5000);
  const std::uint64_t second = allocator->allocate(stream, 5000);
  allocator->deallocate(stream, first, 5000);  // not what was handed out last: it is looked up
  CHECK(allocator->allocate(stream, 5000) == first);
  std::thread([&] { allocator->deallocate(stream, second, 5000); }).join();
  CHECK(allocator->allocate(stream, 5000) == second);
  allocator->deallocate(stream, first, 5000);
  allocator->deallocate(stream, second, 5000);
  CHECK(figure(device, "allocation.all.current") == 0);
}

TEST_CASE("At odd addresses what is no allocation is refused as ever") {
  const Device device = device_aligned_to(256);
  const Stream stream(device);
  const auto allocator = caching_allocator(device);
  const std::uint64_t address = allocator->allocate(stream, 5000);
  const auto refusal = [&](std::uint64_t of) {
    return refused(ErrorCode::invalid_argument, [&] { allocator->deallocate(stream, of, 5000); });
  };
  for (const std::uint64_t inside : {1, 256, 512, 4096}) {
    CHECK_THAT(refusal(address + inside), Catch::Contains(std::to_string(inside) + " bytes inside an allocation"));
  }
  allocator->deallocate(stream, address, 5000);
  CHECK_THAT(refusal(address), Catch::Contains("given back already"));
}

TEST_CASE("Buffers at odd addresses keep what is in them") {
  const Device device = device_aligned_to(256);
  const Stream stream(device);
  std::vector<Buffer> buffers;
  std::vector<Bytes> contents;
  for (const std::uint64_t bytes : sizes) {
    contents.push_back(pattern(bytes, static_cast<std::uint32_t>(bytes)));
    buffers.push_back(upload(stream, contents.back()));
    CHECK(buffers.back().address() % 256 == 0);
  }
  for (std::size_t i = 0; i < buffers.size(); ++i) CHECK(download(stream, buffers[i]) == contents[i]);
}

}  // namespace alignment_test
