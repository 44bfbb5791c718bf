// SPDX-License-Identifier: Apache-2.0
//
// The entries of events, and a handle for other processes that none of them can open.
#include <cstring>

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

HIP_DOUBLE_ENTRY(hipIpcGetEventHandle)(hipIpcEventHandle_t* handle, hipEvent_t event) {
  if (handle == nullptr) return hipErrorInvalidValue;
  const Locked lock(state().mutex);
  EventRef shared;
  if (const int result = find_event(lock, Word(event), shared); result != hipSuccess) return result;
  if ((shared->flags & hipEventInterprocess) == 0) return hipErrorInvalidResourceHandle;
  // No process can do anything with it: there is no entry that opens one.
  std::memset(handle, 0, sizeof(*handle));
  std::memcpy(handle, &event, sizeof(event));
  return hipSuccess;
}

}  // namespace anyplace::doubles::hip
