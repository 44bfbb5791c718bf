// SPDX-License-Identifier: Apache-2.0
#include "device.h"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "adapter.h"
#include "device_info.h"
#include "entries.h"
#include "info.h"
#include "settings.h"

ur_device_handle_t_::ur_device_handle_t_(ur_platform_handle_t owner, const anyplace::Device& on)
    : platform(owner), device(on), properties(on.properties()) {}

ur_device_type_t ur_device_handle_t_::type() const noexcept {
  return device.backend() == "cpu_sim" ? UR_DEVICE_TYPE_CPU : UR_DEVICE_TYPE_GPU;
}

anyplace::StreamView ur_device_handle_t_::service() {
  const std::lock_guard lock(mutex_);
  if (!service_) service_ = anyplace::Stream(device);
  return service_;
}

bool ur_device_handle_t_::has(anyplace::Capability capability) const noexcept {
  const auto& all = properties.capabilities;
  return std::find(all.begin(), all.end(), capability) != all.end();
}

namespace anyplace_ur {

ur_result_t urDeviceGet(ur_platform_handle_t platform, ur_device_type_t type, uint32_t room,
                        ur_device_handle_t* devices, uint32_t* count) {
  return guarded("urDeviceGet", [&] {
    require_handle(platform);
    require(type >= UR_DEVICE_TYPE_DEFAULT && type <= UR_DEVICE_TYPE_CUSTOM, UR_RESULT_ERROR_INVALID_ENUMERATION,
            "there is no such type of devices");
    require(room == 0 || devices != nullptr, UR_RESULT_ERROR_INVALID_NULL_POINTER, "there is nowhere to write to");
    list_handles(platform->devices(type), room, devices, count);
  });
}

ur_result_t urDeviceRetain(ur_device_handle_t device) {
  // Devices that aren't parts of others aren't counted, as the specification has it.
  return guarded("urDeviceRetain", [&] { require_handle(device); });
}

ur_result_t urDeviceRelease(ur_device_handle_t device) {
  return guarded("urDeviceRelease", [&] { require_handle(device); });
}

ur_result_t urDevicePartition(ur_device_handle_t device, const ur_device_partition_properties_t* properties, uint32_t,
                              ur_device_handle_t*, uint32_t*) {
  return guarded("urDevicePartition", [&] {
    require_handle(device);
    require_pointer(properties);
    require_pointer(properties->pProperties);
    throw Failure(UR_RESULT_ERROR_UNSUPPORTED_FEATURE, device->device.to_string() + " can't be partitioned");
  });
}

namespace {

/// Whether images that are said to be for `target` are of a format that the device takes.
bool takes_target(const ur_device_handle_t_& device, std::string_view target) {
  if (target == UR_DEVICE_BINARY_TARGET_SPIRV64) return takes_images(device, "spirv");
  if (target == UR_DEVICE_BINARY_TARGET_NVPTX64) return takes_images(device, "ptx") || takes_images(device, "cubin");
  if (target == UR_DEVICE_BINARY_TARGET_AMDGCN) return takes_images(device, "hsaco");
  return false;
}

}  // namespace

ur_result_t urDeviceGetInfo(ur_device_handle_t device, ur_device_info_t name, size_t size, void* value,
                            size_t* size_needed) {
  return guarded("urDeviceGetInfo", [&] {
    require_handle(device);
    const InfoWriter write(size, value, size_needed);
    const bool told =
        tell_identity(*device, name, write) || tell_limits(*device, name, write) || tell_features(*device, name, write);
    if (told) return;
    require(name != UR_DEVICE_INFO_FORCE_UINT32, UR_RESULT_ERROR_INVALID_ENUMERATION,
            "there is no such query of a device");
    refuse_query();
  });
}

ur_result_t urDeviceSelectBinary(ur_device_handle_t device, const ur_device_binary_t* binaries, uint32_t count,
                                 uint32_t* selected) {
  return guarded("urDeviceSelectBinary", [&] {
    require_handle(device);
    require_pointer(binaries);
    require_pointer(selected);
    require(count != 0, UR_RESULT_ERROR_INVALID_SIZE, "there is no binary to select from");
    for (uint32_t i = 0; i < count; ++i) {
      if (takes_target(*device, binaries[i].pDeviceTargetSpec)) {
        *selected = i;
        return;
      }
    }
    std::string formats;
    for (const std::string& format : device->properties.image_formats) formats += " " + format;
    throw Failure(UR_RESULT_ERROR_INVALID_BINARY, "no binary is one that " + device->device.to_string() +
                                                      " takes, which is:" + (formats.empty() ? " none" : formats));
  });
}

ur_result_t urDeviceGetNativeHandle(ur_device_handle_t device, ur_native_handle_t* native) {
  return guarded("urDeviceGetNativeHandle", [&] {
    require_handle(device);
    require_pointer(native);
    *native = device->device.native_handle();
  });
}

ur_result_t urDeviceCreateWithNativeHandle(ur_native_handle_t native, ur_adapter_handle_t adapter,
                                           const ur_device_native_properties_t*, ur_device_handle_t* device) {
  return guarded("urDeviceCreateWithNativeHandle", [&] {
    require_handle(adapter);
    require_pointer(device);
    for (const ur_platform_handle_t platform : adapter->platforms()) {
      for (const ur_device_handle_t known : platform->devices(UR_DEVICE_TYPE_ALL)) {
        if (known->has(anyplace::Capability::native_handles) && known->device.native_handle() == native) {
          *device = known;
          return;
        }
      }
    }
    throw Failure(UR_RESULT_ERROR_INVALID_DEVICE, "no device that the adapter offers has this native handle");
  });
}

ur_result_t urDeviceGetGlobalTimestamps(ur_device_handle_t device, uint64_t* device_time, uint64_t* host_time) {
  return guarded("urDeviceGetGlobalTimestamps", [&] {
    require_handle(device);
    const anyplace::ClockReading now = device->device.clock();
    if (device_time != nullptr) *device_time = now.device_ns;
    if (host_time != nullptr) *host_time = now.host_ns;
  });
}

ur_result_t urDeviceWaitExp(ur_device_handle_t device) {
  return guarded("urDeviceWaitExp", [&] {
    require_handle(device);
    device->device.synchronize();
  });
}

}  // namespace anyplace_ur
