// SPDX-License-Identifier: Apache-2.0
//
// Streams and events of the double: what runs when, seen from a program. Whether the double is asynchronous is what all
// tests that use it rest on: a wait that is missing must show here.
#include <cstring>
#include <thread>

#include "test_support.h"

namespace streams_test {

using test::Gate;
using test::ok;
using test::peek;
using test::Primary;

TEST_CASE("work is not done when the call that submits it returns") {
  const Primary primary;
  const CUstream stream = test::create_stream();
  const CUdeviceptr word = test::allocate(4);
  ok(cuMemsetD32(word, 1, 1));
  ok(cuCtxSynchronize());
  Gate gate;
  gate.block(stream);
  ok(cuMemsetD32Async(word, 2, 1, stream));
  CHECK(cuStreamQuery(stream) == CUDA_ERROR_NOT_READY);
  CHECK(peek(word) == 1);
  gate.open();
  ok(cuStreamSynchronize(stream));
  CHECK(cuStreamQuery(stream) == CUDA_SUCCESS);
  CHECK(peek(word) == 2);
}

TEST_CASE("a held device begins nothing") {
  const Primary primary;
  const test::Control control;
  const CUdeviceptr words = test::allocate(8);
  ok(cuMemsetD32(words, 1, 2));
  ok(cuCtxSynchronize());
  const CUstream first = test::create_stream();
  const CUstream second = test::create_stream();
  CHECK_FALSE(control.hold(2, true));
  REQUIRE(control.hold(0, true));
  ok(cuMemsetD32Async(words, 2, 1, first));
  ok(cuMemsetD32Async(words + 4, 2, 1, second));
  CHECK(cuStreamQuery(first) == CUDA_ERROR_NOT_READY);
  CHECK(cuStreamQuery(second) == CUDA_ERROR_NOT_READY);
  CHECK((peek(words) == 1 && peek(words + 4) == 1));
  REQUIRE(control.hold(0, false));
  ok(cuCtxSynchronize());
  CHECK((peek(words) == 2 && peek(words + 4) == 2));
}

TEST_CASE("a stream does its work in the order of submission") {
  const Primary primary;
  const test::Kernels kernels;
  const CUstream stream = test::create_stream();
  const CUdeviceptr list = test::allocate(404);
  ok(cuMemsetD32Async(list, 0, 101, stream));
  for (std::uint32_t i = 0; i < 100; ++i) ok(test::launch(stream, kernels["append"], list, i));
  ok(cuStreamSynchronize(stream));
  REQUIRE(peek(list) == 100);
  for (std::uint32_t i = 0; i < 100; ++i) REQUIRE(peek(list + 4 + 4 * i) == i);
}

TEST_CASE("a stream that is held back holds back no other") {
  const Primary primary;
  const CUstream blocked = test::create_stream();
  const CUstream other = test::create_stream();
  const CUdeviceptr word = test::allocate(4);
  Gate gate;
  gate.block(blocked);
  ok(cuMemsetD32Async(word, 3, 1, other));
  ok(cuStreamSynchronize(other));
  CHECK(peek(word) == 3);
  CHECK(cuStreamQuery(blocked) == CUDA_ERROR_NOT_READY);
}

TEST_CASE("without a wait another stream reads what was there before and with one what was written") {
  const Primary primary;
  const CUstream writer = test::create_stream();
  const CUstream reader = test::create_stream();
  const CUevent written = test::create_event(CU_EVENT_DISABLE_TIMING);
  const CUdeviceptr word = test::allocate(4);
  const CUdeviceptr early = test::allocate(4);
  const CUdeviceptr late = test::allocate(4);
  ok(cuMemsetD32(word, 1, 1));
  ok(cuCtxSynchronize());
  Gate gate;
  gate.block(writer);
  ok(cuMemsetD32Async(word, 2, 1, writer));
  ok(cuEventRecord(written, writer));
  ok(cuMemcpyDtoDAsync(early, word, 4, reader));
  ok(cuStreamSynchronize(reader));
  CHECK(peek(early) == 1);
  ok(cuStreamWaitEvent(reader, written, 0));
  ok(cuMemcpyDtoDAsync(late, word, 4, reader));
  CHECK(cuStreamQuery(reader) == CUDA_ERROR_NOT_READY);
  gate.open();
  ok(cuStreamSynchronize(reader));
  CHECK(peek(late) == 2);
}

TEST_CASE("a wait takes the record that was the most recent at the call") {
  const Primary primary;
  const CUstream first = test::create_stream();
  const CUstream second = test::create_stream();
  const CUstream waiting = test::create_stream();
  const CUevent event = test::create_event();
  Gate gate;
  ok(cuEventRecord(event, first));
  ok(cuStreamWaitEvent(waiting, event, 0));
  gate.block(second);
  ok(cuEventRecord(event, second));
  ok(cuStreamSynchronize(waiting));
  CHECK(cuEventQuery(event) == CUDA_ERROR_NOT_READY);
  ok(cuStreamWaitEvent(waiting, event, 0));
  CHECK(cuStreamQuery(waiting) == CUDA_ERROR_NOT_READY);
  gate.open();
  ok(cuStreamSynchronize(waiting));
  CHECK(cuEventQuery(event) == CUDA_SUCCESS);
}

TEST_CASE("an event that was never recorded is complete and holds nothing back") {
  const Primary primary;
  const CUstream stream = test::create_stream();
  const CUevent event = test::create_event();
  CHECK(cuEventQuery(event) == CUDA_SUCCESS);
  CHECK(cuEventSynchronize(event) == CUDA_SUCCESS);
  CHECK(cuStreamWaitEvent(stream, event, 0) == CUDA_SUCCESS);
  CHECK(cuStreamSynchronize(stream) == CUDA_SUCCESS);
}

TEST_CASE("a destroyed event still holds back who waits for it") {
  const Primary primary;
  const CUstream writer = test::create_stream();
  const CUstream reader = test::create_stream();
  const CUevent event = test::create_event();
  Gate gate;
  gate.block(writer);
  ok(cuEventRecord(event, writer));
  ok(cuStreamWaitEvent(reader, event, 0));
  ok(cuEventDestroy(event));
  CHECK(cuStreamQuery(reader) == CUDA_ERROR_NOT_READY);
  gate.open();
  ok(cuStreamSynchronize(reader));
}

TEST_CASE("a destroyed stream finishes its work") {
  const Primary primary;
  const CUstream stream = test::create_stream();
  const CUdeviceptr word = test::allocate(4);
  ok(cuMemsetD32(word, 0, 1));
  ok(cuCtxSynchronize());
  Gate gate;
  gate.block(stream);
  ok(cuMemsetD32Async(word, 7, 1, stream));
  ok(cuStreamDestroy(stream));
  CHECK(peek(word) == 0);
  gate.open();
  ok(cuCtxSynchronize());
  CHECK(peek(word) == 7);
}

TEST_CASE("streams wait for events of another device") {
  CUcontext contexts[2] = {};
  const Primary second(1);
  const CUstream there = test::create_stream();
  const CUevent event = test::create_event(CU_EVENT_DISABLE_TIMING);
  ok(cuCtxGetCurrent(&contexts[1]));
  const Primary first(0);
  const CUstream here = test::create_stream();
  Gate gate;
  gate.block(there);
  ok(cuEventRecord(event, there));
  ok(cuStreamWaitEvent(here, event, 0));
  CHECK(cuStreamQuery(here) == CUDA_ERROR_NOT_READY);
  gate.open();
  CHECK(cuStreamSynchronize(here) == CUDA_SUCCESS);
  CHECK(contexts[1] == static_cast<CUcontext>(second));
}

TEST_CASE("elapsed time is that between the records and needs both to be done and timed") {
  const Primary primary;
  const CUstream stream = test::create_stream();
  const CUevent start = test::create_event();
  const CUevent end = test::create_event();
  const CUevent untimed = test::create_event(CU_EVENT_DISABLE_TIMING);
  float milliseconds = -1;
  CHECK(cuEventElapsedTime(&milliseconds, start, end) == CUDA_ERROR_INVALID_HANDLE);  // never recorded
  ok(cuEventRecord(start, stream));
  Gate gate;
  gate.block(stream);
  ok(cuEventRecord(end, stream));
  ok(cuEventRecord(untimed, stream));
  CHECK(cuEventElapsedTime(&milliseconds, start, end) == CUDA_ERROR_NOT_READY);
  CHECK(milliseconds == -1);
  gate.wait_until_reached();
  const auto from = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() == from) {
  }
  gate.open();
  ok(cuEventSynchronize(end));
  CHECK(cuEventElapsedTime(&milliseconds, start, untimed) == CUDA_ERROR_INVALID_HANDLE);
  ok(cuEventElapsedTime(&milliseconds, start, end));
  CHECK(milliseconds > 0);
  float backwards = 0;
  ok(cuEventElapsedTime(&backwards, end, start));
  CHECK(backwards == -milliseconds);
}

TEST_CASE("a host function and a callback run in the stream's order on another thread") {
  const Primary primary;
  const CUstream stream = test::create_stream();
  const CUdeviceptr word = test::allocate(4);
  struct Seen {
    CUdeviceptr word = 0;
    std::uint32_t value = 0;
    std::thread::id thread;
    CUresult status = CUDA_ERROR_UNKNOWN;
    CUstream stream = nullptr;
  };
  Seen function{word, 0, {}, CUDA_ERROR_UNKNOWN, nullptr};
  Seen callback = function;
  ok(cuMemsetD32Async(word, 5, 1, stream));
  const CUhostFn look = [](void* user) {
    auto& seen = *static_cast<Seen*>(user);
    seen.value = peek(seen.word);
    seen.thread = std::this_thread::get_id();
  };
  ok(cuLaunchHostFunc(stream, look, &function));
  ok(cuMemsetD32Async(word, 6, 1, stream));
  const CUstreamCallback called = [](CUstream of, CUresult status, void* user) {
    auto& seen = *static_cast<Seen*>(user);
    seen.value = peek(seen.word);
    seen.status = status;
    seen.stream = of;
  };
  ok(cuStreamAddCallback(stream, called, &callback, 0));
  ok(cuMemsetD32Async(word, 7, 1, stream));
  ok(cuStreamSynchronize(stream));
  CHECK(function.value == 5);
  CHECK(function.thread != std::this_thread::get_id());
  CHECK(callback.value == 6);
  CHECK(callback.status == CUDA_SUCCESS);
  CHECK(callback.stream == stream);
}

TEST_CASE("the driver may not be called from a host function") {
  const Primary primary;
  const test::Control control;
  const CUstream stream = test::create_stream();
  CUresult query = CUDA_SUCCESS;
  CUresult allocation = CUDA_SUCCESS;
  CUresult name = CUDA_ERROR_UNKNOWN;
  std::function<void()> body = [&] {
    CUdeviceptr address = 0;
    const char* text = nullptr;
    query = cuStreamQuery(stream);
    allocation = cuMemAlloc(&address, 4);
    name = cuGetErrorName(CUDA_ERROR_UNKNOWN, &text);  // no call of a device: allowed
  };
  test::launch(stream, body);
  ok(cuStreamSynchronize(stream));
  CHECK(query == CUDA_ERROR_NOT_PERMITTED);
  CHECK(allocation == CUDA_ERROR_NOT_PERMITTED);
  CHECK(name == CUDA_SUCCESS);
  CHECK(control.misuses() == 2);
  CHECK_THAT(control.misuse_text(), Catch::Contains("cuMemAlloc_v2 was called inside a host function"));
}

TEST_CASE("a wait on a value in memory holds the stream until the value is there") {
  const Primary primary;
  const CUstream stream = test::create_stream();
  void* memory = nullptr;
  ok(cuMemHostAlloc(&memory, 16, CU_MEMHOSTALLOC_DEVICEMAP));
  std::memset(memory, 0, 16);
  auto* const word = static_cast<std::uint32_t*>(memory);
  CUdeviceptr address = 0;
  ok(cuMemHostGetDevicePointer(&address, memory, 0));
  ok(cuStreamWaitValue32(stream, address, 3, CU_STREAM_WAIT_VALUE_GEQ));
  ok(cuStreamWriteValue32(stream, address + 4, 9, 0));
  CHECK(cuStreamQuery(stream) == CUDA_ERROR_NOT_READY);
  __atomic_store_n(word, 2, __ATOMIC_RELEASE);
  CHECK(cuStreamQuery(stream) == CUDA_ERROR_NOT_READY);
  CHECK(__atomic_load_n(word + 1, __ATOMIC_ACQUIRE) == 0);
  __atomic_store_n(word, 4, __ATOMIC_RELEASE);
  ok(cuStreamSynchronize(stream));
  CHECK(word[1] == 9);
  // Each condition, on 64 bits, let go by another stream.
  const CUstream other = test::create_stream();
  const struct {
    unsigned condition;
    std::uint64_t value, written;
  } conditions[] = {{CU_STREAM_WAIT_VALUE_EQ, 5, 5},
                    {CU_STREAM_WAIT_VALUE_AND, 0xf0, 0x10},
                    {CU_STREAM_WAIT_VALUE_NOR, ~std::uint64_t{1}, 0x30}};
  for (const auto& [condition, value, written] : conditions) {
    std::memset(memory, condition == CU_STREAM_WAIT_VALUE_NOR ? 0xff : 0, 16);
    ok(cuStreamWaitValue64(stream, address + 8, value, condition));
    CHECK(cuStreamQuery(stream) == CUDA_ERROR_NOT_READY);
    ok(cuStreamWriteValue64(other, address + 8, written, 0));
    ok(cuStreamSynchronize(stream));
  }
  ok(cuMemFreeHost(memory));
}

TEST_CASE("waits on values refuse what is not aligned or not memory") {
  const Primary primary;
  const CUstream stream = test::create_stream();
  const CUdeviceptr word = test::allocate(16);
  CHECK(cuStreamWaitValue32(stream, word + 2, 0, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuStreamWaitValue64(stream, word + 4, 0, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuStreamWriteValue32(stream, word + 1, 0, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuStreamWaitValue32(stream, 0, 0, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuStreamWaitValue32(stream, word + 16, 0, 0) == CUDA_ERROR_INVALID_VALUE);
  CHECK(cuStreamWaitValue32(stream, word, 0, CU_STREAM_WAIT_VALUE_FLUSH) == CUDA_ERROR_NOT_SUPPORTED);
}

TEST_CASE("priorities are clamped to the range that the context tells") {
  const Primary primary;
  int least = 1;
  int greatest = 1;
  ok(cuCtxGetStreamPriorityRange(&least, &greatest));
  REQUIRE(greatest < least);
  ok(cuCtxGetStreamPriorityRange(nullptr, nullptr));
  const int asked[] = {least, greatest, greatest - 10, least + 10};
  const int given[] = {least, greatest, greatest, least};
  for (int i = 0; i < 4; ++i) {
    CUstream stream = nullptr;
    ok(cuStreamCreateWithPriority(&stream, CU_STREAM_NON_BLOCKING, asked[i]));
    int priority = 1;
    ok(cuStreamGetPriority(stream, &priority));
    CHECK(priority == given[i]);
    ok(cuStreamDestroy(stream));
  }
}

TEST_CASE("a stream tells its flags and context and an id of its own") {
  const Primary primary;
  const CUstream blocking = test::create_stream(CU_STREAM_DEFAULT);
  const CUstream other = test::create_stream(CU_STREAM_NON_BLOCKING);
  unsigned flags = 9;
  ok(cuStreamGetFlags(blocking, &flags));
  CHECK(flags == CU_STREAM_DEFAULT);
  ok(cuStreamGetFlags(other, &flags));
  CHECK(flags == CU_STREAM_NON_BLOCKING);
  CUcontext context = nullptr;
  ok(cuStreamGetCtx(other, &context));
  CHECK(context == static_cast<CUcontext>(primary));
#if CUDA_VERSION >= 12000
  unsigned long long ids[3] = {};
  ok(cuStreamGetId(blocking, &ids[0]));
  ok(cuStreamGetId(other, &ids[1]));
  ok(cuStreamGetId(nullptr, &ids[2]));
  CHECK((ids[0] != ids[1] && ids[1] != ids[2] && ids[0] != ids[2]));
#endif
}

namespace {

/// The order in which one worker runs a kernel in each of 12 streams, printed.
int print_order(const std::string& seed) {
  test::set_env("CUDA_DOUBLE_WORKERS", "1");
  test::set_env("CUDA_DOUBLE_SEED", seed);
  const Primary primary;
  const test::Control control;
  const test::Kernels kernels;
  const CUdeviceptr list = test::allocate(52);
  ok(cuMemsetD32(list, 0, 13));
  ok(cuCtxSynchronize());
  control.hold(0, true);
  for (std::uint32_t i = 0; i < 12; ++i) ok(test::launch(test::create_stream(), kernels["append"], list, i));
  control.hold(0, false);
  ok(cuCtxSynchronize());
  for (CUdeviceptr i = 1; i <= 12; ++i) std::printf("%u ", peek(list + 4 * i));
  return 0;
}

}  // namespace

TEST_CASE("the order between streams is drawn by chance and given by the seed") {
  const auto first = test::in_child([] { return print_order("1"); });
  const auto again = test::in_child([] { return print_order("1"); });
  const auto second = test::in_child([] { return print_order("2"); });
  REQUIRE(first.status == 0);
  CHECK_FALSE(first.output.empty());
  CHECK(first.output == again.output);
  CHECK(first.output != second.output);
  CHECK(first.output != "0 1 2 3 4 5 6 7 8 9 10 11 ");
}

}  // namespace streams_test
