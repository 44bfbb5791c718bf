// SPDX-License-Identifier: Apache-2.0
//
// Sticky errors: the device they hit is lost for good, the other one goes on, and what is pending is settled.
#include <future>
#include <memory>
#include <optional>
#include <vector>

#include "pipeline.h"

namespace loss_test {

namespace {

using namespace vendor_test;

/// Tells when it goes, and whether it was called.
struct Called {
  std::promise<bool> result;
  bool called = false;
  ~Called() { result.set_value(called); }
};

}  // namespace

TEST_CASE("A kernel that faults in the middle of a pipeline loses its device and no other") {
  const Double driver;
  const Device good(place(0)), bad(place(1));
  const Module module = load(bad, read_image(any_image));
  const anyplace::KernelView fill = module.kernel("fill");
  const test::Reports reports;
  {
    const Stream first(bad), second(bad), beside(good);
    const Buffer a(first, 256 * 4), b(second, 256 * 4);
    const Event before(bad);
    anyplace::HostBuffer pinned(bad, 4096);
    first.memset32(a, 1);
    before.record(first);
    first.synchronize();
    REQUIRE(driver.fault_kernel(1, 1, result::illegal_address));
    // It may be found out at any of these.
    const anyplace::Error error = test::required_error(ErrorCode::device_lost, [&] {
      first.launch(fill, {4, 64}, a, 256u, 7u);
      second.wait_stream(first);
      second.copy(b, a);
      second.synchronize();
    });
    CHECK(error.vendor_code() == result::illegal_address);
    CHECK(error.vendor_name() == result::name_of_illegal_address);
    CHECK(error.place() == place(1));

    std::vector<std::uint32_t> host(256);
    const std::vector<std::function<void()>> later = {
        [&] { first.synchronize(); },
        [&] { static_cast<void>(first.query()); },
        [&] { static_cast<void>(second.synchronize(std::chrono::milliseconds(1))); },
        [&] { before.record(first); },
        [&] { first.wait_event(before); },
        [&] { first.memset32(a, 2); },
        [&] { first.copy(host, a); },
        [&] {
          first.launch(fill, {4, 64}, a, 256u, 7u);
        },
        [&] { first.launch_host_func([] {}); },
        [&] { const Stream made(bad); },
        [&] { const Event made(bad); },
        [&] { const Buffer made(first, 64); },
        [&] { const anyplace::HostBuffer made(bad, 64); },
        [&] { load(bad, read_image(any_image)); },
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
  const Double driver;
  const Device device(place(0));
  const Stream stream(device);
  std::optional<Event> first(device), second(device);
  const test::Reports reports;
  REQUIRE(driver.fail_device(0, result::illegal_address));
  first.reset();
  const std::vector<anyplace::Error> told = reports.wait_for(1);
  CHECK(told.front().code() == ErrorCode::device_lost);
  CHECK(told.front().vendor_code() == result::illegal_address);
  second.reset();
  CHECK(test::code_of([&] { stream.synchronize(); }) == ErrorCode::device_lost);
  CHECK(reports.all().size() == 1);
}

TEST_CASE("Each " STICKY_RESULT " is a lost device with its own code") {
  const Double driver({{DOUBLE_VARIABLE("DEVICES"), "9"}});
  int index = 0;
  for (const int code : sticky_results) {
    INFO(code);
    const Device device(place(index));
    const Stream stream(device);
    REQUIRE(driver.fail_device(index++, code));
    const anyplace::Error error = test::required_error(ErrorCode::device_lost, [&] { stream.synchronize(); });
    CHECK(error.vendor_code() == code);
  }
}

TEST_CASE("Host functions that were queued when the device was lost are let go of and not called") {
  const Double driver;
  const Device device(place(0));
  const Module module = load(device, read_image(any_image));
  const Stream stream(device);
  const Buffer numbers(stream, 256 * 4);
  const anyplace::KernelView fill = module.kernel("fill");
  stream.synchronize();
  const test::Reports reports;
  auto called = std::make_shared<Called>();
  std::future<bool> result = called->result.get_future();
  driver.hold(0, true);
  REQUIRE(driver.fault_kernel(0, 1, result::launch_failed));
  stream.launch(fill, {4, 64}, numbers, 256u, 7u);
  stream.launch_host_func([called] { called->called = true; });
  called.reset();
  driver.hold(0, false);
  // Nobody asks the device anything: it is found out all the same.
  CHECK_FALSE(result.get());
  CHECK(test::code_of([&] { stream.synchronize(); }) == ErrorCode::device_lost);
}

TEST_CASE("A device that is lost lets go of whoever waits for it in another backend") {
  const Double driver;
  const Device device(place(0));
  const Module module = load(device, read_image(any_image));
  const Stream producer(device), consumer(Device("cpu_sim:0"));
  const Buffer numbers(producer, 256 * 4);
  const anyplace::KernelView fill = module.kernel("fill");
  producer.synchronize();
  driver.hold(0, true);
  REQUIRE(driver.fault_kernel(0, 1, result::kernel_trapped));
  producer.launch(fill, {4, 64}, numbers, 256u, 7u);
  consumer.wait_stream(producer);
  driver.hold(0, false);
  CHECK(test::code_of([&] { consumer.synchronize(); }) == ErrorCode::device_lost);
  consumer.synchronize();
}

TEST_CASE("A peer that is lost is named and does not take the other device along") {
  const Double driver;
  const Device good(place(0)), bad(place(1));
  const Stream here(good), there(bad);
  const Buffer a(here, 4096), b(there, 4096);
  const Event event(bad);
  event.record(there);
  there.synchronize();
  here.synchronize();
  REQUIRE(driver.fail_device(1, result::illegal_address));
  const auto error = test::error_of([&] {
    here.copy(a, b);
    here.synchronize();
  });
  REQUIRE(error.has_value());
  INFO(error->what());
  CHECK_THAT(error->what(), contains(place(1)));
  CHECK(pipeline_works(good));
  CHECK(test::code_of([&] { there.synchronize(); }) == ErrorCode::device_lost);
}

TEST_CASE("A peer that is lost when " FIRST_USE_OF_A_PEER " is named and does not take the other device along") {
  const Double driver;
  const Device good(place(0)), bad(place(1));
  CHECK(pipeline_works(good));
  // The first call of the peer's that makes a stream: the backend's own.
  REQUIRE(driver.fail_nth(call::create_stream, 1, result::launch_failed));
  const anyplace::Error error = test::required_error(ErrorCode::backend_failed, [&] { good.enable_peer_access(bad); });
  CHECK(error.vendor_code() == result::launch_failed);
  CHECK_THAT(error.what(), contains(place(1)));
  CHECK(pipeline_works(good));
  CHECK(test::code_of([&] { const Stream made(bad); }) == ErrorCode::device_lost);
}

TEST_CASE("A device that is lost while it gets access to a peer does not take the peer along") {
  const Double driver;
  const Device bad(place(0)), good(place(1));
  CHECK(pipeline_works(good));  // its pool is there
  REQUIRE(driver.fail_nth(call::set_pool_access, 1, result::launch_failed));
  const anyplace::Error error = test::required_error(ErrorCode::device_lost, [&] { bad.enable_peer_access(good); });
  CHECK(error.vendor_code() == result::launch_failed);
  CHECK(pipeline_works(good));
}

}  // namespace loss_test
