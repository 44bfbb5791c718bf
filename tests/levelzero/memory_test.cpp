// SPDX-License-Identifier: Apache-2.0
//
// Memory and fills: where Level Zero has limits that the contract doesn't have.
#include <vector>

#include "support.h"
#include "support/host_uses.h"
#include "support/segments_instead.h"

namespace memory_test {

namespace {

using namespace levelzero_test;
using anyplace::Buffer;
using anyplace::Device;
using anyplace::Stream;
using Numbers = std::vector<std::uint32_t>;

}  // namespace

TEST_CASE("A fill whose pattern is longer than the queue's limit is made by copies") {
  const Double ze({{"LEVELZERO_DOUBLE_FILL_PATTERN", "1"}});
  const Stream stream(Device("levelzero:0"));
  constexpr std::size_t count = 3 << 20;  // longer than the staging memory
  const Buffer buffer(stream, count * 4);
  stream.memset32(buffer, 0x01020304);
  Numbers back(count);
  stream.copy(back, buffer);
  stream.synchronize();
  CHECK(back == Numbers(count, 0x01020304));
  CHECK(ze.calls_of("zeCommandListAppendMemoryFill") == 0);
  stream.memset32(buffer, 0x07070707);
  CHECK(ze.calls_of("zeCommandListAppendMemoryFill") == 1);
}

TEST_CASE("One block may be bigger than the device's limit for blocks where the driver has the extension") {
  const Double ze({{"LEVELZERO_DOUBLE_LARGEST", "1M"}});
  const Device device("levelzero:0");
  const Stream stream(device);
  const Buffer buffer(stream, 64 << 20);
  stream.memset32(buffer, 1);
  stream.synchronize();
}

TEST_CASE("A block that is too big for the device is out of memory and says what the limit is") {
  const Double ze;
  const Device device("levelzero:0");
  const Stream stream(device);
  CHECK(test::code_of([&] { Buffer(stream, std::size_t{1} << 40); }) == ErrorCode::out_of_memory);
  REQUIRE(ze.fail_nth("zeMemAllocDevice", 1, 0x78000009, true));  // UNSUPPORTED_SIZE
  test::required_error(ErrorCode::out_of_memory, [&] { Buffer(stream, 1 << 20); });
}

TEST_CASE("A device without shared memory refuses it") {
  const Double ze({{"LEVELZERO_DOUBLE_MANAGED", "0"}});
  const Device device("levelzero:0");
  CHECK(!device.has(anyplace::Capability::managed_memory));
  CHECK(test::code_of([&] { Buffer(device, 4096, {.kind = anyplace::MemoryKind::managed}); }) ==
        ErrorCode::unsupported);
}

TEST_CASE("A driver that shares no memory with other processes lacks the capability") {
  const Double ze({{"LEVELZERO_DOUBLE_IPC", "none"}});
  const Device device("levelzero:0");
  CHECK(!device.has(anyplace::Capability::interprocess_memory));
  CHECK(device.has(anyplace::Capability::interprocess_events));
  CHECK(test::code_of([&] { Buffer(device, 4096, {.shareable = true}); }) == ErrorCode::unsupported);
  const Buffer buffer(device, 4096);
  CHECK(test::code_of([&] { buffer.export_handle(); }) == ErrorCode::unsupported);
  CHECK(ze.calls_of("zeMemGetIpcHandle") == 0);
}

TEST_CASE("Buffers of one allocation have one handle of the driver's, which is given back with the last of them") {
  const Double ze({{"ANYPLACE_ALLOCATOR", "caching:true"}});
  const Stream stream(Device("levelzero:0"));
  {
    const Buffer a(stream, 1000), b(stream, 1000);
    CHECK(a.export_handle() != b.export_handle());
    CHECK(a.export_handle() == a.export_handle());
    CHECK(ze.calls_of("zeMemGetIpcHandle") == 1);
    CHECK(ze.calls_of("zeMemPutIpcHandle") == 0);
  }
  stream.synchronize();
  anyplace::empty_cache(stream.device());
  if (!is_behind_loader) CHECK(ze.calls_of("zeMemPutIpcHandle") == 1);
}

TEST_CASE(
    "Where the driver is older than its loader and takes no handle back, the handle ends with the memory, without a "
    "word") {
  const Double ze;
  const test::Reports reports;
  {
    const Device device("levelzero:0");
    const Buffer buffer(device, 4096, {.shareable = true});
    CHECK(!buffer.export_handle().empty());
    if (!is_behind_loader) REQUIRE(ze.fail_nth("zeMemPutIpcHandle", 1, 0x78000003));  // UNSUPPORTED_FEATURE
  }
  CHECK(reports.all().empty());
}

TEST_CASE("Memory whose handle the driver refuses is unsupported and says so") {
  const Double ze;
  const Device device("levelzero:0");
  const Buffer buffer(device, 4096, {.shareable = true});
  REQUIRE(ze.fail_nth("zeMemGetIpcHandle", 1, 0x78000003));  // UNSUPPORTED_FEATURE
  const auto refused = test::required_error(ErrorCode::unsupported, [&] { buffer.export_handle(); });
  CHECK_THAT(refused.what(), Contains("zeMemGetIpcHandle"));
  CHECK(!buffer.export_handle().empty());
}

TEST_CASE("Memory whose handle neither begins with a descriptor nor names its process is unsupported and says so") {
  const Double ze({{"LEVELZERO_DOUBLE_NOTHING", "zeMemGetIpcHandle"}});
  const Device device("levelzero:0");
  const Buffer buffer(device, 4096, {.shareable = true});
  const auto refused = test::required_error(ErrorCode::unsupported, [&] { buffer.export_handle(); });
  CHECK_THAT(refused.what(), Contains("how to send it isn't known"));
}

TEST_CASE("Devices that can't reach each other copy through the host and refuse peer access") {
  const Double ze({{"LEVELZERO_DOUBLE_PEERS", "0"}});
  const Device one("levelzero:0"), other("levelzero:1");
  CHECK(!one.can_access_peer(other));
  test::required_error(ErrorCode::unsupported, [&] { one.enable_peer_access(other); });
  const Stream here(one), there(other);
  const Buffer a(here, 4096), b(there, 4096);
  here.memset32(a, 5);
  there.wait_stream(here);
  there.copy(b, a);
  Numbers back(1024);
  there.copy(back, b);
  there.synchronize();
  CHECK(back == Numbers(1024, 5));
}

TEST_CASE("Where the driver fails to map memory comes in segments and that is said once") {
  const Double ze({{"ANYPLACE_ALLOCATOR", "segments:automatic"},
                   {"ANYPLACE_LEVELZERO_VIRTUAL_MEMORY", "1"},
                   {"LEVELZERO_DOUBLE_FAIL", "zeVirtualMemMap:1:2013265921:always"}});
  test::check_segments_instead("levelzero", "ZE_RESULT_ERROR_UNINITIALIZED");
  CHECK(ze.live("reservation") == 0);
  CHECK(ze.live("physical") == 0);
}

TEST_CASE("Where the driver has memory but none to map it comes in segments and that is said once") {
  const Double ze({{"ANYPLACE_ALLOCATOR", "segments:automatic"},
                   {"ANYPLACE_LEVELZERO_VIRTUAL_MEMORY", "1"},
                   {"LEVELZERO_DOUBLE_FAIL", "zeVirtualMemMap:1:1879048195:always"}});
  test::check_segments_instead("levelzero", "ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY");
  CHECK(ze.live("reservation") == 0);
  CHECK(ze.live("physical") == 0);
}

TEST_CASE("Virtual memory is offered where it is asked for") {
  const Double ze({{"ANYPLACE_LEVELZERO_VIRTUAL_MEMORY", "1"}});
  CHECK(Device("levelzero:0").has(anyplace::Capability::virtual_memory));
}

TEST_CASE("Virtual memory is not offered where it isn't asked for") {
  const Double ze;
  CHECK_FALSE(Device("levelzero:0").has(anyplace::Capability::virtual_memory));
}

TEST_CASE("Where physical memory has one address the caching allocator's memory is right all the same") {
  const Double ze({{"ANYPLACE_ALLOCATOR", "segments:automatic"}, {"LEVELZERO_DOUBLE_ONE_ADDRESS", "1"}});
  const test::Reports reports;
  test::use_memory("levelzero:0");
  CHECK(reports.all().empty());
}

TEST_CASE("Pinned memory that goes while copies use it is nobody else's before they are done") {
  const Double ze;
  test::check_host_buffers_kept(ze, "levelzero:0");
}

}  // namespace memory_test
