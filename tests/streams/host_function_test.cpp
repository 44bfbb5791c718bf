// SPDX-License-Identifier: Apache-2.0
// Host functions: how long their closures live, and faults where a case of the suite doesn't look: behind a time that
// ran out, of a stream that is gone, and in the error handler.
#include <anyplace/anyplace.h>

#include <catch2/catch.hpp>
#include <future>
#include <memory>
#include <stdexcept>

#include "streams/plugins/forward.h"
#include "support/errors.h"
#include "support/host_gate.h"

namespace host_function_test {

using namespace anyplace;
using namespace std::chrono_literals;
using test::code_of;
using test::HostGate;

TEST_CASE("Given a closure when its function ran then it is destroyed once and before the work counts as done") {
  const Stream stream(Device("cpu_sim:0"));
  const auto counted = std::make_shared<int>(0);
  const std::weak_ptr<int> watch = counted;
  HostGate gate;
  gate.block(stream);
  stream.launch_host_func([counted] { ++*counted; });
  REQUIRE(watch.use_count() == 2);
  gate.open();
  stream.synchronize();
  REQUIRE(watch.use_count() == 1);
  REQUIRE(*counted == 1);
}

TEST_CASE("Given a closure when its function throws then it is destroyed as well") {
  const Stream stream(Device("cpu_sim:0"));
  const auto counted = std::make_shared<int>(0);
  stream.launch_host_func([counted] { throw std::runtime_error("no"); });
  REQUIRE(code_of([&] { stream.synchronize(); }) == ErrorCode::host_function_failed);
  REQUIRE(counted.use_count() == 1);
}

TEST_CASE("Given a closure when submitting fails then it is destroyed and never called") {
  test::Forward& forward = test::new_forward();
  forward.install("sim_b");
  const Stream stream(Device("sim_b:0"));
  const auto counted = std::make_shared<int>(0);
  forward.fail_next = ANYPLACE_STATUS_BACKEND_FAILED;
  const auto error = test::error_of([&] { stream.launch_host_func([counted] { ++*counted; }); });
  REQUIRE(error);
  REQUIRE(error->code() == ErrorCode::backend_failed);
  REQUIRE(error->vendor_code() == 7);
  REQUIRE(error->vendor_name() == "FORWARD_FAILED");
  REQUIRE(error->vendor_text() == "failed on command");
  stream.synchronize();
  REQUIRE(counted.use_count() == 1);
  REQUIRE(*counted == 0);
}

// ---- Faults --------------------------------------------------------------------------------------------------------

TEST_CASE("Given a fault when synchronize has a timeout then time running out leaves it and success reports it") {
  const Stream stream(Device("cpu_sim:0"));
  HostGate gate;
  stream.launch_host_func([] { throw std::runtime_error("early"); });
  gate.block(stream);
  gate.wait_until_reached();
  REQUIRE_FALSE(stream.synchronize(0ns));
  REQUIRE(code_of([&] { static_cast<void>(stream.query()); }) == ErrorCode::host_function_failed);
  gate.open();
  REQUIRE(code_of([&] { static_cast<void>(stream.synchronize(1h)); }) == ErrorCode::host_function_failed);
  REQUIRE(stream.synchronize(1h));
}

TEST_CASE("Given a destroyed stream when its work faults then the error handler gets it") {
  const test::Reports reports;
  HostGate gate;
  {
    const Stream stream(Device("cpu_sim:0"));
    gate.block(stream);
    stream.launch_host_func([] { throw std::runtime_error("too late"); });
  }
  gate.open();
  Device("cpu_sim:0").synchronize();
  const auto errors = reports.wait_for(1);
  REQUIRE(errors.size() == 1);
  REQUIRE(errors[0].text() == "too late");
}

TEST_CASE("Given an error handler that calls anyplace then that is refused and not waited for") {
  const Device device("cpu_sim:0");
  std::promise<ErrorCode> refused;
  const anyplace::ErrorHandler before = anyplace::set_error_handler(
      [&](const anyplace::Error&) { refused.set_value(code_of([&] { device.synchronize(); })); });
  HostGate gate;
  {
    const Stream stream(device);
    gate.block(stream);
    stream.launch_host_func([] { throw std::runtime_error("too late"); });
  }
  gate.open();
  const ErrorCode code = refused.get_future().get();
  anyplace::set_error_handler(before);
  REQUIRE(code == ErrorCode::not_permitted);
}

}  // namespace host_function_test
