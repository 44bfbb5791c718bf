// SPDX-License-Identifier: Apache-2.0
// A device that fails for good: it says so at once, everything else goes on, and nobody waits for it for ever.
#include <anyplace/anyplace.h>

#include <atomic>
#include <catch2/catch.hpp>
#include <cstdlib>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "streams/marked.h"
#include "streams/plugins/forward.h"
#include "support/errors.h"
#include "support/host_gate.h"

namespace lost_device_test {

using namespace anyplace;
using namespace std::chrono_literals;
using test::code_of;
using test::HostGate;
using test::Marked;

namespace {

/// What a vendor does that reports a sticky error asynchronously.
void report_loss(const test::Forward& forward, StreamView stream) {
  forward.host->stream_fault(forward.host->context, stream.id(), ANYPLACE_STATUS_DEVICE_LOST, 719, "FORWARD_LOST",
                             "lost while it worked");
}

}  // namespace

TEST_CASE("Given an entry that reports the loss then that call has the vendor's words and later ones don't ask again") {
  test::Forward& forward = test::new_forward();
  forward.install("sim_b");
  const Device device("sim_b:0");
  const Stream stream(device);
  const Event event(device, {.timing = true});
  Buffer buffer(stream, 64);
  const Kernel kernel(device, [](const Block&) {});
  stream.synchronize();
  forward.lost_device = 0;
  const auto first = test::error_of([&] { stream.synchronize(); });
  REQUIRE(first);
  REQUIRE(first->code() == ErrorCode::device_lost);
  REQUIRE(first->place() == "sim_b:0");
  REQUIRE(first->vendor_code() == 719);
  REQUIRE(first->vendor_name() == "FORWARD_LOST");
  REQUIRE(forward.calls_when_lost == 1);

  const std::vector<std::pair<std::string, std::function<void()>>> calls = {
      {"query", [&] { static_cast<void>(stream.query()); }},
      {"synchronize", [&] { stream.synchronize(); }},
      {"synchronize with a timeout", [&] { static_cast<void>(stream.synchronize(1ms)); }},
      {"record_event", [&] { stream.record_event(); }},
      {"wait_event", [&] { stream.wait_event(event); }},
      {"wait_stream", [&] { stream.wait_stream(stream); }},
      {"launch_host_func", [&] { stream.launch_host_func([] {}); }},
      {"memset8", [&] { stream.memset8(buffer, 1); }},
      {"native_handle", [&] { stream.native_handle(); }},
      {"Event::record", [&] { event.record(stream); }},
      {"Event::query", [&] { static_cast<void>(event.query()); }},
      {"Event::synchronize", [&] { event.synchronize(); }},
      {"elapsed_time", [&] { elapsed_time(event, event); }},
      {"Device::synchronize", [&] { device.synchronize(); }},
      {"memory_info", [&] { device.memory_info(); }},
      {"properties", [&] { device.properties(); }},
      {"default_stream", [&] { device.default_stream(); }},
      {"Stream", [&] { const Stream made(device); }},
      {"Event", [&] { const Event made(device); }},
      {"Buffer", [&] { const Buffer made(stream, 64); }},
      {"Buffer::from_native", [&] { Buffer::from_native(device, 4096, 1); }},
      {"HostBuffer", [&] { const HostBuffer made(device, 64); }},
      {"launch",
       [&] {
         stream.launch(kernel, {1, 1});
       }},
      {"Kernel", [&] { const Kernel made(device, [](const Block&) {}); }},
      {"Module", [&] { Module::from_file(device, "/nowhere"); }},
      {"a wait from another device", [&] { Stream(Device("sim_b:1")).wait_event(event); }},
      {"a wait from another backend", [&] { Stream(Device("cpu_sim:0")).wait_stream(stream); }},
  };
  for (const auto& [name, call] : calls) {
    INFO(name);
    const auto error = test::error_of(call);
    REQUIRE(error);
    REQUIRE(error->code() == ErrorCode::device_lost);
    REQUIRE(error->place() == "sim_b:0");
  }
  REQUIRE(forward.calls_when_lost == 1);
}

TEST_CASE("Given a lost device then other devices and backends go on") {
  test::Forward& forward = test::new_forward();
  forward.install("sim_b");
  const Stream lost(Device("sim_b:0"));
  forward.lost_device = 0;
  REQUIRE(code_of([&] { lost.synchronize(); }) == ErrorCode::device_lost);
  for (const char* place : {"sim_b:1", "cpu_sim:0"}) {
    Marked marked{Device(place)};
    marked.set(1);
    marked.stream.synchronize();
    REQUIRE(marked.get() == 1);
  }
}

TEST_CASE("Given a lost device then its handles can be destroyed and the backend is told") {
  REQUIRE(setenv("ANYPLACE_ALLOCATOR", "caching:false", 1) == 0);  // so that the backend is told of each buffer
  const test::Reports reports;
  test::Forward& forward = test::new_forward();
  forward.install("sim_b");
  {
    const Stream stream(Device("sim_b:0"));
    const Event event(Device("sim_b:0"));
    const Buffer buffer(stream, 64);
    stream.synchronize();
    forward.lost_device = 0;
    REQUIRE(code_of([&] { stream.synchronize(); }) == ErrorCode::device_lost);
  }
  REQUIRE(forward.ended_when_lost == 3);
  REQUIRE(forward.calls_when_lost == 1);
  REQUIRE(reports.all().empty());
}

TEST_CASE("Given a fault that is a loss then the device is lost from then on") {
  test::Forward& forward = test::new_forward();
  forward.install("sim_b");
  const Stream stream(Device("sim_b:0"));
  const Stream other(Device("sim_b:0"));
  report_loss(forward, stream);
  REQUIRE(code_of([&] { static_cast<void>(other.query()); }) == ErrorCode::device_lost);
  REQUIRE(code_of([&] { stream.synchronize(); }) == ErrorCode::device_lost);
  REQUIRE(Stream(Device("sim_b:1")).query());
}

TEST_CASE("Given a fault that is no loss then it belongs to its stream") {
  test::Forward& forward = test::new_forward();
  forward.install("sim_b");
  const Stream stream(Device("sim_b:0"));
  const Stream other(Device("sim_b:0"));
  forward.host->stream_fault(forward.host->context, stream.id(), ANYPLACE_STATUS_KERNEL_FAILED, 3, "THREE", "a kernel");
  forward.host->stream_fault(forward.host->context, stream.id(), ANYPLACE_STATUS_KERNEL_FAILED, 4, "FOUR", "another");
  REQUIRE(other.query());
  const auto error = test::error_of([&] { stream.synchronize(); });
  REQUIRE(error);
  REQUIRE(error->code() == ErrorCode::kernel_failed);
  REQUIRE(error->vendor_code() == 3);
  REQUIRE(error->vendor_text() == "a kernel");
  REQUIRE(error->place() == "sim_b:0");
  stream.synchronize();
}

TEST_CASE("Given a fault of a stream that is gone or never was then the error handler gets it") {
  test::Forward& forward = test::new_forward();
  forward.install("sim_b");
  const test::Reports reports;
  std::uint64_t id = 0;
  {
    const Stream stream(Device("sim_b:0"));
    id = stream.id();
  }
  for (const std::uint64_t cookie : {id, std::uint64_t{0}, ~std::uint64_t{0}}) {
    forward.host->stream_fault(forward.host->context, cookie, ANYPLACE_STATUS_KERNEL_FAILED, 0, nullptr, "nobody's");
  }
  REQUIRE(reports.wait_for(3).size() == 3);
}

// ---- Who waits for it ----------------------------------------------------------------------------------------------
namespace {

/// sim_b's device 0 is lost while sim_c's stream waits for it.
void releases_the_waiter(bool host_functions, bool gates) {
  test::Forward& producer_side = test::new_forward();
  test::Forward& waiter_side = test::new_forward();
  producer_side.host_functions = host_functions;
  waiter_side.gates = gates;
  producer_side.install("sim_b");
  waiter_side.install("sim_c");
  const Stream blocker(Device("cpu_sim:0"));
  const Stream producer(Device("sim_b:0"));
  Marked waiter(Device("sim_c:0"));
  HostGate gate;
  gate.block(blocker);
  producer.wait_stream(blocker);
  waiter.stream.wait_stream(producer);
  waiter.set(1);
  REQUIRE_FALSE(waiter.stream.query());
  producer_side.lost_device = 0;
  report_loss(producer_side, producer);
  const auto error = test::error_of([&] { waiter.stream.synchronize(); });
  REQUIRE(error);
  REQUIRE(error->code() == ErrorCode::device_lost);
  REQUIRE(error->place() == "sim_b:0");
  // It goes on: what is lost is the producer's device.
  waiter.stream.synchronize();
  REQUIRE(waiter.get() == 1);
  REQUIRE(Device("sim_c:0").synchronize(1h));
  gate.open();
  blocker.synchronize();
}

}  // namespace

TEST_CASE("Given a lost producer with host functions then a gate's waiter is released with its loss") {
  releases_the_waiter(true, true);
}
TEST_CASE("Given a lost producer with host functions then a held waiter is released with its loss") {
  releases_the_waiter(true, false);
}
TEST_CASE("Given a lost producer without host functions then a gate's waiter is released with its loss") {
  releases_the_waiter(false, true);
}
TEST_CASE("Given a lost producer without host functions then a held waiter is released with its loss") {
  releases_the_waiter(false, false);
}

TEST_CASE("Given a lost producer then a host that synchronizes a held stream wakes up") {
  test::Forward& producer_side = test::new_forward();
  test::Forward& waiter_side = test::new_forward();
  waiter_side.gates = false;
  producer_side.install("sim_b");
  waiter_side.install("sim_c");
  const Stream producer(Device("sim_b:0"));
  const Stream waiter(Device("sim_c:0"));
  HostGate gate;
  gate.block(producer);
  waiter.wait_stream(producer);
  auto outcome = std::async(std::launch::async, [&] { return code_of([&] { waiter.synchronize(); }); });
  REQUIRE(outcome.wait_for(0s) == std::future_status::timeout);
  report_loss(producer_side, producer);
  REQUIRE(outcome.get() == ErrorCode::device_lost);
}

TEST_CASE("Given a held stream when its own device is lost then hosts wake up and nothing more is submitted") {
  test::Forward& forward = test::new_forward();
  forward.gates = false;
  forward.install("sim_c");
  const Stream blocker(Device("cpu_sim:0"));
  HostGate gate;
  gate.block(blocker);
  auto stream = std::make_unique<Stream>(Device("sim_c:0"));
  const auto counted = std::make_shared<int>(0);
  stream->wait_stream(blocker);
  stream->launch_host_func([counted] { ++*counted; });
  const Event event = stream->record_event();
  const Stream other(Device("sim_b:0"));
  other.wait_event(event);
  const auto waiting = [](auto call) { return std::async(std::launch::async, [call] { return code_of(call); }); };
  auto first = waiting([&] { stream->synchronize(); });
  auto second = waiting([&] { event.synchronize(); });
  auto third = waiting([&] { Device("sim_c:0").synchronize(); });
  forward.lost_device = 0;
  report_loss(forward, *stream);
  REQUIRE(first.get() == ErrorCode::device_lost);
  REQUIRE(second.get() == ErrorCode::device_lost);
  REQUIRE(third.get() == ErrorCode::device_lost);
  const auto released = test::error_of([&] { other.synchronize(); });
  REQUIRE(released);
  REQUIRE(released->code() == ErrorCode::device_lost);
  REQUIRE(released->place() == "sim_c:0");
  stream.reset();
  gate.open();
  blocker.synchronize();
  while (counted.use_count() > 1) std::this_thread::yield();
  REQUIRE(*counted == 0);
  REQUIRE(forward.calls_when_lost == 0);
}

TEST_CASE("Given a waiter's stream that is gone when the producer is lost then the error handler gets it") {
  test::Forward& producer_side = test::new_forward();
  test::Forward& waiter_side = test::new_forward();
  waiter_side.gates = false;
  producer_side.install("sim_b");
  waiter_side.install("sim_c");
  const test::Reports reports;
  const Stream producer(Device("sim_b:0"));
  HostGate gate;
  gate.block(producer);
  Marked marked(Device("sim_c:0"));
  {
    const Stream waiter(Device("sim_c:0"));
    waiter.wait_stream(producer);
    waiter.memset8(marked.mark, 3);
  }
  report_loss(producer_side, producer);
  const auto errors = reports.wait_for(1);
  REQUIRE(errors[0].code() == ErrorCode::device_lost);
  REQUIRE(errors[0].place() == "sim_b:0");
  Device("sim_c:0").synchronize();
  REQUIRE(marked.get() == 3);
}

TEST_CASE("Given a query that fails while memory is given up then its message is in no later error") {
  test::Forward& forward = test::new_forward();
  forward.install("sim_b");
  const Device device("sim_b:0");
  const Stream stream(device);
  const Buffer buffer(stream, 64);
  {
    const HostBuffer host(device, 64);
    stream.copy(buffer, host);
    stream.synchronize();
    forward.fail_query = ANYPLACE_STATUS_BACKEND_FAILED;
  }
  forward.fail_query = 0;
  forward.silent = true;
  forward.fail_next = ANYPLACE_STATUS_BACKEND_FAILED;
  const auto error = test::error_of([&] { stream.memset8(buffer, 1); });
  REQUIRE(error);
  REQUIRE(error->vendor_code() == 0);
  REQUIRE(std::string(error->what()).find("query") == std::string::npos);
}

TEST_CASE("Given memory that was refused and then made up for then the refusal's message is in no later error") {
  REQUIRE(setenv("ANYPLACE_CPU_SIM_MEMORY", "8MiB", 1) == 0);
  test::Forward& forward = test::new_forward();
  forward.install("sim_b");
  const Device device("sim_b:0");
  const Stream first(device), second(device);
  static_cast<void>(Buffer(first, 4 << 20));  // its two pages stay with that stream
  first.synchronize();
  const Buffer buffer(second, 6 << 20);  // two pages are left on the device, and the third comes from there
  forward.silent = true;
  forward.fail_next = ANYPLACE_STATUS_BACKEND_FAILED;
  const auto error = test::error_of([&] { second.memset8(buffer, 1); });
  REQUIRE(error);
  REQUIRE(std::string(error->what()).find("requested") == std::string::npos);
}

TEST_CASE(
    "Given a copy between backends when the other device is lost then its buffer is kept until the copy is made") {
  REQUIRE(setenv("ANYPLACE_CPU_SIM_WORKERS", "1", 1) == 0);
  test::Forward& forward = test::new_forward();
  forward.install("sim_b");
  const Device simulated("cpu_sim:0");
  std::promise<void> held, opened;
  const Kernel hold(simulated, [&](const Block&) {
    held.set_value();
    opened.get_future().wait();
  });
  HostGate gate;
  const Stream here(Device("sim_b:0")), there(simulated), busy(simulated);
  const Buffer target(here, 4096);
  auto source = std::make_unique<Buffer>(there, 4096);
  there.memset8(*source, 1);
  there.synchronize();
  const std::uint64_t address = source->address();
  // What reads the source is a stream of cpu_sim's own, behind `here`; and then there is no worker to run it.
  gate.block(here);
  source->record_stream(here);
  here.copy(target, *source);
  busy.launch(hold, {1, 1});
  held.get_future().wait();
  forward.lost_device = 0;
  report_loss(forward, here);
  source.reset();
  const std::uint64_t next = Buffer(there, 4096).address();
  opened.set_value();
  gate.open();
  simulated.synchronize();
  REQUIRE(next != address);
}

}  // namespace lost_device_test
