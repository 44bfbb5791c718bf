// SPDX-License-Identifier: Apache-2.0
#include "device_base.h"

namespace anyplace::hip {

int DeviceCalls::attribute(hipDevice_t device, int attribute, int otherwise) {
  int value = 0;
  const hipError_t result = driver().DeviceGetAttribute(&value, static_cast<hipDeviceAttribute_t>(attribute), device);
  if (result == hipErrorInvalidValue || is_unimplemented(result)) return otherwise;
  Results::check(result, "hipDeviceGetAttribute");
  return value;
}

}  // namespace anyplace::hip
