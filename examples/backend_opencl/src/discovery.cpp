// SPDX-License-Identifier: Apache-2.0
//
// Which OpenCL devices there are, in which order, and why the others are left out.
#include <algorithm>
#include <string>

#include "device.h"

namespace opencl_backend {
namespace {

std::string device_text(cl_device_id id, cl_device_info what) {
  char text[256] = "";
  api().GetDeviceInfo(id, what, sizeof(text) - 1, text, nullptr);
  return text;
}

std::string platform_name(cl_platform_id id) {
  char text[256] = "";
  api().GetPlatformInfo(id, CL_PLATFORM_NAME, sizeof(text) - 1, text, nullptr);
  return text;
}

/// "" for a device that can be used.
std::string why_not(cl_device_id id) {
  cl_bool available = CL_FALSE;
  if (api().GetDeviceInfo(id, CL_DEVICE_AVAILABLE, sizeof(available), &available, nullptr) != CL_SUCCESS ||
      available != CL_TRUE) {
    return "it is not available";
  }
  cl_device_svm_capabilities svm = 0;
  if (api().GetDeviceInfo(id, CL_DEVICE_SVM_CAPABILITIES, sizeof(svm), &svm, nullptr) != CL_SUCCESS ||
      (svm & CL_DEVICE_SVM_COARSE_GRAIN_BUFFER) == 0) {
    return "its driver has no shared virtual memory, which device memory is made of here";
  }
  return {};
}

}  // namespace

std::vector<std::unique_ptr<Device>> find_devices(const anyplace::backend::Host& host) {
  cl_uint count = 0;
  if (api().GetPlatformIDs(0, nullptr, &count) != CL_SUCCESS || count == 0) return {};
  std::vector<cl_platform_id> platforms(count);
  check(api().GetPlatformIDs(count, platforms.data(), nullptr), "clGetPlatformIDs");
  std::stable_sort(platforms.begin(), platforms.end(),
                   [](cl_platform_id a, cl_platform_id b) { return platform_name(a) < platform_name(b); });

  std::vector<std::unique_ptr<Device>> devices;
  for (const cl_platform_id platform : platforms) {
    if (api().GetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 0, nullptr, &count) != CL_SUCCESS) continue;
    std::vector<cl_device_id> ids(count);
    check(api().GetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, count, ids.data(), nullptr), "clGetDeviceIDs");
    for (const cl_device_id id : ids) {
      const std::string reason = why_not(id);
      if (reason.empty()) {
        devices.push_back(std::make_unique<Device>(host, id));
      } else {
        host.log(
            ANYPLACE_LOG_WARNING,
            ("left out " + device_text(id, CL_DEVICE_NAME) + " of " + platform_name(platform) + ": " + reason).c_str());
      }
    }
  }
  return devices;
}

}  // namespace opencl_backend
