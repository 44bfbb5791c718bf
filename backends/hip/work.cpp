// SPDX-License-Identifier: Apache-2.0
#include "work.h"

namespace anyplace::hip {

bool WorkCalls::is_null_idle(DeviceBase& device) {
  const DeviceScope scope(device);
  return is_idle(device, nullptr);
}

bool WorkCalls::is_idle(DeviceBase& device, hipStream_t stream) {
  const hipError_t result = driver().StreamQuery(stream);
  if (result == hipErrorNotReady) return false;
  device.check(result, "hipStreamQuery");
  return true;
}

hipError_t WorkCalls::destroy(DeviceBase&, hipStream_t stream) noexcept { return driver().StreamDestroy(stream); }

}  // namespace anyplace::hip
