// SPDX-License-Identifier: Apache-2.0
#include "platform.h"

#include <string_view>

#include <anyplace/plugins.h>

#include "entries.h"
#include "info.h"
#include "settings.h"

void ur_platform_handle_t_::add(const anyplace::Device& device) {
  devices_.push_back(std::make_unique<ur_device_handle_t_>(this, device));
}

std::vector<ur_device_handle_t> ur_platform_handle_t_::devices(ur_device_type_t type) const {
  std::vector<ur_device_handle_t> chosen;
  for (const auto& device : devices_) {
    const bool fits = type == UR_DEVICE_TYPE_ALL || type == UR_DEVICE_TYPE_DEFAULT || type == device->type();
    if (fits) chosen.push_back(device.get());
    if (fits && type == UR_DEVICE_TYPE_DEFAULT) break;
  }
  return chosen;
}

namespace anyplace_ur {

ur_result_t urPlatformGetInfo(ur_platform_handle_t platform, ur_platform_info_t name, size_t size, void* value,
                              size_t* size_needed) {
  return guarded("urPlatformGetInfo", [&] {
    require_handle(platform);
    const InfoWriter write(size, value, size_needed);
    switch (name) {
      case UR_PLATFORM_INFO_NAME:
        return write.text("anyplace " + platform->backend);
      case UR_PLATFORM_INFO_VENDOR_NAME:
        return write.text("anyplace");
      case UR_PLATFORM_INFO_VERSION:
        return write.text(anyplace::backend_info(platform->backend).version);
      case UR_PLATFORM_INFO_EXTENSIONS:
        return write.text("");
      case UR_PLATFORM_INFO_PROFILE:
        return write.text("FULL_PROFILE");
      case UR_PLATFORM_INFO_BACKEND:
        return write(settings().backend);
      case UR_PLATFORM_INFO_ADAPTER:
        return write(platform->adapter);
      default:
        throw Failure(UR_RESULT_ERROR_INVALID_ENUMERATION, "there is no such query of a platform");
    }
  });
}

ur_result_t urPlatformGetApiVersion(ur_platform_handle_t platform, ur_api_version_t* version) {
  return guarded("urPlatformGetApiVersion", [&] {
    require_handle(platform);
    require_pointer(version);
    *version = UR_API_VERSION_CURRENT;
  });
}

ur_result_t urPlatformGetBackendOption(ur_platform_handle_t platform, const char* option, const char** answer) {
  return guarded("urPlatformGetBackendOption", [&] {
    require_handle(platform);
    require_pointer(option);
    require_pointer(answer);
    const std::string_view text(option);
    // The compilers behind the backends take no level of optimisation in common, so each level stands for theirs.
    const bool known = text.empty() || text == "-O0" || text == "-O1" || text == "-O2" || text == "-O3";
    require(known, UR_RESULT_ERROR_INVALID_VALUE, "the option is none of -O0 -O1 -O2 -O3");
    *answer = "";
  });
}

}  // namespace anyplace_ur
