// SPDX-License-Identifier: Apache-2.0
//
// Events, all but what the driver does as HIP does.
#include "driver.h"

namespace anyplace::doubles::cuda {

CUDA_DOUBLE_ENTRY(cuEventCreate)(CUevent* event, unsigned flags) { return create_event(event, flags); }

CUDA_DOUBLE_ENTRY(cuEventRecord)(CUevent event, CUstream stream) { return record_event(event, stream); }

CUDA_DOUBLE_ENTRY(cuEventQuery)(CUevent event) { return query_event(event); }

CUDA_DOUBLE_ENTRY(cuEventSynchronize)(CUevent event) { return synchronize_event(event); }

CUDA_DOUBLE_ENTRY(cuEventDestroy_v2)(CUevent event) { return destroy_event(event); }

CUDA_DOUBLE_ENTRY(cuEventElapsedTime)(float* milliseconds, CUevent start, CUevent end) {
  return elapsed_time(milliseconds, start, end);
}

CUDA_DOUBLE_ENTRY(cuEventElapsedTime_v2)(float* milliseconds, CUevent start, CUevent end) {
  return elapsed_time(milliseconds, start, end);
}

static_assert(sizeof(CUipcEventHandle) == SharedRecords::handle_bytes);

CUDA_DOUBLE_ENTRY(cuIpcGetEventHandle)(CUipcEventHandle* handle, CUevent event) { return share_event(handle, event); }

CUDA_DOUBLE_ENTRY(cuIpcOpenEventHandle)(CUevent* event, CUipcEventHandle handle) { return open_event(event, &handle); }

}  // namespace anyplace::doubles::cuda
