// SPDX-License-Identifier: Apache-2.0
#include "work.h"

namespace anyplace::cuda {

bool WorkCalls::is_null_idle(DeviceBase& device) {
  const DeviceScope scope(device);
  return is_idle(device, CU_STREAM_LEGACY);
}

bool WorkCalls::is_idle(DeviceBase& device, CUstream stream) {
  const CUresult result = driver().StreamQuery(stream);
  if (result == CUDA_ERROR_NOT_READY) return false;
  device.check(result, "cuStreamQuery");
  return true;
}

CUresult WorkCalls::destroy(DeviceBase& device, CUstream stream) noexcept {
  const CUresult result = driver().StreamDestroy(stream);
  if (!is_of_current_context(result)) return result;
  const ContextScope scope(device.handle());
  return scope.result() == CUDA_SUCCESS ? driver().StreamDestroy(stream) : scope.result();
}

}  // namespace anyplace::cuda
