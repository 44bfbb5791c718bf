// SPDX-License-Identifier: Apache-2.0
#include "device_base.h"

namespace anyplace::cuda {

bool DeviceCalls::is_of(DeviceBase& device, CUresult result) noexcept {
  if (!device.has_begun()) return !is_of_current_context(result);
  return is_current(device.handle()) || !device.is_healthy();
}

int DeviceCalls::attribute(CUdevice device, int attribute, int otherwise) {
  int value = 0;
  const CUresult result = driver().DeviceGetAttribute(&value, static_cast<CUdevice_attribute>(attribute), device);
  if (result == CUDA_ERROR_INVALID_VALUE) return otherwise;
  Results::check(result, "cuDeviceGetAttribute");
  return value;
}

}  // namespace anyplace::cuda
