// SPDX-License-Identifier: Apache-2.0
//
// Out of memory at each call that allocates, and what memory there is.
#include <functional>
#include <vector>

#include "support.h"
#include "support/segments_instead.h"

namespace {

using namespace hip_test;
using anyplace::Buffer;
using anyplace::Device;
using anyplace::Stream;

struct Allocating {
  const char* entry;
  std::function<void()> call;
};

/// Each call fails with out_of_memory and HIP's code, leaves nothing behind, and works again when there is memory.
void check_each(const Double& hip, const std::vector<Allocating>& all) {
  for (const Allocating& each : all) {
    INFO(each.entry);
    const std::uint64_t before = hip.calls_of(each.entry);
    REQUIRE(hip.fail_nth(each.entry, 1, hipErrorOutOfMemory, true));
    const auto error = test::error_of(each.call);
    CHECK(hip.calls_of(each.entry) > before);
    hip.clear_failures();
    REQUIRE(error.has_value());
    INFO(error->what());
    CHECK(error->code() == ErrorCode::out_of_memory);
    CHECK(error->vendor_code() == hipErrorOutOfMemory);
    each.call();
  }
}

}  // namespace

TEST_CASE("Out of memory at the first use of a device is no loss of it") {
  const Double hip;
  const Device device("hip:0");
  check_each(hip, {{"hipStreamCreateWithPriority", [&] { const Stream made(device); }}});
}

TEST_CASE("Out of memory at each allocating call is told as that and leaves nothing behind") {
  const Double hip;
  const Device device("hip:0");
  const Stream stream(device);
  stream.synchronize();
  std::vector<std::uint32_t> host(1024);
  const std::string image = read_image("kernels.hsaco");
  check_each(hip, {
                      {"hipStreamCreateWithPriority", [&] { const Stream made(device); }},
                      {"hipEventCreateWithFlags", [&] { const anyplace::Event made(device); }},
                      {"hipMemPoolCreate", [&] { const Buffer made(stream, 4096); }},
                      {"hipMallocFromPoolAsync", [&] { const Buffer made(stream, 4096); }},
                      {"hipHostMalloc", [&] { const anyplace::HostBuffer made(device, 4096); }},
                      {"hipMallocManaged", [&] { const Buffer made(stream, 4096, {anyplace::MemoryKind::managed}); }},
                      {"hipHostRegister", [&] { const anyplace::HostRegistration made(device, host); }},
                      {"hipModuleLoadData", [&] { load(device, image); }},
                  });
  stream.synchronize();
  device.synchronize();
  CHECK(hip.live("host") == 0);
  CHECK(hip.live("registered") == 0);
  CHECK(hip.live("module") == 0);
}

TEST_CASE("Out of memory at a submission is told as that and the stream goes on") {
  const Double hip;
  const Device device("hip:0");
  const anyplace::Module module = load(device, read_image("kernels.hsaco"));
  const anyplace::KernelView fill = module.kernel("fill");
  const Stream stream(device);
  const Buffer numbers(stream, 1024 * 4);
  std::vector<std::uint32_t> host(1024);
  check_each(hip, {
                      {"hipMemcpyHtoDAsync", [&] { stream.copy(numbers, host); }},
                      {"hipMemcpyDtoHAsync", [&] { stream.copy(host, numbers); }},
                      {"hipMemsetD32Async", [&] { stream.memset32(numbers, 1); }},
                      {"hipLaunchHostFunc", [&] { stream.launch_host_func([] {}); }},
                      {"hipModuleLaunchKernel", [&] { stream.launch(fill, {16}, {64}, 0, numbers, 1024u, 4u); }},
                  });
  stream.copy(host, numbers);
  stream.synchronize();
  CHECK(host == std::vector<std::uint32_t>(1024, 4));
}

TEST_CASE("Without pools device memory comes from the plain calls") {
  const Double hip({{"HIP_DOUBLE_POOLS", "0"}});
  const Device device("hip:0");
  CHECK_FALSE(device.has(anyplace::Capability::stream_ordered_memory));
  const Stream stream(device);
  check_each(hip, {{"hipMalloc", [&] { const Buffer made(stream, 4096); }}});
  CHECK(hip.calls_of("hipMallocFromPoolAsync") == 0);
  const Buffer numbers(stream, 4096);
  std::vector<std::uint32_t> back(1024);
  stream.memset32(numbers, 6);
  stream.copy(back, numbers);
  stream.synchronize();
  CHECK(back == std::vector<std::uint32_t>(1024, 6));
}

TEST_CASE("Memory that runs out is told with the figures and what was freed can be had again") {
  const Double hip({{"HIP_DOUBLE_MEMORY", "64M"}});
  const Device device("hip:0");
  const Stream stream(device);
  constexpr std::uint64_t mebibyte = 1 << 20;
  std::vector<Buffer> all;
  const auto error = test::error_of([&] {
    while (true) all.emplace_back(stream, 8 * mebibyte);
  });
  REQUIRE(error.has_value());
  CHECK(error->code() == ErrorCode::out_of_memory);
  REQUIRE(error->memory().has_value());
  CHECK(error->memory()->requested == 8 * mebibyte);
  CHECK(all.size() >= 6);
  all.clear();
  const Buffer most(stream, 48 * mebibyte);
  stream.synchronize();
}

TEST_CASE("Memory that is idle in the pool counts as free and is given to other kinds") {
  const Double hip({{"HIP_DOUBLE_MEMORY", "64M"}});
  const Device device("hip:0");
  const Stream stream(device);
  stream.synchronize();
  const auto before = device.memory_info();
  { const Buffer some(stream, 4 << 20); }
  device.synchronize();
  const auto after = device.memory_info();
  REQUIRE(before.free.has_value());
  REQUIRE(after.free.has_value());
  CHECK(*after.free == *before.free);
  CHECK(*before.total == 64 << 20);
}

TEST_CASE("A kind of memory that the device lacks is unsupported") {
  const Double hip({{"HIP_DOUBLE_MANAGED", "0"}});
  const Device device("hip:0");
  CHECK_FALSE(device.has(anyplace::Capability::managed_memory));
  const Stream stream(device);
  CHECK(test::code_of([&] { const Buffer made(stream, 64, {anyplace::MemoryKind::managed}); }) ==
        ErrorCode::unsupported);
}

TEST_CASE("A pitch over the limit of the device is copied line by line") {
  const Double hip;
  const Device device("hip:0");
  const Stream stream(device);
  constexpr std::uint64_t pitch = (std::uint64_t{1} << 31) + 512;
  const Buffer lines(stream, 64 * 2);
  std::vector<std::uint8_t> host(64 * 2, 7);
  std::vector<std::uint8_t> back(64 * 2);
  stream.copy_2d(lines, 64, host, 64, 64, 2);
  // One row never steps by its pitch, so that a pitch that no memory has room for can be tried.
  stream.copy_2d(back, pitch, lines, 64, 64, 1);
  stream.synchronize();
  CHECK(back[0] == 7);
  CHECK(back[63] == 7);
}

TEST_CASE("Where the driver fails to map memory comes in segments and that is said once") {
  const Double hip({{"ANYPLACE_ALLOCATOR", "segments:automatic"}, {"HIP_DOUBLE_FAIL", "hipMemMap:1:999:always"}});
  test::check_segments_instead("hip", "hipErrorUnknown");
  CHECK(hip.live("reservation") == 0);
  CHECK(hip.live("physical") == 0);
}

TEST_CASE("Where the driver has memory but none to map it comes in segments and that is said once") {
  const Double hip({{"ANYPLACE_ALLOCATOR", "segments:automatic"}, {"HIP_DOUBLE_FAIL", "hipMemMap:1:2:always"}});
  test::check_segments_instead("hip", "hipErrorOutOfMemory");
  CHECK(hip.live("reservation") == 0);
  CHECK(hip.live("physical") == 0);
}
