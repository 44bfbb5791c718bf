// SPDX-License-Identifier: Apache-2.0
#include "support.h"

TEST_CASE("Out of memory in the middle of the first use leaves no context behind") {
  using namespace cuda_test;
  const Double cuda;
  const anyplace::Device device("cuda:0");
  REQUIRE(cuda.fail_nth("cuStreamCreateWithPriority", 1, CUDA_ERROR_OUT_OF_MEMORY));
  CHECK(test::code_of([&] { const anyplace::Stream made(device); }) == ErrorCode::out_of_memory);
  CHECK(cuda.live("context") == 0);
  { const anyplace::Stream made(device); }
  CHECK(cuda.live("context") == 1);
}
