// SPDX-License-Identifier: Apache-2.0
//
// Sticky errors: the device they hit is lost for good, the other one goes on, and what is pending is settled.
#include <future>
#include <memory>
#include <optional>
#include <vector>

#include "support.h"

namespace {

using namespace cuda_test;
using anyplace::Buffer;
using anyplace::Device;
using anyplace::Stream;

/// A pipeline of a few steps on one device; whether its result is right.
bool pipeline_works(const Device& device) {
  const anyplace::Module module = load(device, read_image("kernels.ptx"));
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
  const Double cuda;
  const Device good("cuda:0"), bad("cuda:1");
  const anyplace::Module module = load(bad, read_image("kernels.ptx"));
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
    REQUIRE(cuda.fault_kernel(1, 1, CUDA_ERROR_ILLEGAL_ADDRESS));
    // It may be found out at any of these.
    const auto error = test::error_of([&] {
      first.launch(fill, {4}, {64}, 0, a, 256u, 7u);
      second.wait_stream(first);
      second.copy(b, a);
      second.synchronize();
    });
    REQUIRE(error.has_value());
    CHECK(error->code() == ErrorCode::device_lost);
    CHECK(error->vendor_code() == CUDA_ERROR_ILLEGAL_ADDRESS);
    CHECK(error->vendor_name() == "CUDA_ERROR_ILLEGAL_ADDRESS");
    CHECK(error->place() == "cuda:1");

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
        [&] { load(bad, read_image("kernels.ptx")); },
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
  const Double cuda;
  const Device device("cuda:0");
  const Stream stream(device);
  std::optional<anyplace::Event> first(device), second(device);
  const test::Reports reports;
  REQUIRE(cuda.fail_device(0, CUDA_ERROR_ILLEGAL_ADDRESS));
  first.reset();
  const std::vector<anyplace::Error> told = reports.wait_for(1);
  CHECK(told.front().code() == ErrorCode::device_lost);
  CHECK(told.front().vendor_code() == CUDA_ERROR_ILLEGAL_ADDRESS);
  second.reset();
  CHECK(test::code_of([&] { stream.synchronize(); }) == ErrorCode::device_lost);
  CHECK(reports.all().size() == 1);
}

TEST_CASE("Each result that CUDA calls sticky is a lost device with its own code") {
  const Double cuda({{"CUDA_DOUBLE_DEVICES", "9"}});
  int index = 0;
  for (const int code : {700, 702, 710, 714, 715, 716, 717, 718, 719}) {
    INFO(code);
    const Device device(anyplace::Place("cuda", index));
    const Stream stream(device);
    REQUIRE(cuda.fail_device(index++, code));
    const auto error = test::error_of([&] { stream.synchronize(); });
    REQUIRE(error.has_value());
    CHECK(error->code() == ErrorCode::device_lost);
    CHECK(error->vendor_code() == code);
  }
}

TEST_CASE("Host functions that were queued when the device was lost are let go of and not called") {
  const Double cuda;
  const Device device("cuda:0");
  const anyplace::Module module = load(device, read_image("kernels.ptx"));
  const Stream stream(device);
  const Buffer numbers(stream, 256 * 4);
  const anyplace::KernelView fill = module.kernel("fill");
  stream.synchronize();
  const test::Reports reports;
  auto called = std::make_shared<Called>();
  std::future<bool> result = called->result.get_future();
  cuda.hold(0, true);
  REQUIRE(cuda.fault_kernel(0, 1, CUDA_ERROR_LAUNCH_FAILED));
  stream.launch(fill, {4}, {64}, 0, numbers, 256u, 7u);
  stream.launch_host_func([called] { called->called = true; });
  called.reset();
  cuda.hold(0, false);
  // Nobody asks the device anything: it is found out all the same.
  CHECK_FALSE(result.get());
  CHECK(test::code_of([&] { stream.synchronize(); }) == ErrorCode::device_lost);
}

TEST_CASE("A device that is lost lets go of whoever waits for it in another backend") {
  const Double cuda;
  const Device device("cuda:0");
  const anyplace::Module module = load(device, read_image("kernels.ptx"));
  const Stream producer(device), consumer(Device("cpu_sim:0"));
  const Buffer numbers(producer, 256 * 4);
  const anyplace::KernelView fill = module.kernel("fill");
  producer.synchronize();
  cuda.hold(0, true);
  REQUIRE(cuda.fault_kernel(0, 1, CUDA_ERROR_ILLEGAL_INSTRUCTION));
  producer.launch(fill, {4}, {64}, 0, numbers, 256u, 7u);
  consumer.wait_stream(producer);
  cuda.hold(0, false);
  CHECK(test::code_of([&] { consumer.synchronize(); }) == ErrorCode::device_lost);
  consumer.synchronize();
}

TEST_CASE("A primary context that another library destroys is a lost device") {
  const Double cuda;
  const Device device("cuda:0"), good("cuda:1");
  const Stream stream(device);
  const anyplace::Event event(device);
  REQUIRE(vendor<CUresult(CUdevice)>("cuDevicePrimaryCtxReset_v2")(0) == CUDA_SUCCESS);
  const auto error = test::error_of([&] { const Buffer made(stream, 4096); });
  REQUIRE(error.has_value());
  INFO(error->what());
  CHECK(error->code() == ErrorCode::device_lost);
  CHECK(error->vendor_code() == CUDA_ERROR_CONTEXT_IS_DESTROYED);
  CHECK(test::code_of([&] { event.synchronize(); }) == ErrorCode::device_lost);
  CHECK(pipeline_works(good));
}

TEST_CASE("The error of another library's context that is current is not the device's loss") {
  const Double cuda;
  const Device device("cuda:0");
  REQUIRE(pipeline_works(device));
  const Stream stream(device);
  const anyplace::Event event(device);
  event.record(stream);
  {
    CUcontext theirs = nullptr;
    REQUIRE(vendor<CUresult(CUcontext*, unsigned, CUdevice)>("cuCtxCreate_v2")(&theirs, 0, 1) == CUDA_SUCCESS);
    REQUIRE(cuda.fail_device(1, CUDA_ERROR_ILLEGAL_ADDRESS));
    const std::vector<std::function<void()>> calls = {
        [&] { stream.synchronize(); }, [&] { static_cast<void>(stream.query()); },
        [&] { event.record(stream); }, [&] { stream.wait_event(event); },
        [&] { event.synchronize(); },
    };
    for (std::size_t i = 0; i < calls.size(); ++i) {
      INFO("call " << i);
      // It may do without, or be told of the error: but not that the device is lost.
      const auto error = test::error_of(calls[i]);
      if (!error) continue;
      INFO(error->what());
      CHECK(error->code() == ErrorCode::backend_failed);
      CHECK(error->vendor_code() == CUDA_ERROR_ILLEGAL_ADDRESS);
      CHECK_THAT(error->what(), contains("another context"));
    }
    CHECK(vendor<CUresult(CUcontext)>("cuCtxDestroy_v2")(theirs) == CUDA_ERROR_ILLEGAL_ADDRESS);
  }
  stream.synchronize();
  CHECK(pipeline_works(device));
}

TEST_CASE("A peer that is lost is named and does not take the other device along") {
  const Double cuda;
  const Device good("cuda:0"), bad("cuda:1");
  const Stream here(good), there(bad);
  const Buffer a(here, 4096), b(there, 4096);
  const anyplace::Event event(bad);
  event.record(there);
  there.synchronize();
  here.synchronize();
  REQUIRE(cuda.fail_device(1, CUDA_ERROR_ILLEGAL_ADDRESS));
  const auto error = test::error_of([&] {
    here.copy(a, b);
    here.synchronize();
  });
  REQUIRE(error.has_value());
  INFO(error->what());
  CHECK_THAT(error->what(), contains("cuda:1"));
  CHECK(pipeline_works(good));
  CHECK(test::code_of([&] { there.synchronize(); }) == ErrorCode::device_lost);
}

TEST_CASE("A peer that is lost when its context is made is named and does not take the other device along") {
  const Double cuda;
  const Device good("cuda:0"), bad("cuda:1");
  CHECK(pipeline_works(good));
  // The first call of the peer's that makes a stream: the backend's own, with the context.
  REQUIRE(cuda.fail_nth("cuStreamCreateWithPriority", 1, CUDA_ERROR_LAUNCH_FAILED));
  const auto error = test::error_of([&] { good.enable_peer_access(bad); });
  REQUIRE(error.has_value());
  CHECK(error->code() == ErrorCode::backend_failed);
  CHECK(error->vendor_code() == CUDA_ERROR_LAUNCH_FAILED);
  CHECK_THAT(error->what(), contains("cuda:1"));
  CHECK(pipeline_works(good));
  CHECK(test::code_of([&] { const Stream made(bad); }) == ErrorCode::device_lost);
}

TEST_CASE("A device that is lost while it gets access to a peer does not take the peer along") {
  const Double cuda;
  const Device bad("cuda:0"), good("cuda:1");
  CHECK(pipeline_works(good));  // its pool is there
  REQUIRE(cuda.fail_nth("cuMemPoolSetAccess", 1, CUDA_ERROR_LAUNCH_FAILED));
  const auto error = test::error_of([&] { bad.enable_peer_access(good); });
  REQUIRE(error.has_value());
  CHECK(error->code() == ErrorCode::device_lost);
  CHECK(error->vendor_code() == CUDA_ERROR_LAUNCH_FAILED);
  CHECK(pipeline_works(good));
}
