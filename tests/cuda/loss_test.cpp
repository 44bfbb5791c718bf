// SPDX-License-Identifier: Apache-2.0
//
// Losses by way of a context: one that another library destroys, and the error of one that isn't the device's.
#include <functional>
#include <vector>

#include "cuda_and_hip/pipeline.h"

namespace loss_test {

using namespace vendor_test;

TEST_CASE("A primary context that another library destroys is a lost device") {
  const Double cuda;
  const Device device("cuda:0"), good("cuda:1");
  const Stream stream(device);
  const Event event(device);
  REQUIRE(vendor<CUresult(CUdevice)>("cuDevicePrimaryCtxReset_v2")(0) == CUDA_SUCCESS);
  const anyplace::Error error = test::required_error(ErrorCode::device_lost, [&] { const Buffer made(stream, 4096); });
  CHECK(error.vendor_code() == CUDA_ERROR_CONTEXT_IS_DESTROYED);
  CHECK(test::code_of([&] { event.synchronize(); }) == ErrorCode::device_lost);
  CHECK(pipeline_works(good));
}

TEST_CASE("The error of another library's context that is current is not the device's loss") {
  const Double cuda;
  const Device device("cuda:0");
  REQUIRE(pipeline_works(device));
  const Stream stream(device);
  const Event event(device);
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

}  // namespace loss_test
