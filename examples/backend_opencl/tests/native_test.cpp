// SPDX-License-Identifier: Apache-2.0
//
// OpenCL's own handles in and out; and, through them, what only a driver can do to a stream: fail a command.
#include <CL/cl.h>

#include <atomic>
#include <memory>
#include <span>
#include <thread>

#include "support.h"

namespace {

template <class T>
T as(std::uint64_t handle) {
  return reinterpret_cast<T>(static_cast<std::uintptr_t>(handle));
}
template <class T>
std::uint64_t number(T handle) {
  return reinterpret_cast<std::uintptr_t>(handle);
}

cl_context context_of(const anyplace::Device& on) { return as<cl_context>(on.native_context()); }

cl_command_queue make_queue(const anyplace::Device& on, cl_queue_properties properties) {
  const cl_queue_properties list[] = {CL_QUEUE_PROPERTIES, properties, 0};
  cl_int code = CL_SUCCESS;
  const cl_command_queue queue =
      clCreateCommandQueueWithProperties(context_of(on), as<cl_device_id>(on.native_handle()), list, &code);
  REQUIRE(code == CL_SUCCESS);
  return queue;
}

cl_event user_event(const anyplace::Device& on) {
  cl_int code = CL_SUCCESS;
  const cl_event event = clCreateUserEvent(context_of(on), &code);
  REQUIRE(code == CL_SUCCESS);
  return event;
}

}  // namespace

TEST_CASE("Given native handles when OpenCL is asked then they are what they say") {
  const anyplace::Device on = device();
  const anyplace::Stream stream(on);
  cl_context context = nullptr;
  REQUIRE(clGetCommandQueueInfo(as<cl_command_queue>(stream.native_handle()), CL_QUEUE_CONTEXT, sizeof(context),
                                &context, nullptr) == CL_SUCCESS);
  CHECK(context == context_of(on));
  const anyplace::Event event(on);
  CHECK(event.native_handle() != 0);
  Hold hold(stream);
  stream.record_event(event);
  cl_int status = CL_COMPLETE;
  REQUIRE(clGetEventInfo(as<cl_event>(event.native_handle()), CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof(status),
                         &status, nullptr) == CL_SUCCESS);
  CHECK(status > CL_COMPLETE);
}

TEST_CASE("Given native handles of a module and its kernel when OpenCL is asked then one belongs to the other") {
  const std::string source = R"(
    __kernel void turn(__global int* values) {
      __local int own[4];
      own[get_local_id(0)] = values[get_local_id(0)];
      barrier(CLK_LOCAL_MEM_FENCE);
      values[get_local_id(0)] = own[3 - get_local_id(0)];
    })";
  const anyplace::Module module(device(), std::as_bytes(std::span(source)));
  const anyplace::KernelView kernel = module.kernel("turn");
  cl_program program = nullptr;
  REQUIRE(clGetKernelInfo(as<cl_kernel>(kernel.native_handle()), CL_KERNEL_PROGRAM, sizeof(program), &program,
                          nullptr) == CL_SUCCESS);
  CHECK(program == as<cl_program>(module.native_handle()));

  const anyplace::KernelAttributes attributes = kernel.attributes();
  CHECK(attributes.max_threads_per_block >= 1);
  CHECK(attributes.shared_bytes.value_or(0) == 4 * sizeof(int));
}

TEST_CASE("Given a device when its properties are read then they have what OpenCL tells") {
  const anyplace::DeviceProperties properties = device().properties();
  const auto id = as<cl_device_id>(device().native_handle());
  cl_uint megahertz = 0;
  REQUIRE(clGetDeviceInfo(id, CL_DEVICE_MAX_CLOCK_FREQUENCY, sizeof(megahertz), &megahertz, nullptr) == CL_SUCCESS);
  CHECK(properties.clock_hz.value_or(0) == megahertz * std::uint64_t{1'000'000});
  cl_ulong most = 0;
  REQUIRE(clGetDeviceInfo(id, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof(most), &most, nullptr) == CL_SUCCESS);
  CHECK(properties.max_allocation == most - 256);  // for the alignment
  CHECK(properties.float64.has_value());
  CHECK(properties.unified_addressing == true);
}

TEST_CASE("Given a queue of the user's when wrapped then the stream counts what he submits himself") {
  const anyplace::Device on = device();
  const cl_command_queue queue = make_queue(on, CL_QUEUE_PROFILING_ENABLE);
  {
    const anyplace::Stream stream = anyplace::Stream::from_native(on, number(queue));
    stream.synchronize();
    const cl_event gate = user_event(on);
    REQUIRE(clEnqueueBarrierWithWaitList(queue, 1, &gate, nullptr) == CL_SUCCESS);
    CHECK_FALSE(stream.query());
    CHECK_FALSE(stream.synchronize(std::chrono::milliseconds(5)));
    REQUIRE(clSetUserEventStatus(gate, CL_COMPLETE) == CL_SUCCESS);
    stream.synchronize();
    clReleaseEvent(gate);
  }
  REQUIRE(clFinish(queue) == CL_SUCCESS);
  CHECK(clReleaseCommandQueue(queue) == CL_SUCCESS);
}

TEST_CASE("Given a queue that is no stream when wrapped then it is refused") {
  const cl_command_queue unordered =
      make_queue(device(), CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE | CL_QUEUE_PROFILING_ENABLE);
  const cl_command_queue elsewhere = make_queue(device(1), CL_QUEUE_PROFILING_ENABLE);
  for (const cl_command_queue queue : {unordered, elsewhere}) {
    const anyplace::Error error = error_of([&] { anyplace::Stream::from_native(device(0), number(queue)); });
    INFO(error.what());
    CHECK(error.code() == anyplace::ErrorCode::invalid_argument);
    clReleaseCommandQueue(queue);
  }
}

TEST_CASE("Given a command that fails in the driver when the stream is asked then the device is lost and others go on",
          "[failing-command]") {
  using anyplace::ErrorCode;
  const anyplace::Device on = device(0);
  anyplace::Stream stream(on);
  anyplace::Stream waiting(on);
  const anyplace::Stream far(device(1));
  anyplace::Buffer buffer(stream, 1024);
  const anyplace::Event reached(on);
  const cl_event gate = user_event(on);
  // PoCL 3.1 needs somebody to hold an event that fails.
  cl_event barrier = nullptr;
  REQUIRE(clEnqueueBarrierWithWaitList(as<cl_command_queue>(stream.native_handle()), 1, &gate, &barrier) == CL_SUCCESS);
  stream.memset8(buffer, 1);
  std::atomic<bool> ran{false};
  std::weak_ptr<int> kept;
  {
    const auto value = std::make_shared<int>(0);
    kept = value;
    stream.launch_host_func([value, &ran] { ran = true; });
  }
  stream.record_event(reached);
  far.wait_event(reached);
  CHECK_FALSE(far.query());
  REQUIRE(clSetUserEventStatus(gate, -5) == CL_SUCCESS);
  const anyplace::Error error = error_of([&] { stream.synchronize(); });
  CHECK(error.code() == ErrorCode::device_lost);
  CHECK_THAT(error.vendor_name(), Catch::StartsWith("CL_"));
  CHECK(error_of([&] { stream.memset8(buffer, 2); }).code() == ErrorCode::device_lost);
  CHECK(error_of([&] { static_cast<void>(waiting.query()); }).code() == ErrorCode::device_lost);
  // A driver that makes no callback for a failed command must not cost what waits for it.
  far.synchronize();
  while (!kept.expired()) std::this_thread::yield();
  CHECK_FALSE(ran);
  stream = anyplace::Stream();
  waiting = anyplace::Stream();
  buffer = anyplace::Buffer();
  clReleaseEvent(barrier);
  clReleaseEvent(gate);
}
