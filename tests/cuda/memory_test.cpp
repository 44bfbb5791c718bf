// SPDX-License-Identifier: Apache-2.0
//
// Out of memory at each call that allocates, and what memory there is.
#include <functional>
#include <vector>

#include "support.h"
#include "support/segments_instead.h"

namespace {

using namespace cuda_test;
using anyplace::Buffer;
using anyplace::Device;
using anyplace::Stream;

struct Allocating {
  const char* entry;
  std::function<void()> call;
};

/// Each call fails with out_of_memory and CUDA's code, leaves nothing behind, and works again when there is memory.
void check_each(const Double& cuda, const std::vector<Allocating>& all) {
  for (const Allocating& each : all) {
    INFO(each.entry);
    const std::uint64_t before = cuda.calls_of(each.entry);
    REQUIRE(cuda.fail_nth(each.entry, 1, CUDA_ERROR_OUT_OF_MEMORY, true));
    const auto error = test::error_of(each.call);
    CHECK(cuda.calls_of(each.entry) > before);
    cuda.clear_failures();
    REQUIRE(error.has_value());
    INFO(error->what());
    CHECK(error->code() == ErrorCode::out_of_memory);
    CHECK(error->vendor_code() == CUDA_ERROR_OUT_OF_MEMORY);
    each.call();
  }
}

}  // namespace

TEST_CASE("Out of memory at the first use of a device is no loss of it") {
  const Double cuda;
  const Device device("cuda:0");
  check_each(cuda, {{"cuDevicePrimaryCtxRetain", [&] { const Stream made(device); }}});
  CHECK(cuda.live("context") == 1);
}

TEST_CASE("Out of memory in the middle of the first use leaves no context behind") {
  const Double cuda;
  const Device device("cuda:0");
  REQUIRE(cuda.fail_nth("cuStreamCreateWithPriority", 1, CUDA_ERROR_OUT_OF_MEMORY));
  CHECK(test::code_of([&] { const Stream made(device); }) == ErrorCode::out_of_memory);
  CHECK(cuda.live("context") == 0);
  { const Stream made(device); }
  CHECK(cuda.live("context") == 1);
}

TEST_CASE("Out of memory at each allocating call is told as that and leaves nothing behind") {
  const Double cuda;
  const Device device("cuda:0");
  const Stream stream(device);
  stream.synchronize();
  std::vector<std::uint32_t> host(1024);
  const std::string image = read_image("kernels.ptx");
  check_each(cuda, {
                       {"cuStreamCreateWithPriority", [&] { const Stream made(device); }},
                       {"cuEventCreate", [&] { const anyplace::Event made(device); }},
                       {"cuMemPoolCreate", [&] { const Buffer made(stream, 4096); }},
                       {"cuMemAllocFromPoolAsync", [&] { const Buffer made(stream, 4096); }},
                       {"cuMemHostAlloc", [&] { const anyplace::HostBuffer made(device, 4096); }},
                       {"cuMemAllocManaged", [&] { const Buffer made(stream, 4096, {anyplace::MemoryKind::managed}); }},
                       {"cuMemHostRegister_v2", [&] { const anyplace::HostRegistration made(device, host); }},
                       {"cuModuleLoadDataEx", [&] { load(device, image); }},
                   });
  stream.synchronize();
  device.synchronize();
  CHECK(cuda.live("host") == 0);
  CHECK(cuda.live("registered") == 0);
  CHECK(cuda.live("module") == 0);
}

TEST_CASE("Out of memory at a submission is told as that and the stream goes on") {
  const Double cuda;
  const Device device("cuda:0");
  const anyplace::Module module = load(device, read_image("kernels.ptx"));
  const anyplace::KernelView fill = module.kernel("fill");
  const Stream stream(device);
  const Buffer numbers(stream, 1024 * 4);
  std::vector<std::uint32_t> host(1024);
  check_each(cuda, {
                       {"cuMemcpyHtoDAsync_v2", [&] { stream.copy(numbers, host); }},
                       {"cuMemcpyDtoHAsync_v2", [&] { stream.copy(host, numbers); }},
                       {"cuMemsetD32Async", [&] { stream.memset32(numbers, 1); }},
                       {"cuLaunchHostFunc", [&] { stream.launch_host_func([] {}); }},
                       {"cuLaunchKernel", [&] { stream.launch(fill, {16}, {64}, 0, numbers, 1024u, 4u); }},
                   });
  stream.copy(host, numbers);
  stream.synchronize();
  CHECK(host == std::vector<std::uint32_t>(1024, 4));
}

TEST_CASE("Without pools device memory comes from the plain calls") {
  const Double cuda({{"CUDA_DOUBLE_POOLS", "0"}});
  const Device device("cuda:0");
  CHECK_FALSE(device.has(anyplace::Capability::stream_ordered_memory));
  const Stream stream(device);
  check_each(cuda, {{"cuMemAlloc_v2", [&] { const Buffer made(stream, 4096); }}});
  CHECK(cuda.calls_of("cuMemAllocFromPoolAsync") == 0);
  const Buffer numbers(stream, 4096);
  std::vector<std::uint32_t> back(1024);
  stream.memset32(numbers, 6);
  stream.copy(back, numbers);
  stream.synchronize();
  CHECK(back == std::vector<std::uint32_t>(1024, 6));
}

TEST_CASE("Memory that runs out is told with the figures and what was freed can be had again") {
  const Double cuda({{"CUDA_DOUBLE_MEMORY", "64M"}});
  const Device device("cuda:0");
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
  const Double cuda({{"CUDA_DOUBLE_MEMORY", "64M"}});
  const Device device("cuda:0");
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
  const Double cuda({{"CUDA_DOUBLE_MANAGED", "0"}});
  const Device device("cuda:0");
  CHECK_FALSE(device.has(anyplace::Capability::managed_memory));
  const Stream stream(device);
  CHECK(test::code_of([&] { const Buffer made(stream, 64, {anyplace::MemoryKind::managed}); }) ==
        ErrorCode::unsupported);
}

TEST_CASE("A pitch over the limit of the device is copied line by line") {
  const Double cuda;
  const Device device("cuda:0");
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
  const Double cuda({{"ANYPLACE_ALLOCATOR", "segments:automatic"}, {"CUDA_DOUBLE_FAIL", "cuMemMap:1:999:always"}});
  test::check_segments_instead("cuda", "CUDA_ERROR_UNKNOWN");
  CHECK(cuda.live("reservation") == 0);
  CHECK(cuda.live("physical") == 0);
}

TEST_CASE("Where the driver has memory but none to map it comes in segments and that is said once") {
  const Double cuda({{"ANYPLACE_ALLOCATOR", "segments:automatic"}, {"CUDA_DOUBLE_FAIL", "cuMemMap:1:2:always"}});
  test::check_segments_instead("cuda", "CUDA_ERROR_OUT_OF_MEMORY");
  CHECK(cuda.live("reservation") == 0);
  CHECK(cuda.live("physical") == 0);
}
