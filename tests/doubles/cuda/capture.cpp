// SPDX-License-Identifier: Apache-2.0
//
// The entries of stream capture. What other calls do while a stream is captured is theirs (../engine/runtime).
#include "../engine/runtime/captures.h"

#include <algorithm>

#include "driver.h"

namespace anyplace::doubles::cuda {
namespace {

static_assert(code::capture_unsupported == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED &&
              code::capture_invalidated == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED &&
              code::capture_merge == CUDA_ERROR_STREAM_CAPTURE_MERGE &&
              code::capture_unmatched == CUDA_ERROR_STREAM_CAPTURE_UNMATCHED &&
              code::capture_unjoined == CUDA_ERROR_STREAM_CAPTURE_UNJOINED &&
              code::capture_isolation == CUDA_ERROR_STREAM_CAPTURE_ISOLATION &&
              code::capture_implicit == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT &&
              code::captured_event == CUDA_ERROR_CAPTURED_EVENT &&
              code::capture_wrong_thread == CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD &&
              code::illegal_state == CUDA_ERROR_ILLEGAL_STATE);

/// What all forms tell.
int tell(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id, CaptureInfo& info) {
  if (status == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const int result = capture_info(stream, info);
  if (result != CUDA_SUCCESS) return result;
  *status = static_cast<CUstreamCaptureStatus>(info.status);
  if (id != nullptr && info.status == CU_STREAM_CAPTURE_STATUS_ACTIVE) *id = info.id;
  return CUDA_SUCCESS;
}

}  // namespace

CUDA_DOUBLE_ENTRY(cuStreamBeginCapture_v2)(CUstream stream, CUstreamCaptureMode mode) {
  return begin_capture(stream, mode);
}
CUDA_DOUBLE_ENTRY(cuStreamEndCapture)(CUstream stream, CUgraph* graph) { return end_capture(stream, graph); }

CUDA_DOUBLE_ENTRY(cuStreamIsCapturing)(CUstream stream, CUstreamCaptureStatus* status) {
  CaptureInfo info;
  return tell(stream, status, nullptr, info);
}

// The first form, of CUDA 10.1, isn't there: cuda.h has a macro of its name.
CUDA_DOUBLE_ENTRY(cuStreamGetCaptureInfo_v2)
(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph, const CUgraphNode** after,
 size_t* count) {
  CaptureInfo info;
  const int result = tell(stream, status, id, info);
  if (result != CUDA_SUCCESS || info.status != CU_STREAM_CAPTURE_STATUS_ACTIVE) return result;
  if (graph != nullptr) WordOut(graph).write(info.graph);
  if (after != nullptr) WordOut(after).write(Word(info.after->data()));
  if (count != nullptr) *count = info.after->size();
  return CUDA_SUCCESS;
}
CUDA_DOUBLE_ENTRY(cuStreamGetCaptureInfo_v3)
(CUstream stream, CUstreamCaptureStatus* status, cuuint64_t* id, CUgraph* graph, const CUgraphNode** after,
 const CUgraphEdgeData** edges, size_t* count) {
  const int result = do_cuStreamGetCaptureInfo_v2(stream, status, id, graph, after, count);
  if (result == CUDA_SUCCESS && edges != nullptr) *edges = nullptr;  // all are plain
  return result;
}

CUDA_DOUBLE_ENTRY(cuThreadExchangeStreamCaptureMode)(CUstreamCaptureMode* mode) { return exchange_capture_mode(mode); }

}  // namespace anyplace::doubles::cuda
