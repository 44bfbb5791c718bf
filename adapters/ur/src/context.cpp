// SPDX-License-Identifier: Apache-2.0
#include "context.h"

#include <algorithm>

#include "entries.h"
#include "info.h"

ur_context_handle_t_::~ur_context_handle_t_() {
  for (auto deleter = deleters_.rbegin(); deleter != deleters_.rend(); ++deleter) deleter->first(deleter->second);
}

bool ur_context_handle_t_::has(ur_device_handle_t device) const noexcept {
  return std::find(devices.begin(), devices.end(), device) != devices.end();
}

void ur_context_handle_t_::add_deleter(ur_context_extended_deleter_t deleter, void* user_data) {
  const std::lock_guard lock(mutex_);
  deleters_.emplace_back(deleter, user_data);
}

namespace anyplace_ur {

ur_result_t urContextCreate(uint32_t count, const ur_device_handle_t* devices, const ur_context_properties_t*,
                            ur_context_handle_t* context) {
  return guarded("urContextCreate", [&] {
    require_pointer(devices);
    require_pointer(context);
    require(count != 0, UR_RESULT_ERROR_INVALID_SIZE, "a context has at least one device");
    std::vector<ur_device_handle_t> list(devices, devices + count);
    for (const ur_device_handle_t device : list) require_handle(device);
    *context = new ur_context_handle_t_(std::move(list));
  });
}

ur_result_t urContextRetain(ur_context_handle_t context) {
  return guarded("urContextRetain", [&] {
    require_handle(context);
    context->retain();
  });
}

ur_result_t urContextRelease(ur_context_handle_t context) {
  return guarded("urContextRelease", [&] {
    require_handle(context);
    release_handle(context);
  });
}

ur_result_t urContextGetInfo(ur_context_handle_t context, ur_context_info_t name, size_t size, void* value,
                             size_t* size_needed) {
  return guarded("urContextGetInfo", [&] {
    require_handle(context);
    const InfoWriter write(size, value, size_needed);
    switch (name) {
      case UR_CONTEXT_INFO_NUM_DEVICES:
        return write(static_cast<uint32_t>(context->devices.size()));
      case UR_CONTEXT_INFO_DEVICES:
        return write.array(context->devices);
      case UR_CONTEXT_INFO_REFERENCE_COUNT:
        return write(context->references());
      case UR_CONTEXT_INFO_USM_MEMCPY2D_SUPPORT:
      case UR_CONTEXT_INFO_USM_FILL2D_SUPPORT:
        return write.flag(true);
      default:
        throw Failure(UR_RESULT_ERROR_INVALID_ENUMERATION, "there is no such query of a context");
    }
  });
}

ur_result_t urContextGetNativeHandle(ur_context_handle_t context, ur_native_handle_t* native) {
  return guarded("urContextGetNativeHandle", [&] {
    require_handle(context);
    require_pointer(native);
    require(context->devices.size() == 1, UR_RESULT_ERROR_UNSUPPORTED_FEATURE,
            "each device has a native context of its own, and this context has several devices");
    *native = context->devices.front()->device.native_context();
  });
}

ur_result_t urContextCreateWithNativeHandle(ur_native_handle_t native, ur_adapter_handle_t adapter, uint32_t count,
                                            const ur_device_handle_t* devices, const ur_context_native_properties_t*,
                                            ur_context_handle_t* context) {
  return guarded("urContextCreateWithNativeHandle", [&] {
    require_handle(adapter);
    require_pointer(context);
    require(count == 1 && devices != nullptr, UR_RESULT_ERROR_UNSUPPORTED_FEATURE,
            "a native context is taken for one device, which must be named");
    require_handle(devices[0]);
    require(devices[0]->device.native_context() == native, UR_RESULT_ERROR_INVALID_CONTEXT,
            "the native context isn't the one that anyplace uses on this device");
    *context = new ur_context_handle_t_({devices[0]});
  });
}

ur_result_t urContextSetExtendedDeleter(ur_context_handle_t context, ur_context_extended_deleter_t deleter,
                                        void* user_data) {
  return guarded("urContextSetExtendedDeleter", [&] {
    require_handle(context);
    require_pointer(reinterpret_cast<const void*>(deleter));
    context->add_deleter(deleter, user_data);
  });
}

}  // namespace anyplace_ur
