// SPDX-License-Identifier: Apache-2.0
// Faults of user code: which stream they belong to, how often they are reported, and that everything else goes on.
#include <atomic>
#include <stdexcept>
#include <string>
#include <thread>

#include "support.h"

namespace anyplace::conformance::faults_cases {
namespace {

using namespace std::chrono_literals;

void throw_on_purpose() { throw std::runtime_error("thrown on purpose"); }

/// Submits a host function that throws, and returns after it did.
void fault(StreamView stream) {
  Signal ran;
  CALL(stream.launch_host_func(throw_on_purpose));
  CALL(stream.launch_host_func([ran] { ran.set(); }));
  ran.wait();
}

ANYPLACE_CASE("faults", "devices.faults", "a host function that throws is a fault of its stream with its text",
              Capability::host_functions) {
  const Stream stream = CALL(Stream(run.device()));
  CALL(stream.launch_host_func(throw_on_purpose));
  const Error error = CHECK_ERROR(host_function_failed, stream.synchronize());
  CHECK(std::string(error.what()).find("thrown on purpose") != std::string::npos);
  CHECK_EQUAL(error.place(), run.place());
}

ANYPLACE_CASE("faults", "devices.faults", "a host function that throws something that is no exception is a fault too",
              Capability::host_functions) {
  const Stream stream = CALL(Stream(run.device()));
  CALL(stream.launch_host_func([] { throw 42; }));
  CHECK_ERROR(host_function_failed, stream.synchronize());
}

ANYPLACE_CASE("faults", "devices.faults", "query shows the fault and doesn't clear it", Capability::host_functions) {
  const Stream stream = CALL(Stream(run.device()));
  fault(stream);
  CHECK_ERROR(host_function_failed, stream.query());
  CHECK_ERROR(host_function_failed, stream.query());
  CHECK_ERROR(host_function_failed, stream.synchronize());
}

ANYPLACE_CASE("faults", "devices.faults", "synchronize reports the fault once", Capability::host_functions) {
  const Stream stream = CALL(Stream(run.device()));
  fault(stream);
  CHECK_ERROR(host_function_failed, stream.synchronize());
  CALL(stream.synchronize());
  CHECK(stream.query());
}

ANYPLACE_CASE("faults", "devices.faults", "synchronize with a timeout reports the fault once",
              Capability::host_functions) {
  const Stream stream = CALL(Stream(run.device()));
  CALL(stream.launch_host_func(throw_on_purpose));
  CHECK_ERROR(host_function_failed, stream.synchronize(1h));
  CHECK(CALL(stream.synchronize(1h)));
}

ANYPLACE_CASE("faults", "devices.faults", "of several faults the first is reported", Capability::host_functions) {
  const Stream stream = CALL(Stream(run.device()));
  CALL(stream.launch_host_func([] { throw std::runtime_error("the first one"); }));
  CALL(stream.launch_host_func([] { throw std::runtime_error("the second one"); }));
  const Error error = CHECK_ERROR(host_function_failed, stream.synchronize());
  CHECK(std::string(error.what()).find("the first one") != std::string::npos);
  CALL(stream.synchronize());
}

ANYPLACE_CASE("faults", "devices.faults", "a fault after one that was reported is reported again",
              Capability::host_functions) {
  const Stream stream = CALL(Stream(run.device()));
  for (int round = 0; round < 3; ++round) {
    CALL(stream.launch_host_func([round] { throw std::runtime_error("round " + std::to_string(round)); }));
    const Error error = CHECK_ERROR(host_function_failed, stream.synchronize());
    CHECK(std::string(error.what()).find("round " + std::to_string(round)) != std::string::npos);
  }
}

ANYPLACE_CASE("faults", "devices.faults", "work after a fault still runs", Capability::host_functions) {
  const Stream stream = CALL(Stream(run.device()));
  const Buffer buffer = filled(stream, 1 << 16, 1);
  bool ran = false;
  CALL(stream.launch_host_func(throw_on_purpose));
  CALL(stream.memset8(buffer, 2));
  CALL(stream.launch_host_func([&] { ran = true; }));
  CHECK_ERROR(host_function_failed, stream.synchronize());
  CHECK(ran);
  CHECK_BYTES(read(buffer), Bytes(1 << 16, 2));
}

ANYPLACE_CASE("faults", "devices.faults", "submitting to a stream with a fault still works",
              Capability::host_functions) {
  const Stream stream = CALL(Stream(run.device()));
  const Buffer buffer = filled(stream, 4096, 1);
  fault(stream);
  CALL(stream.memset8(buffer, 2));
  const Event event = CALL(stream.record_event());
  CALL(event.synchronize());
  CHECK_BYTES(read(buffer), Bytes(4096, 2));
  CHECK_ERROR(host_function_failed, stream.synchronize());
}

ANYPLACE_CASE("faults", "devices.faults", "other streams of the device have no part in a fault",
              Capability::host_functions) {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  const Stream other = CALL(Stream(device));
  fault(stream);
  CHECK(other.query());
  CALL(other.synchronize());
  CALL(device.default_stream().synchronize());
  CALL(device.synchronize());
  CHECK_ERROR(host_function_failed, stream.synchronize());
}

ANYPLACE_CASE("faults", "devices.faults", "an event recorded after a fault is complete and has no part in it",
              Capability::host_functions) {
  const Stream stream = CALL(Stream(run.device()));
  CALL(stream.launch_host_func(throw_on_purpose));
  const Event event = CALL(stream.record_event());
  CALL(event.synchronize());
  CHECK(event.query());
  CHECK_ERROR(host_function_failed, stream.synchronize());
}

ANYPLACE_CASE("faults", "devices.faults", "a stream that waits for one with a fault goes on",
              Capability::host_functions) {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  const Stream waiter = CALL(Stream(device));
  CALL(stream.launch_host_func(throw_on_purpose));
  CALL(waiter.wait_stream(stream));
  CALL(waiter.synchronize());
  CHECK_ERROR(host_function_failed, stream.synchronize());
}

ANYPLACE_CASE("faults", "devices.faults", "a fault that nobody collected goes to the error handler once",
              Capability::host_functions) {
  std::atomic<int> reported{0};
  set_error_handler([&](const Error& error) { reported += error.code() == ErrorCode::host_function_failed; });
  const Device device = run.device();
  {
    const Stream stream = CALL(Stream(device));
    fault(stream);
  }
  CALL(device.synchronize());
  step(__FILE__, __LINE__, "waiting for the error handler");
  while (reported.load() == 0) std::this_thread::yield();
  CHECK_STAYS_FALSE(reported.load() > 1);
  set_error_handler({});
}

ANYPLACE_CASE("faults", "devices.faults", "a fault that was collected is not reported again when the stream goes",
              Capability::host_functions) {
  std::atomic<int> reported{0};
  set_error_handler([&](const Error&) { ++reported; });
  const Device device = run.device();
  {
    const Stream stream = CALL(Stream(device));
    fault(stream);
    CHECK_ERROR(host_function_failed, stream.synchronize());
  }
  CALL(device.synchronize());
  CHECK_STAYS_FALSE(reported.load() > 0);
  set_error_handler({});
}

ANYPLACE_CASE("faults", "devices.faults", "the default stream keeps a fault like any other",
              Capability::host_functions) {
  const StreamView stream = CALL(run.device().default_stream());
  CALL(stream.launch_host_func(throw_on_purpose));
  CHECK_ERROR(host_function_failed, stream.synchronize());
  CALL(stream.synchronize());
}

ANYPLACE_CASE("faults", "devices.faults", "a kernel that throws is a fault of its stream", Capability::host_kernels) {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  const Kernel kernel = CALL(Kernel(device, [](const Block&) { throw_on_purpose(); }));
  CALL(stream.launch(kernel, {8, 1}));
  const Error error = CHECK_ERROR(kernel_failed, stream.synchronize());
  CHECK(std::string(error.what()).find("thrown on purpose") != std::string::npos);
  CALL(stream.synchronize());
}

ANYPLACE_CASE("faults", "devices.faults", "work after a kernel that threw still runs", Capability::host_kernels) {
  const Device device = run.device();
  const Stream stream = CALL(Stream(device));
  const Buffer buffer = filled(stream, 4096, 1);
  const Kernel kernel = CALL(Kernel(device, [](const Block& block) {
    if (block.index().x == 3) throw_on_purpose();
  }));
  CALL(stream.launch(kernel, {8, 1}));
  CALL(stream.memset8(buffer, 2));
  CHECK_ERROR(kernel_failed, stream.synchronize());
  CHECK_BYTES(read(buffer), Bytes(4096, 2));
}

ANYPLACE_CASE("faults", "devices.faults", "a fault on one device leaves the others alone", Capability::host_functions,
              second_device) {
  const Stream stream = CALL(Stream(run.device()));
  const Stream far = CALL(Stream(run.second()));
  fault(stream);
  CALL(far.synchronize());
  CALL(run.second().synchronize());
  CHECK_ERROR(host_function_failed, stream.synchronize());
}

}  // namespace
}  // namespace anyplace::conformance::faults_cases
