// SPDX-License-Identifier: Apache-2.0
//
// Sticky errors: the device they hit is lost for good, the other one goes on, and what is pending is settled.
#include <future>
#include <memory>
#include <optional>
#include <vector>

#include "support.h"

namespace {

using namespace hip_test;
using anyplace::Buffer;
using anyplace::Device;
using anyplace::Stream;

/// A pipeline of a few steps on one device; whether its result is right.
bool pipeline_works(const Device& device) {
  const anyplace::Module module = load(device, read_image("kernels.hsaco"));
  const Stream first(device), second(device);
  const Buffer a(first, 256 * 4), b(second, 256 * 4);
  std::vector<std::uint32_t> back(256);
  first.launch(module.kernel("fill"), {4}, {64}, 0, a, 256u, 7u);
  second.wait_stream(first);
  second.copy(b, a);
  a.record_stream(second);
  second.copy(back, b);
  second.synchronize();
  return back == std::vector<std::uint32_t>(256, 7);
}

/// Tells when it goes, and whether it was called.
struct Called {
  std::promise<bool> result;
  bool called = false;
  ~Called() { result.set_value(called); }
};

}  // namespace

TEST_CASE("A kernel that faults in the middle of a pipeline loses its device and no other") {
  const Double hip;
  const Device good("hip:0"), bad("hip:1");
  const anyplace::Module module = load(bad, read_image("kernels.hsaco"));
  const anyplace::KernelView fill = module.kernel("fill");
  const test::Reports reports;
  {
    const Stream first(bad), second(bad), beside(good);
    const Buffer a(first, 256 * 4), b(second, 256 * 4);
    const anyplace::Event before(bad);
    anyplace::HostBuffer pinned(bad, 4096);
    first.memset32(a, 1);
    before.record(first);
    first.synchronize();
    REQUIRE(hip.fault_kernel(1, 1, hipErrorIllegalAddress));
    // It may be found out at any of these.
    const auto error = test::error_of([&] {
      first.launch(fill, {4}, {64}, 0, a, 256u, 7u);
      second.wait_stream(first);
      second.copy(b, a);
      second.synchronize();
    });
    REQUIRE(error.has_value());
    CHECK(error->code() == ErrorCode::device_lost);
    CHECK(error->vendor_code() == hipErrorIllegalAddress);
    CHECK(error->vendor_name() == "hipErrorIllegalAddress");
    CHECK(error->place() == "hip:1");

    std::vector<std::uint32_t> host(256);
    const std::vector<std::function<void()>> later = {
        [&] { first.synchronize(); },
        [&] { static_cast<void>(first.query()); },
        [&] { static_cast<void>(second.synchronize(std::chrono::milliseconds(1))); },
        [&] { before.record(first); },
        [&] { first.wait_event(before); },
        [&] { first.memset32(a, 2); },
        [&] { first.copy(host, a); },
        [&] { first.launch(fill, {4}, {64}, 0, a, 256u, 7u); },
        [&] { first.launch_host_func([] {}); },
        [&] { const Stream made(bad); },
        [&] { const anyplace::Event made(bad); },
        [&] { const Buffer made(first, 64); },
        [&] { const anyplace::HostBuffer made(bad, 64); },
        [&] { load(bad, read_image("kernels.hsaco")); },
        [&] { bad.synchronize(); },
    };
    for (std::size_t i = 0; i < later.size(); ++i) {
      INFO("call " << i);
      CHECK(test::code_of(later[i]) == ErrorCode::device_lost);
    }
    beside.synchronize();
    CHECK(pipeline_works(good));
  }
  // Handles of the lost device went without a word. The event that wait_stream made may have been what found it out.
  for (const anyplace::Error& error : reports.all()) UNSCOPED_INFO(error.what());
  CHECK(reports.all().size() <= 1);
  CHECK(pipeline_works(good));
}

TEST_CASE("A loss that a destructor finds out is told once and handles of the lost device go silently") {
  const Double hip;
  const Device device("hip:0");
  const Stream stream(device);
  std::optional<anyplace::Event> first(device), second(device);
  const test::Reports reports;
  REQUIRE(hip.fail_device(0, hipErrorIllegalAddress));
  first.reset();
  const std::vector<anyplace::Error> told = reports.wait_for(1);
  CHECK(told.front().code() == ErrorCode::device_lost);
  CHECK(told.front().vendor_code() == hipErrorIllegalAddress);
  second.reset();
  CHECK(test::code_of([&] { stream.synchronize(); }) == ErrorCode::device_lost);
  CHECK(reports.all().size() == 1);
}

TEST_CASE("Each result that says that a kernel or the hardware failed is a lost device with its own code") {
  const Double hip({{"HIP_DOUBLE_DEVICES", "5"}});
  int index = 0;
  for (const int code : {214, 700, 702, 710, 719}) {
    INFO(code);
    const Device device(anyplace::Place("hip", index));
    const Stream stream(device);
    REQUIRE(hip.fail_device(index++, code));
    const auto error = test::error_of([&] { stream.synchronize(); });
    REQUIRE(error.has_value());
    CHECK(error->code() == ErrorCode::device_lost);
    CHECK(error->vendor_code() == code);
  }
}

TEST_CASE("Host functions that were queued when the device was lost are let go of and not called") {
  const Double hip;
  const Device device("hip:0");
  const anyplace::Module module = load(device, read_image("kernels.hsaco"));
  const Stream stream(device);
  const Buffer numbers(stream, 256 * 4);
  const anyplace::KernelView fill = module.kernel("fill");
  stream.synchronize();
  const test::Reports reports;
  auto called = std::make_shared<Called>();
  std::future<bool> result = called->result.get_future();
  hip.hold(0, true);
  REQUIRE(hip.fault_kernel(0, 1, hipErrorLaunchFailure));
  stream.launch(fill, {4}, {64}, 0, numbers, 256u, 7u);
  stream.launch_host_func([called] { called->called = true; });
  called.reset();
  hip.hold(0, false);
  // Nobody asks the device anything: it is found out all the same.
  CHECK_FALSE(result.get());
  CHECK(test::code_of([&] { stream.synchronize(); }) == ErrorCode::device_lost);
}

TEST_CASE("A device that is lost lets go of whoever waits for it in another backend") {
  const Double hip;
  const Device device("hip:0");
  const anyplace::Module module = load(device, read_image("kernels.hsaco"));
  const Stream producer(device), consumer(Device("cpu_sim:0"));
  const Buffer numbers(producer, 256 * 4);
  const anyplace::KernelView fill = module.kernel("fill");
  producer.synchronize();
  hip.hold(0, true);
  REQUIRE(hip.fault_kernel(0, 1, hipErrorAssert));
  producer.launch(fill, {4}, {64}, 0, numbers, 256u, 7u);
  consumer.wait_stream(producer);
  hip.hold(0, false);
  CHECK(test::code_of([&] { consumer.synchronize(); }) == ErrorCode::device_lost);
  consumer.synchronize();
}

TEST_CASE("A peer that is lost is named and does not take the other device along") {
  const Double hip;
  const Device good("hip:0"), bad("hip:1");
  const Stream here(good), there(bad);
  const Buffer a(here, 4096), b(there, 4096);
  const anyplace::Event event(bad);
  event.record(there);
  there.synchronize();
  here.synchronize();
  REQUIRE(hip.fail_device(1, hipErrorIllegalAddress));
  const auto error = test::error_of([&] {
    here.copy(a, b);
    here.synchronize();
  });
  REQUIRE(error.has_value());
  INFO(error->what());
  CHECK_THAT(error->what(), contains("hip:1"));
  CHECK(pipeline_works(good));
  CHECK(test::code_of([&] { there.synchronize(); }) == ErrorCode::device_lost);
}

TEST_CASE("A peer that is lost when it is first used is named and does not take the other device along") {
  const Double hip;
  const Device good("hip:0"), bad("hip:1");
  CHECK(pipeline_works(good));
  // The first call of the peer's that makes a stream: the backend's own.
  REQUIRE(hip.fail_nth("hipStreamCreateWithPriority", 1, hipErrorLaunchFailure));
  const auto error = test::error_of([&] { good.enable_peer_access(bad); });
  REQUIRE(error.has_value());
  CHECK(error->code() == ErrorCode::backend_failed);
  CHECK(error->vendor_code() == hipErrorLaunchFailure);
  CHECK_THAT(error->what(), contains("hip:1"));
  CHECK(pipeline_works(good));
  CHECK(test::code_of([&] { const Stream made(bad); }) == ErrorCode::device_lost);
}

TEST_CASE("A device that is lost while it gets access to a peer does not take the peer along") {
  const Double hip;
  const Device bad("hip:0"), good("hip:1");
  CHECK(pipeline_works(good));  // its pool is there
  REQUIRE(hip.fail_nth("hipMemPoolSetAccess", 1, hipErrorLaunchFailure));
  const auto error = test::error_of([&] { bad.enable_peer_access(good); });
  REQUIRE(error.has_value());
  CHECK(error->code() == ErrorCode::device_lost);
  CHECK(error->vendor_code() == hipErrorLaunchFailure);
  CHECK(pipeline_works(good));
}
