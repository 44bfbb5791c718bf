// SPDX-License-Identifier: Apache-2.0
//
// The legacy null stream, which waits for and holds back the context's blocking streams, and the per-thread streams.
#include <dlfcn.h>

#include <algorithm>
#include <thread>

#include "test_support.h"

namespace null_stream_test {

using test::Gate;
using test::ok;
using test::peek;
using test::Primary;

TEST_CASE("the null stream waits for blocking streams and not for others") {
  const Primary primary;
  const CUdeviceptr word = test::allocate(4);
  ok(cuMemsetD32(word, 1, 1));
  ok(cuCtxSynchronize());
  const bool blocking = GENERATE(true, false);
  const CUstream stream = test::create_stream(blocking ? CU_STREAM_DEFAULT : CU_STREAM_NON_BLOCKING);
  const CUstream null = GENERATE(CUstream{nullptr}, CU_STREAM_LEGACY);
  const CUevent done = test::create_event();
  Gate gate;
  gate.block(stream);
  ok(cuMemsetD32Async(word, 2, 1, null));
  ok(cuEventRecord(done, null));
  if (blocking) {
    CHECK(cuEventQuery(done) == CUDA_ERROR_NOT_READY);
    CHECK(peek(word) == 1);
    gate.open();
  }
  ok(cuEventSynchronize(done));
  CHECK(peek(word) == 2);
  gate.open();
  ok(cuCtxSynchronize());
}

TEST_CASE("blocking streams wait for the null stream and others do not") {
  const Primary primary;
  const CUdeviceptr words = test::allocate(8);
  ok(cuMemsetD32(words, 1, 2));
  ok(cuCtxSynchronize());
  const CUstream blocking = test::create_stream(CU_STREAM_DEFAULT);
  const CUstream other = test::create_stream(CU_STREAM_NON_BLOCKING);
  Gate gate;
  gate.block(nullptr);
  ok(cuMemsetD32Async(words, 2, 1, blocking));
  ok(cuMemsetD32Async(words + 4, 2, 1, other));
  ok(cuStreamSynchronize(other));
  CHECK(peek(words + 4) == 2);
  CHECK(cuStreamQuery(blocking) == CUDA_ERROR_NOT_READY);
  CHECK(peek(words) == 1);
  gate.open();
  ok(cuStreamSynchronize(blocking));
  CHECK(peek(words) == 2);
}

TEST_CASE("a synchronous copy goes through the null stream") {
  const Primary primary;
  const CUstream stream = test::create_stream(CU_STREAM_DEFAULT);
  const CUdeviceptr word = test::allocate(4);
  std::function<void()> body = [&] { *reinterpret_cast<std::uint32_t*>(word) = 11; };  // NOLINT
  test::launch(stream, body);
  std::uint32_t value = 0;
  ok(cuMemcpyDtoH(&value, word, 4));
  CHECK(value == 11);
}

TEST_CASE("waiting for the null stream waits for blocking streams too") {
  const Primary primary;
  const CUstream blocking = test::create_stream(CU_STREAM_DEFAULT);
  const CUstream other = test::create_stream(CU_STREAM_NON_BLOCKING);
  Gate gate;
  gate.block(other);
  CHECK(cuStreamQuery(nullptr) == CUDA_SUCCESS);
  CHECK(cuStreamSynchronize(nullptr) == CUDA_SUCCESS);
  gate.open();
  ok(cuStreamSynchronize(other));
  Gate second;
  second.block(blocking);
  CHECK(cuStreamQuery(nullptr) == CUDA_ERROR_NOT_READY);
  second.open();
  CHECK(cuStreamSynchronize(nullptr) == CUDA_SUCCESS);
}

TEST_CASE("each context has a null stream of its own") {
  const Primary primary;
  Gate gate;
  gate.block(nullptr);
  const CUcontext context = test::create_context();
  CHECK(cuStreamQuery(nullptr) == CUDA_SUCCESS);
  ok(cuCtxDestroy(context));
  CHECK(cuStreamQuery(nullptr) == CUDA_ERROR_NOT_READY);
  gate.open();
  ok(cuCtxSynchronize());
}

TEST_CASE("each thread has a stream of its own that synchronises with the null stream") {
  const Primary primary;
  const CUcontext context = primary;
  Gate gate;
  gate.block(CU_STREAM_PER_THREAD);
  CHECK(cuStreamQuery(CU_STREAM_PER_THREAD) == CUDA_ERROR_NOT_READY);
  CUresult elsewhere = CUDA_ERROR_UNKNOWN;
  std::thread([&] {
    cuCtxSetCurrent(context);
    elsewhere = cuStreamQuery(CU_STREAM_PER_THREAD);
    cuCtxSetCurrent(nullptr);
  }).join();
  CHECK(elsewhere == CUDA_SUCCESS);
  const CUevent event = test::create_event();
  ok(cuEventRecord(event, nullptr));
  CHECK(cuEventQuery(event) == CUDA_ERROR_NOT_READY);
  gate.open();
  ok(cuEventSynchronize(event));
}

TEST_CASE("entries for the per-thread default stream take stream 0 for the thread's own") {
  const Primary primary;
  using Query = CUresult (*)(CUstream);
  void* found = nullptr;
  int version = 0;
  ok(cuDriverGetVersion(&version));
  version = std::min(version, CUDA_VERSION);  // the header may be newer than the driver
#if CUDA_VERSION >= 12000
  ok(cuGetProcAddress("cuStreamQuery", &found, version, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, nullptr));
#else
  ok(cuGetProcAddress("cuStreamQuery", &found, version, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM));
#endif
  const auto query = reinterpret_cast<Query>(found);
  REQUIRE(query != nullptr);
  CHECK(reinterpret_cast<void*>(query) == dlsym(RTLD_DEFAULT, "cuStreamQuery_ptsz"));
  Gate gate;
  gate.block(CU_STREAM_PER_THREAD);
  CHECK(query(nullptr) == CUDA_ERROR_NOT_READY);
  CHECK(query(CU_STREAM_LEGACY) == CUDA_ERROR_NOT_READY);  // that one waits for it
  gate.open();
  ok(cuStreamSynchronize(CU_STREAM_PER_THREAD));
  CHECK(query(nullptr) == CUDA_SUCCESS);
}

}  // namespace null_stream_test
