// SPDX-License-Identifier: Apache-2.0
//
// Asks a device for its properties, once, and checks them: texts end with a NUL, ranges contain their default, and a
// claimed capability has its entries.
#include "plugins/device_properties.h"

#include <fmt/format.h>

#include <algorithm>
#include <mutex>

#include "anyplace/backend/thread_sanitizer.h"
#include "plugins/plugin_table.h"
#include "runtime/call.h"

namespace anyplace::detail {
namespace {

template <std::size_t N>
void end_text(char (&text)[N]) noexcept {
  text[N - 1] = '\0';
}

anyplace_device_properties ask(DeviceState& device, const char* operation) {
  anyplace_device_properties properties{};
  properties.struct_size = sizeof(properties);
  check(device.table->device_properties(device.self, device.index, &properties), device, operation);
  end_text(properties.name);
  end_text(properties.vendor);
  end_text(properties.architecture);
  end_text(properties.driver_version);
  end_text(properties.uuid);
  end_text(properties.pci);
  properties.least_priority = std::max(properties.least_priority, 0);
  properties.greatest_priority = std::min(properties.greatest_priority, 0);
  if ((properties.capabilities >> ANYPLACE_CAPABILITY_BIT_PRIORITIES & 1) == 0) {
    properties.least_priority = properties.greatest_priority = 0;
  }
  check_capabilities(*device.table, properties.capabilities, device.place, operation);
  if ((properties.features & ANYPLACE_FEATURE_VIRTUAL_TIME) != 0) {
    any_in_virtual_time.store(true, std::memory_order_relaxed);
  }
  return properties;
}

}  // namespace

const anyplace_device_properties& properties_of(DeviceState& device, const char* operation) {
  if (!device.properties_known.load(std::memory_order_acquire)) [[unlikely]] {
    // This isn't std::call_once because asking may throw; the next call then asks again.
    const std::lock_guard lock(device.properties_mutex);
    if (!device.properties_known.load(std::memory_order_relaxed)) {
      device.properties = ask(device, operation);
      backend::release_to_sanitizer(&device.properties);
      device.properties_known.store(true, std::memory_order_release);
    }
  }
  backend::acquire_from_sanitizer(&device.properties);
  return device.properties;
}

namespace {

const char* meaning_of(Capability capability) noexcept {
  switch (capability) {
#define ANYPLACE_CAPABILITY_TEXT(upper, lower, bit, text) \
  case Capability::lower:                                 \
    return text;
    ANYPLACE_CAPABILITY_LIST(ANYPLACE_CAPABILITY_TEXT)
#undef ANYPLACE_CAPABILITY_TEXT
  }
  return "";
}

}  // namespace

void refuse_capability(const DeviceState& device, Capability capability, const char* operation) {
  fail(ErrorCode::unsupported, device.place, operation,
       fmt::format(
           "the device lacks {} ({})\nask Device::has(Capability::{}) first\n`anyplace info {}` lists what it has",
           to_string(capability), meaning_of(capability), to_string(capability), device.place));
}

}  // namespace anyplace::detail
