// SPDX-License-Identifier: Apache-2.0
//
// Streams and events as CUDA alone has them: streams of other contexts, and the forms of cuEventElapsedTime.
#include <cstdint>

#include "support.h"

namespace stream_test {

namespace {

using namespace cuda_test;

void check_that_time_is_measured() {
  const Device device("cuda:0");
  const Stream stream(device);
  const Event start(device, {.timing = true}), end(device, {.timing = true});
  start.record(stream);
  end.record(stream);
  stream.synchronize();
  CHECK(anyplace::elapsed_time(start, end) >= 0);
}

}  // namespace

TEST_CASE("A stream of another context or device is not wrapped") {
  const Double cuda;
  const Device device("cuda:0"), other("cuda:1");
  const Stream elsewhere(other);
  CHECK(test::code_of([&] { Stream::from_native(device, elsewhere.native_handle()); }) == ErrorCode::invalid_argument);
  const OtherContext context(0);
  CUstream theirs = nullptr;
  REQUIRE(vendor<CUresult(CUstream*, unsigned)>("cuStreamCreate")(&theirs, 0) == CUDA_SUCCESS);
  CHECK(test::code_of([&] { Stream::from_native(device, reinterpret_cast<std::uint64_t>(theirs)); }) ==
        ErrorCode::invalid_argument);
  CHECK(vendor<CUresult(CUstream)>("cuStreamDestroy_v2")(theirs) == CUDA_SUCCESS);
}

TEST_CASE("Time is measured by a driver that has only the older form of the function") {
  const Double cuda({{"CUDA_DOUBLE_MISSING", "cuEventElapsedTime_v2"}});
  check_that_time_is_measured();
}

TEST_CASE("Time is measured by a driver that has only the newer form of the function") {
  const Double cuda({{"CUDA_DOUBLE_MISSING", "cuEventElapsedTime"}});
  check_that_time_is_measured();
}

}  // namespace stream_test
