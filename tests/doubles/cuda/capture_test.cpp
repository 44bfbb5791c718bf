// SPDX-License-Identifier: Apache-2.0
//
// Stream capture of the double: what becomes a node, and what isn't allowed meanwhile and invalidates the capture.
#include <thread>

#include "test_support.h"

namespace capture_test {

namespace {

using test::Control;
using test::create_event;
using test::create_stream;
using test::ok;
using test::peek;
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

/// Makes the graph executable and launches it once.
void run(CUgraph graph, CUstream stream) {
  CUgraphExec executable = nullptr;
#if CUDA_VERSION >= 12000
  ok(cuGraphInstantiate(&executable, graph, 0));
#else
  ok(cuGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
#endif
  ok(cuGraphDestroy(graph));
  ok(cuGraphLaunch(executable, stream));
  ok(cuStreamSynchronize(stream));
  ok(cuGraphExecDestroy(executable));
}

std::size_t count_nodes(CUgraph graph) {
  std::size_t count = 0;
  ok(cuGraphGetNodes(graph, nullptr, &count));
  return count;
}

}  // namespace

TEST_CASE("what is submitted to a captured stream runs when the graph is launched") {
  const Primary primary;
  const test::Kernels kernels;
  const CUstream stream = create_stream();
  const CUdeviceptr words = test::allocate(8);
  ok(cuMemsetD32(words, 1, 2));
  ok(cuCtxSynchronize());
  int called = 0;
  std::uint32_t host = 0;
  const CUfunction count = kernels["count"];
  ok(cuStreamBeginCapture(stream, global));
  CHECK(status_of(stream) == CU_STREAM_CAPTURE_STATUS_ACTIVE);
  ok(cuMemsetD32Async(words, 5, 1, stream));
  ok(test::launch(stream, count, words, 2u));
  ok(cuMemcpyDtoDAsync(words + 4, words, 4, stream));
  ok(cuMemcpyDtoHAsync(&host, words + 4, 4, stream));
  ok(cuLaunchHostFunc(
      stream, [](void* user) { ++*static_cast<int*>(user); }, &called));
  CUgraph graph = nullptr;
  ok(cuStreamEndCapture(stream, &graph));
  ok(cuStreamSynchronize(stream));
  CHECK((peek(words) == 1 && called == 0));
  CHECK(count_nodes(graph) == 5);
  run(graph, stream);
  CHECK((peek(words) == 7 && peek(words + 4) == 7 && host == 7 && called == 1));
}

TEST_CASE("streams join a capture by waiting for its events, and have to be joined again") {
  const Primary primary;
  const CUstream first = create_stream(), second = create_stream();
  const CUevent fork = create_event(), join = create_event();
  const CUdeviceptr words = test::allocate(8);
  const auto capture = [&](bool joined, CUgraph* graph) {
    ok(cuStreamBeginCapture(first, global));
    ok(cuEventRecord(fork, first));
    ok(cuStreamWaitEvent(second, fork, 0));
    CHECK(status_of(second) == CU_STREAM_CAPTURE_STATUS_ACTIVE);
    ok(cuMemsetD32Async(words, 5, 1, second));
    ok(cuMemsetD32Async(words + 4, 5, 1, first));
    ok(cuEventRecord(join, second));
    if (joined) ok(cuStreamWaitEvent(first, join, 0));
    const CUresult result = cuStreamEndCapture(first, graph);
    CHECK(status_of(second) == CU_STREAM_CAPTURE_STATUS_NONE);
    return result;
  };
  CUgraph graph = nullptr;
  CHECK(capture(false, &graph) == CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
  CHECK(graph == nullptr);
  ok(capture(true, &graph));
  CHECK(count_nodes(graph) == 2);
  run(graph, first);
  CHECK((peek(words) == 5 && peek(words + 4) == 5));
}

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
  // What graphs of the double can't have.
  CUdeviceptr memory = 0;
  refused(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, [&] { return cuMemAllocAsync(&memory, 64, stream); });
  refused(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, [&] {
    return cuStreamAddCallback(
        stream, [](CUstream, CUresult, void*) {}, nullptr, 0);
  });
}

TEST_CASE("the legacy stream can't be captured, and not be used beside a blocking stream that is") {
  const Primary primary;
  const CUstream blocking = create_stream(CU_STREAM_DEFAULT), other = create_stream();
  const CUdeviceptr word = test::allocate(4);
  CUgraph graph = nullptr;
  CHECK(cuStreamBeginCapture(nullptr, global) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  ok(cuStreamBeginCapture(blocking, global));
  CUstreamCaptureStatus status{};
  CHECK(cuStreamIsCapturing(nullptr, &status) == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  CHECK(status_of(blocking) == CU_STREAM_CAPTURE_STATUS_ACTIVE);  // asking is no use
  CHECK(cuMemsetD32Async(word, 1, 1, nullptr) == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
  check_invalidated(blocking);
  ok(cuStreamBeginCapture(other, global));  // which the legacy stream doesn't wait for
  ok(cuMemsetD32Async(word, 1, 1, nullptr));
  ok(cuStreamEndCapture(other, &graph));
  ok(cuGraphDestroy(graph));
}

TEST_CASE("dependencies across a capture's boundary and between two captures are refused") {
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
}

TEST_CASE("a capture is ended by the stream and, unless it is relaxed, by the thread that began it") {
  const Primary primary;
  const CUstream first = create_stream(), second = create_stream();
  const CUevent event = create_event();
  CUgraph graph = nullptr;
  ok(cuStreamBeginCapture(first, own_thread));
  ok(cuEventRecord(event, first));
  ok(cuStreamWaitEvent(second, event, 0));
  CHECK(cuStreamEndCapture(second, &graph) == CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
  check_invalidated(first);
  CUresult result = CUDA_SUCCESS;
  const auto end_elsewhere = [&](CUstreamCaptureMode mode) {
    ok(cuStreamBeginCapture(first, mode));
    std::thread([&] { result = cuStreamEndCapture(first, &graph); }).join();
    return result;
  };
  CHECK(end_elsewhere(own_thread) == CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
  check_invalidated(first);
  CHECK(end_elsewhere(relaxed) == CUDA_SUCCESS);
  ok(cuGraphDestroy(graph));
}

TEST_CASE("unsafe calls are forbidden to threads by the capture's mode and their own") {
  const Primary primary;
  const CUstream stream = create_stream();
  const auto here = [] {
    CUdeviceptr memory = 0;
    const CUresult result = cuMemAlloc(&memory, 64);
    if (result == CUDA_SUCCESS) ok(cuMemFree(memory));
    return result;
  };
  const auto elsewhere = [&](CUstreamCaptureMode mode) {
    CUresult result = CUDA_SUCCESS;
    std::thread([&] {
      cuCtxPushCurrent(primary);
      cuThreadExchangeStreamCaptureMode(&mode);
      CUdeviceptr memory = 0;
      result = cuMemAlloc(&memory, 64);
      if (result == CUDA_SUCCESS) cuMemFree(memory);
    }).join();
    return result;
  };
  struct Row {
    CUstreamCaptureMode capture;
    bool allowed_here, allowed_elsewhere;
  };
  const Row rows[] = {{global, false, false}, {own_thread, false, true}, {relaxed, true, true}};
  for (const Row& row : rows) {
    INFO("mode " << row.capture);
    const auto check = [&](bool allowed, auto&& call) {
      ok(cuStreamBeginCapture(stream, row.capture));
      CHECK(call() == (allowed ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED));
      CUgraph graph = nullptr;
      CHECK(cuStreamEndCapture(stream, &graph) == (allowed ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_INVALIDATED));
      if (graph != nullptr) ok(cuGraphDestroy(graph));
    };
    check(row.allowed_here, here);
    check(row.allowed_elsewhere, [&] { return elsewhere(global); });
    check(true, [&] { return elsewhere(own_thread); });
    check(true, [&] { return elsewhere(relaxed); });
    CUstreamCaptureMode mode = relaxed;
    ok(cuThreadExchangeStreamCaptureMode(&mode));
    check(true, here);
    ok(cuThreadExchangeStreamCaptureMode(&mode));
  }
}

TEST_CASE("a capture tells its id, its graph and what the next node comes behind") {
  const Primary primary;
  const CUstream stream = create_stream();
  const CUdeviceptr word = test::allocate(4);
  CUstreamCaptureStatus status{};
  cuuint64_t id = 0;
  CUgraph graph = nullptr, ended = nullptr;
  const CUgraphNode* after = nullptr;
  std::size_t count = 9;
  const auto ask = [&] {
#if CUDA_VERSION >= 13000
    return cuStreamGetCaptureInfo(stream, &status, &id, &graph, &after, nullptr, &count);
#else
    return cuStreamGetCaptureInfo_v2(stream, &status, &id, &graph, &after, &count);
#endif
  };
  ok(ask());
  CHECK((status == CU_STREAM_CAPTURE_STATUS_NONE && id == 0 && graph == nullptr && count == 9));
  ok(cuStreamBeginCapture(stream, global));
  ok(cuMemsetD32Async(word, 1, 1, stream));
  ok(ask());
  CHECK((status == CU_STREAM_CAPTURE_STATUS_ACTIVE && id != 0 && count == 1));
  CUgraphNodeType type{};
  ok(cuGraphNodeGetType(after[0], &type));
  CHECK(type == CU_GRAPH_NODE_TYPE_MEMSET);
  ok(cuStreamEndCapture(stream, &ended));
  CHECK(graph == ended);
  ok(cuGraphDestroy(graph));
}

TEST_CASE("a stream that is destroyed while it is captured takes the capture along") {
  const Primary primary;
  const Control control;
  const CUstream stream = create_stream(), other = create_stream();
  const CUevent event = create_event();
  ok(cuStreamBeginCapture(stream, global));
  ok(cuEventRecord(event, stream));
  ok(cuStreamWaitEvent(other, event, 0));
  ok(cuStreamDestroy(stream));
  CHECK(status_of(other) == CU_STREAM_CAPTURE_STATUS_NONE);
  CHECK(control.live("graph") == 0);
  CHECK(cuEventQuery(event) == CUDA_ERROR_CAPTURED_EVENT);
  ok(cuEventRecord(event, other));
  ok(cuEventSynchronize(event));
}

}  // namespace capture_test
