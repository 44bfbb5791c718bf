// SPDX-License-Identifier: Apache-2.0
#include "adapter.h"

#include <utility>

#include <anyplace/error.h>
#include <anyplace/version.h>

#include "entries.h"
#include "info.h"
#include "log.h"
#include "places.h"
#include "settings.h"

const std::vector<ur_platform_handle_t>& ur_adapter_handle_t_::platforms() {
  const std::lock_guard lock(mutex_);
  if (found_) return platforms_;
  if (!anyplace_ur::settings().problem.empty()) {
    throw anyplace_ur::Failure(UR_RESULT_ERROR_ADAPTER_SPECIFIC, anyplace_ur::settings().problem);
  }
  for (const anyplace::Device& device : anyplace_ur::offered_devices(anyplace_ur::settings().places)) {
    ur_platform_handle_t_* platform = nullptr;
    for (const auto& known : owned_) {
      if (known->backend == device.backend()) platform = known.get();
    }
    if (platform == nullptr) {
      owned_.push_back(std::make_unique<ur_platform_handle_t_>(this, device.backend()));
      platform = owned_.back().get();
      platforms_.push_back(platform);
    }
    platform->add(device);
  }
  found_ = true;
  return platforms_;
}

namespace anyplace_ur {

ur_adapter_handle_t_& adapter() {
  static ur_adapter_handle_t_* const instance = new ur_adapter_handle_t_;
  return *instance;
}

namespace {

/// What is wrong with the settings is said once on standard error, too: most programs only say that there is no device.
void report_settings_once(const std::string& text) {
  static std::once_flag once;
  std::call_once(once, [&] { log_always(text); });
}

}  // namespace

ur_result_t urAdapterGet(uint32_t room, ur_adapter_handle_t* adapters, uint32_t* count) {
  return guarded("urAdapterGet", [&] {
    list_handles<ur_adapter_handle_t>({&adapter()}, room, adapters, count);
    if (adapters != nullptr) adapter().retain();
  });
}

ur_result_t urAdapterRelease(ur_adapter_handle_t adapter) {
  return guarded("urAdapterRelease", [&] {
    require_handle(adapter);
    // The object stays when the last reference goes; a count below none would only mislead.
    if (adapter->references() > 0) static_cast<void>(adapter->drop_reference());
  });
}

ur_result_t urAdapterRetain(ur_adapter_handle_t adapter) {
  return guarded("urAdapterRetain", [&] {
    require_handle(adapter);
    adapter->retain();
  });
}

ur_result_t urAdapterGetLastError(ur_adapter_handle_t adapter, const char** message, int32_t* error) {
  // Not guarded: it must not replace what it tells.
  if (adapter == nullptr) return UR_RESULT_ERROR_INVALID_NULL_HANDLE;
  if (message == nullptr || error == nullptr) return UR_RESULT_ERROR_INVALID_NULL_POINTER;
  *message = last_error().text.c_str();
  *error = last_error().code;
  // SYCL's runtime takes success for the word that the message is a warning, and goes on.
  return std::exchange(last_error().is_specific, false) ? UR_RESULT_ERROR_ADAPTER_SPECIFIC : UR_RESULT_SUCCESS;
}

ur_result_t urAdapterGetInfo(ur_adapter_handle_t adapter, ur_adapter_info_t name, size_t size, void* value,
                             size_t* size_needed) {
  return guarded("urAdapterGetInfo", [&] {
    require_handle(adapter);
    const InfoWriter write(size, value, size_needed);
    switch (name) {
      case UR_ADAPTER_INFO_BACKEND:
        return write(settings().backend);
      case UR_ADAPTER_INFO_REFERENCE_COUNT:
        return write(adapter->references());
      case UR_ADAPTER_INFO_VERSION:
        return write(uint32_t{1});
      default:
        throw Failure(UR_RESULT_ERROR_INVALID_ENUMERATION, "there is no such query of an adapter");
    }
  });
}

ur_result_t urAdapterSetLoggerCallback(ur_adapter_handle_t adapter, ur_logger_callback_t callback, void* user_data,
                                       ur_logger_level_t level) {
  return guarded("urAdapterSetLoggerCallback", [&] {
    require_handle(adapter);
    set_log_callback(callback, user_data, level);
  });
}

ur_result_t urAdapterSetLoggerCallbackLevel(ur_adapter_handle_t adapter, ur_logger_level_t level) {
  return guarded("urAdapterSetLoggerCallbackLevel", [&] {
    require_handle(adapter);
    set_log_level(level);
  });
}

ur_result_t urPlatformGet(ur_adapter_handle_t adapter, uint32_t room, ur_platform_handle_t* platforms,
                          uint32_t* count) {
  const ur_result_t result = guarded("urPlatformGet", [&] {
    require_handle(adapter);
    require(platforms != nullptr || count != nullptr, UR_RESULT_ERROR_INVALID_VALUE,
            "neither platforms nor their number are asked for");
    list_handles(adapter->platforms(), room, platforms, count);
  });
  if (result == UR_RESULT_ERROR_ADAPTER_SPECIFIC) report_settings_once(last_error().text);
  return result;
}

}  // namespace anyplace_ur
