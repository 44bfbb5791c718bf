// SPDX-License-Identifier: Apache-2.0
//
// The entries of events.
#include "runtime.h"

namespace anyplace::doubles::hip {

HIP_DOUBLE_ENTRY(hipEventCreate)(hipEvent_t* event) { return create_event(event, hipEventDefault); }
HIP_DOUBLE_ENTRY(hipEventCreateWithFlags)(hipEvent_t* event, unsigned flags) { return create_event(event, flags); }
HIP_DOUBLE_ENTRY(hipEventRecord)(hipEvent_t event, hipStream_t stream) { return record_event(event, stream); }
HIP_DOUBLE_ENTRY(hipEventQuery)(hipEvent_t event) { return query_event(event); }
HIP_DOUBLE_ENTRY(hipEventSynchronize)(hipEvent_t event) { return synchronize_event(event); }
HIP_DOUBLE_ENTRY(hipEventDestroy)(hipEvent_t event) { return destroy_event(event); }
HIP_DOUBLE_ENTRY(hipEventElapsedTime)(float* milliseconds, hipEvent_t start, hipEvent_t stop) {
  return elapsed_time(milliseconds, start, stop);
}

static_assert(sizeof(hipIpcEventHandle_t) == SharedRecords::handle_bytes);

HIP_DOUBLE_ENTRY(hipIpcGetEventHandle)(hipIpcEventHandle_t* handle, hipEvent_t event) {
  const int result = share_event(handle, event);
  return result == hipErrorInvalidHandle ? hipErrorInvalidResourceHandle : result;
}
HIP_DOUBLE_ENTRY(hipIpcOpenEventHandle)(hipEvent_t* event, hipIpcEventHandle_t handle) {
  return open_event(event, &handle);
}

}  // namespace anyplace::doubles::hip
