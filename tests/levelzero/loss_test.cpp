// SPDX-License-Identifier: Apache-2.0
//
// Devices that are lost, drivers that do nothing, and drivers whose events never complete.
#include <chrono>
#include <memory>
#include <vector>

#include "support.h"
#include "support/process.h"

namespace loss_test {

namespace {

using namespace levelzero_test;
using anyplace::Buffer;
using anyplace::Device;
using anyplace::Event;
using anyplace::Stream;

bool works(const Device& device) {
  const Stream stream(device);
  const Buffer buffer(stream, 4096);
  stream.memset32(buffer, 3);
  std::vector<std::uint32_t> back(1024);
  stream.copy(back, buffer);
  stream.synchronize();
  return back == std::vector<std::uint32_t>(1024, 3);
}

}  // namespace

TEST_CASE("A device that is lost says so at each call and the other one goes on") {
  const Double ze;
  const Device bad("levelzero:1"), good("levelzero:0");
  const test::Reports reports;
  {
    const Stream stream(bad);
    const Buffer buffer(stream, 4096);
    const Event event(bad);
    stream.memset32(buffer, 1);
    event.record(stream);
    stream.synchronize();
    REQUIRE(ze.fail_device(1, device_lost));
    const anyplace::Error error = test::required_error(ErrorCode::device_lost, [&] {
      stream.memset32(buffer, 2);
      stream.synchronize();
    });
    CHECK(error.vendor_name() == "ZE_RESULT_ERROR_DEVICE_LOST");
    CHECK(test::code_of([&] { static_cast<void>(stream.query()); }) == ErrorCode::device_lost);
    CHECK(test::code_of([&] { Stream{bad}; }) == ErrorCode::device_lost);
    CHECK(works(good));
  }
  CHECK(works(good));
}

TEST_CASE("A peer that is lost when it is asked for access is named and does not take the other device along") {
  const Double ze;
  const Device good("levelzero:0"), bad("levelzero:1");
  CHECK(works(good));
  // Of the two devices of the call the double takes the second for the one that it lost.
  REQUIRE(ze.fail_nth("zeDeviceCanAccessPeer", 1, device_lost));
  const anyplace::Error error =
      test::required_error(ErrorCode::backend_failed, [&] { static_cast<void>(good.can_access_peer(bad)); });
  CHECK(error.vendor_code() == device_lost);
  CHECK_THAT(error.what(), Contains("levelzero:1"));
  CHECK(works(good));
  CHECK(test::code_of([&] { Stream{bad}; }) == ErrorCode::device_lost);
}

TEST_CASE("A kernel that faults loses its device and host functions behind it are let go") {
  const Double ze;
  const Device device("levelzero:0");
  const test::Reports reports;
  bool called = false;
  {
    const Stream stream(device);
    const Buffer buffer(stream, 4096);
    const anyplace::Module module = load(device, read_image());
    stream.synchronize();
    REQUIRE(ze.fault_kernel(0, 1, device_lost));
    const anyplace::Error error = test::required_error(ErrorCode::device_lost, [&] {
      stream.launch(module.kernel("fill"), {1, 64}, buffer, 64u, 1u);
      stream.launch_host_func([&called] { called = true; });
      stream.synchronize();
    });
    CHECK(error.vendor_code() == device_lost);
  }
  CHECK(!called);
}

TEST_CASE("A driver whose calls all succeed and do nothing is refused") {
  const Double ze({{"LEVELZERO_DOUBLE_NOTHING", "all"}});
  test::required_error(ErrorCode::no_such_backend, [] { Stream(Device("levelzero:0")); });
}

TEST_CASE("A call that succeeds and makes nothing is a failure of the driver") {
  const char* const entry =
      GENERATE("zeContextCreate", "zeCommandListCreateImmediate", "zeEventPoolCreate", "zeEventCreate",
               "zeMemAllocDevice", "zeMemAllocHost", "zeModuleCreate", "zeKernelCreate");
  // The double reads its environment once, so each has a process.
  const test::Ended result = test::in_child([entry] {
    const Double ze({{"LEVELZERO_DOUBLE_NOTHING", entry}});
    const auto error = test::error_of([] {
      const Device device("levelzero:0");
      const Stream stream(device);
      const Buffer buffer(stream, 4096);
      const anyplace::Module module = load(device, read_image());
      stream.launch(module.kernel("fill"), {1, 64}, buffer, 64u, 1u);
      stream.synchronize();
    });
    if (!error || error->code() != ErrorCode::backend_failed) return 1;
    return std::string(error->what()).find(entry) != std::string::npos ? 0 : 2;
  });
  INFO(entry << ": " << result.out);
  CHECK(!result.hung);
  CHECK(result.signal == 0);
  CHECK(result.status == 0);
}

TEST_CASE("Where events never complete questions are answered and nothing hangs for ever") {
  const test::Ended result = test::in_child([] {
    const Double ze({{"LEVELZERO_DOUBLE_STUCK", "1"}});
    const Device device("levelzero:0");
    auto stream = std::make_unique<Stream>(device);
    const Buffer buffer(*stream, 4096);
    stream->memset32(buffer, 1);
    const Event event = stream->record_event();
    if (stream->query() || event.query()) return 1;
    if (stream->synchronize(std::chrono::milliseconds(20))) return 2;
    if (event.synchronize(std::chrono::milliseconds(20))) return 3;
    if (device.synchronize(std::chrono::milliseconds(20))) return 4;
    stream->launch_host_func([] {});
    stream.reset();
    return 0;
  });
  INFO(result.out);
  CHECK(!result.hung);
  CHECK(result.signal == 0);
  CHECK(result.status == 0);
  CHECK_THAT(result.out, Contains("left behind"));
}

}  // namespace loss_test
