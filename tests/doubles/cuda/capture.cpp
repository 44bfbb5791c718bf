// SPDX-License-Identifier: Apache-2.0
//
// The entries of stream capture. What other calls do while a stream is captured is theirs (../engine/runtime).
#include "../engine/runtime/captures.h"

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

}  // namespace

CUDA_DOUBLE_ENTRY(cuStreamBeginCapture_v2)(CUstream stream, CUstreamCaptureMode mode) {
  return begin_capture(stream, mode);
}
CUDA_DOUBLE_ENTRY(cuStreamEndCapture)(CUstream stream, CUgraph* graph) { return end_capture(stream, graph); }

CUDA_DOUBLE_ENTRY(cuStreamIsCapturing)(CUstream stream, CUstreamCaptureStatus* status) {
  if (status == nullptr) return CUDA_ERROR_INVALID_VALUE;
  int number = 0;
  const int result = capture_status(stream, number);
  if (result == CUDA_SUCCESS) *status = static_cast<CUstreamCaptureStatus>(number);
  return result;
}

CUDA_DOUBLE_ENTRY(cuThreadExchangeStreamCaptureMode)(CUstreamCaptureMode* mode) { return exchange_capture_mode(mode); }

}  // namespace anyplace::doubles::cuda
