// SPDX-License-Identifier: Apache-2.0
// Host functions: where and when they run, what they leave behind, and how long their closures live.
#include <anyplace/anyplace.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <memory>
#include <stdexcept>
#include <thread>

#include "streams/plugins/forward.h"
#include "support/errors.h"
#include "support/host_gate.h"

namespace host_function_test {

using namespace anyplace;
using test::code_of;
using test::HostGate;

TEST_CASE("Given a host function then it runs on another thread than the one that synchronizes") {
  const Stream stream(Device("cpu_sim:0"));
  std::thread::id ran_on;
  stream.launch_host_func([&] { ran_on = std::this_thread::get_id(); });
  stream.synchronize();
  REQUIRE(ran_on != std::thread::id());
  REQUIRE(ran_on != std::this_thread::get_id());
}

TEST_CASE("Given copies around a host function then it sees the first and the second sees it") {
  const Stream stream(Device("cpu_sim:0"));
  const std::vector<int> up{1, 2, 3};
  std::vector<int> down(3);
  std::vector<int> seen;
  Buffer buffer(stream, sizeof(int) * 3);
  stream.copy(buffer, up);
  stream.copy(down, buffer);
  stream.launch_host_func([&] {
    seen = down;
    down = {0, 0, 0};
  });
  stream.copy(down, buffer);
  stream.synchronize();
  REQUIRE(seen == up);
  REQUIRE(down == up);
}

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

TEST_CASE("Given an empty function then launching it is an invalid argument") {
  const Stream stream(Device("cpu_sim:0"));
  REQUIRE(code_of([&] { stream.launch_host_func(nullptr); }) == ErrorCode::invalid_argument);
  stream.synchronize();
}

TEST_CASE("Given something thrown that is no exception then it is a fault too") {
  const Stream stream(Device("cpu_sim:0"));
  stream.launch_host_func([] { throw 7; });
  REQUIRE(code_of([&] { stream.synchronize(); }) == ErrorCode::host_function_failed);
}

TEST_CASE("Given a blocked host function then kernels and copies of other streams go on") {
  const Device device("cpu_sim:0");
  const Stream blocked(device);
  const Stream other(device);
  HostGate gate;
  gate.block(blocked);
  gate.wait_until_reached();
  std::vector<int> data(1024, 1);
  Buffer buffer(other, data.size() * sizeof(int));
  const Kernel kernel(device, [](const Block& block, int* values, std::uint32_t count) {
    block.for_each_thread([&](const Thread& thread) {
      if (thread.global[0] < count) values[thread.global[0]] += 1;
    });
  });
  other.copy(buffer, data);
  other.launch(kernel, {4, 256}, buffer, std::uint32_t{1024});
  other.copy(data, buffer);
  other.synchronize();
  REQUIRE(data == std::vector<int>(1024, 2));
  REQUIRE_FALSE(blocked.query());
}

}  // namespace host_function_test
