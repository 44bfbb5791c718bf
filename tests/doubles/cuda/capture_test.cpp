// SPDX-License-Identifier: Apache-2.0
//
// Stream capture of the double: what isn't allowed meanwhile and invalidates the capture. What
// the backend's threads do while another library captures must not be of that.
#include <thread>

#include "test_support.h"

namespace capture_test {

namespace {

using test::create_event;
using test::create_stream;
using test::ok;
using test::Primary;

constexpr auto global = CU_STREAM_CAPTURE_MODE_GLOBAL, own_thread = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL,
               relaxed = CU_STREAM_CAPTURE_MODE_RELAXED;

CUstreamCaptureStatus status_of(CUstream stream) {
  CUstreamCaptureStatus status{};
  ok(cuStreamIsCapturing(stream, &status));
  return status;
}

/// The capture was invalidated, and is ended.
void check_invalidated(CUstream stream, int line = __builtin_LINE()) {
  INFO("in line " << line);
  CHECK(status_of(stream) == CU_STREAM_CAPTURE_STATUS_INVALIDATED);
  CUgraph graph = reinterpret_cast<CUgraph>(1);
  CHECK(cuStreamEndCapture(stream, &graph) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  CHECK(graph == nullptr);
  CHECK(status_of(stream) == CU_STREAM_CAPTURE_STATUS_NONE);
}

}  // namespace

TEST_CASE("captured streams, events and what encompasses them can be neither asked nor waited for") {
  const Primary primary;
  const CUstream stream = create_stream();
  const CUevent event = create_event();
  CUstreamCaptureMode mode = relaxed;  // so that it isn't for an unsafe call
  ok(cuThreadExchangeStreamCaptureMode(&mode));
  const auto refused = [&](CUresult expected, auto&& call) {
    ok(cuStreamBeginCapture(stream, global));
    ok(cuEventRecord(event, stream));
    CHECK(call() == expected);
    check_invalidated(stream);
  };
  refused(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, [&] { return cuStreamSynchronize(stream); });
  refused(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, [&] { return cuStreamQuery(stream); });
  refused(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, [&] { return cuCtxSynchronize(); });
  refused(CUDA_ERROR_CAPTURED_EVENT, [&] { return cuEventQuery(event); });
  refused(CUDA_ERROR_CAPTURED_EVENT, [&] { return cuEventSynchronize(event); });
  float milliseconds = 0;
  refused(CUDA_ERROR_CAPTURED_EVENT, [&] { return cuEventElapsedTime(&milliseconds, event, event); });
  CUdeviceptr memory = 0;  // graphs of the double have no such nodes
  refused(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, [&] { return cuMemAllocAsync(&memory, 64, stream); });
  ok(cuStreamBeginCapture(stream, global));
  ok(cuEventRecord(event, stream));
  ok(cuStreamDestroy(stream));  // takes the capture along
  CHECK(test::Control().live("graph") == 0);
  CHECK(cuEventQuery(event) == CUDA_ERROR_CAPTURED_EVENT);
}

TEST_CASE("the legacy stream can't be captured, and not be used beside a blocking stream that is") {
  const Primary primary;
  const CUstream blocking = create_stream(CU_STREAM_DEFAULT), other = create_stream();
  const CUdeviceptr word = test::allocate(4);
  CUgraph graph = nullptr;
  CHECK(cuStreamBeginCapture(nullptr, global) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  ok(cuStreamBeginCapture(blocking, global));
  CHECK(cuMemsetD32Async(word, 1, 1, nullptr) == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  check_invalidated(blocking);
  ok(cuStreamBeginCapture(other, global));  // which the legacy stream doesn't wait for
  ok(cuMemsetD32Async(word, 1, 1, nullptr));
  ok(cuStreamEndCapture(other, &graph));
}

TEST_CASE("dependencies across a capture's boundary and between two captures are refused, and ends by others") {
  const Primary primary;
  const CUstream first = create_stream(), second = create_stream(), outside = create_stream();
  const CUevent event = create_event(), never = create_event();
  CUgraph graph = nullptr;
  ok(cuEventRecord(event, outside));
  ok(cuStreamBeginCapture(first, relaxed));
  ok(cuStreamWaitEvent(first, never, 0));  // no wait at all
  CHECK(cuStreamWaitEvent(first, event, 0) == CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
  check_invalidated(first);
  ok(cuStreamBeginCapture(first, relaxed));
  ok(cuStreamBeginCapture(second, relaxed));
  ok(cuEventRecord(event, first));
  CHECK(cuStreamWaitEvent(second, event, 0) == CUDA_ERROR_STREAM_CAPTURE_MERGE);
  check_invalidated(first);
  check_invalidated(second);
  ok(cuStreamBeginCapture(first, relaxed));
  CHECK(cuStreamBeginCapture(first, relaxed) == CUDA_ERROR_ILLEGAL_STATE);
  check_invalidated(first);
  CHECK(cuStreamEndCapture(first, &graph) == CUDA_ERROR_ILLEGAL_STATE);
  ok(cuStreamBeginCapture(first, own_thread));
  ok(cuEventRecord(event, first));
  ok(cuStreamWaitEvent(second, event, 0));
  CHECK(cuStreamEndCapture(second, &graph) == CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
  check_invalidated(first);
  ok(cuStreamBeginCapture(first, own_thread));
  ok(cuEventRecord(event, first));
  ok(cuStreamWaitEvent(second, event, 0));
  ok(cuLaunchHostFunc(
      second, [](void*) {}, nullptr));
  CHECK(cuStreamEndCapture(first, &graph) == CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
  ok(cuStreamBeginCapture(first, own_thread));
  CUresult elsewhere = CUDA_SUCCESS;
  std::thread([&] { elsewhere = cuStreamEndCapture(first, &graph); }).join();
  CHECK(elsewhere == CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
  check_invalidated(first);
}

TEST_CASE("unsafe calls are forbidden to threads by the capture's mode and their own") {
  const Primary primary;
  const CUstream stream = create_stream();
  const auto allocate = [] {
    CUdeviceptr memory = 0;
    return cuMemAlloc(&memory, 64);
  };
  const auto elsewhere = [&](CUstreamCaptureMode mode) {
    CUresult result = CUDA_SUCCESS;
    std::thread([&] {
      cuCtxPushCurrent(primary);
      cuThreadExchangeStreamCaptureMode(&mode);
      result = allocate();
    }).join();
    return result;
  };
  struct Row {
    CUstreamCaptureMode capture;
    bool allowed_here, allowed_elsewhere;
  };
  for (const Row& row : {Row{global, false, false}, Row{own_thread, false, true}, Row{relaxed, true, true}}) {
    INFO("mode " << row.capture);
    const auto check = [&](bool allowed, auto&& call) {
      ok(cuStreamBeginCapture(stream, row.capture));
      CHECK(call() == (allowed ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED));
      CUgraph graph = nullptr;
      CHECK(cuStreamEndCapture(stream, &graph) == (allowed ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_INVALIDATED));
    };
    check(row.allowed_here, allocate);
    check(row.allowed_elsewhere, [&] { return elsewhere(global); });
    check(true, [&] { return elsewhere(own_thread); });
    check(true, [&] { return elsewhere(relaxed); });
    CUstreamCaptureMode mode = relaxed;
    ok(cuThreadExchangeStreamCaptureMode(&mode));
    check(true, allocate);
    ok(cuThreadExchangeStreamCaptureMode(&mode));
  }
}

}  // namespace capture_test
