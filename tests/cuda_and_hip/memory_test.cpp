// SPDX-License-Identifier: Apache-2.0
//
// Out of memory at each call that allocates, and what memory there is.
#include <functional>
#include <vector>

#include "support.h"
#include "support/host_uses.h"
#include "support/segments_instead.h"

namespace memory_test {

namespace {

using namespace vendor_test;

struct Allocating {
  const char* entry;
  std::function<void()> call;
};

/// Each call fails with out_of_memory and the vendor's code, leaves nothing behind, and works again when there is
/// memory.
void check_each(const Double& driver, const std::vector<Allocating>& all) {
  for (const Allocating& each : all) {
    INFO(each.entry);
    const std::uint64_t before = driver.calls_of(each.entry);
    REQUIRE(driver.fail_nth(each.entry, 1, result::out_of_memory, true));
    const auto error = test::error_of(each.call);
    CHECK(driver.calls_of(each.entry) > before);
    driver.clear_failures();
    REQUIRE(error.has_value());
    INFO(error->what());
    CHECK(error->code() == ErrorCode::out_of_memory);
    CHECK(error->vendor_code() == result::out_of_memory);
    each.call();
  }
}

}  // namespace

TEST_CASE("Out of memory at the first use of a device is no loss of it") {
  const Double driver;
  const Device device(place(0));
  check_each(driver, {{call::first_of_a_device, [&] { const Stream made(device); }}});
  CHECK(driver.live("context") == contexts_of_a_device);
}

TEST_CASE("Out of memory in the middle of the first use leaves no context behind") {
  const Double driver;
  const Device device(place(0));
  REQUIRE(driver.fail_nth(call::create_stream, 1, result::out_of_memory));
  CHECK(test::code_of([&] { const Stream made(device); }) == ErrorCode::out_of_memory);
  CHECK(driver.live("context") == 0);
  { const Stream made(device); }
  CHECK(driver.live("context") == contexts_of_a_device);
}

TEST_CASE("Out of memory at each allocating call is told as that and leaves nothing behind") {
  const Double driver;
  const Device device(place(0));
  const Stream stream(device);
  stream.synchronize();
  std::vector<std::uint32_t> host(1024);
  const std::string image = read_image(any_image);
  check_each(driver,
             {
                 {call::create_stream, [&] { const Stream made(device); }},
                 {call::create_event, [&] { const Event made(device); }},
                 {call::create_pool, [&] { const Buffer made(stream, 4096); }},
                 {call::allocate_from_pool, [&] { const Buffer made(stream, 4096); }},
                 {call::allocate_pinned, [&] { const anyplace::HostBuffer made(device, 4096); }},
                 {call::allocate_managed, [&] { const Buffer made(stream, 4096, {anyplace::MemoryKind::managed}); }},
                 {call::register_host, [&] { const anyplace::HostRegistration made(device, host); }},
                 {call::load_module, [&] { load(device, image); }},
             });
  stream.synchronize();
  device.synchronize();
  CHECK(driver.live("host") == 0);
  CHECK(driver.live("registered") == 0);
  CHECK(driver.live("module") == 0);
}

TEST_CASE("Out of memory at a submission is told as that and the stream goes on") {
  const Double driver;
  const Device device(place(0));
  const Module module = load(device, read_image(any_image));
  const anyplace::KernelView fill = module.kernel("fill");
  const Stream stream(device);
  const Buffer numbers(stream, 1024 * 4);
  std::vector<std::uint32_t> host(1024);
  check_each(driver, {
                         {call::copy_to_device, [&] { stream.copy(numbers, host); }},
                         {call::copy_to_host, [&] { stream.copy(host, numbers); }},
                         {call::fill_32, [&] { stream.memset32(numbers, 1); }},
                         {call::launch_host_function, [&] { stream.launch_host_func([] {}); }},
                         {call::launch_kernel,
                          [&] {
                            stream.launch(fill, {16, 64}, numbers, 1024u, 4u);
                          }},
                     });
  stream.copy(host, numbers);
  stream.synchronize();
  CHECK(host == std::vector<std::uint32_t>(1024, 4));
}

TEST_CASE("Without pools device memory comes from the plain calls") {
  const Double driver({{DOUBLE_VARIABLE("POOLS"), "0"}});
  const Device device(place(0));
  CHECK_FALSE(device.has(anyplace::Capability::stream_ordered_memory));
  const Stream stream(device);
  check_each(driver, {{call::allocate, [&] { const Buffer made(stream, 4096); }}});
  CHECK(driver.calls_of(call::allocate_from_pool) == 0);
  const Buffer numbers(stream, 4096);
  std::vector<std::uint32_t> back(1024);
  stream.memset32(numbers, 6);
  stream.copy(back, numbers);
  stream.synchronize();
  CHECK(back == std::vector<std::uint32_t>(1024, 6));
}

TEST_CASE("Memory that is idle in the pool counts as free and is given to other kinds") {
  const Double driver({{DOUBLE_VARIABLE("MEMORY"), "64M"}});
  const Device device(place(0));
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
  const Double driver({{DOUBLE_VARIABLE("MANAGED"), "0"}});
  const Device device(place(0));
  CHECK_FALSE(device.has(anyplace::Capability::managed_memory));
  const Stream stream(device);
  CHECK(test::code_of([&] { const Buffer made(stream, 64, {anyplace::MemoryKind::managed}); }) ==
        ErrorCode::unsupported);
}

TEST_CASE("A pitch over the limit of the device is copied line by line") {
  const Double driver;
  const Device device(place(0));
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
  const Double driver(
      {{"ANYPLACE_ALLOCATOR", "segments:automatic"}, {DOUBLE_VARIABLE("FAIL"), VENDOR_CALL("MemMap") ":1:999:always"}});
  test::check_segments_instead(backend, result::name_of_unknown);
  CHECK(driver.live("reservation") == 0);
  CHECK(driver.live("physical") == 0);
}

TEST_CASE("Where the driver has memory but none to map it comes in segments and that is said once") {
  const Double driver(
      {{"ANYPLACE_ALLOCATOR", "segments:automatic"}, {DOUBLE_VARIABLE("FAIL"), VENDOR_CALL("MemMap") ":1:2:always"}});
  test::check_segments_instead(backend, result::name_of_out_of_memory);
  CHECK(driver.live("reservation") == 0);
  CHECK(driver.live("physical") == 0);
}

TEST_CASE("Pinned memory that goes while copies use it is nobody else's before they are done") {
  const Double driver;
  test::check_host_buffers_kept(driver, place(0));
}

}  // namespace memory_test
