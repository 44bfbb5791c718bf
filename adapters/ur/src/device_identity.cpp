// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <string>
#include <string_view>

#include <anyplace/compile.h>
#include <anyplace/plugins.h>

#include "device_info.h"
#include "platform.h"

namespace anyplace_ur {

namespace {

/// PCI's number of a vendor.
uint32_t vendor_number(std::string_view vendor) {
  constexpr std::array<std::pair<std::string_view, uint32_t>, 4> known{
      {{"NVIDIA", 0x10de}, {"AMD", 0x1002}, {"Advanced Micro Devices", 0x1002}, {"Intel", 0x8086}}};
  for (const auto& [word, number] : known) {
    if (vendor.find(word) != std::string_view::npos) return number;
  }
  return 0;
}

int hexadecimal(char digit) {
  constexpr std::string_view digits = "0123456789abcdef";
  const char lower = digit >= 'A' && digit <= 'F' ? static_cast<char>(digit - 'A' + 'a') : digit;
  const std::size_t value = digits.find(lower);
  return value == std::string_view::npos ? -1 : static_cast<int>(value);
}

/// The 16 bytes of the last 32 hexadecimal digits of a text such as "GPU-1b2c...".
void tell_uuid(const std::string& text, const InfoWriter& write) {
  std::array<uint8_t, 16> uuid{};
  std::size_t nibbles = 0;
  for (auto digit = text.rbegin(); digit != text.rend() && nibbles < 2 * uuid.size(); ++digit) {
    const int value = hexadecimal(*digit);
    if (value < 0) continue;
    uuid[uuid.size() - 1 - nibbles / 2] |= static_cast<uint8_t>(nibbles % 2 == 0 ? value : value << 4);
    ++nibbles;
  }
  if (nibbles == 0) refuse_query();
  // A simulated device's is a small number, and the first bytes of a UUID are looked at to tell whether there is one.
  const bool is_small = std::all_of(uuid.begin(), uuid.begin() + 8, [](uint8_t byte) { return byte == 0; });
  if (is_small) std::copy_n("anyplace", 8, uuid.begin());
  write(uuid);
}

void tell_text_if_known(const std::string& text, const InfoWriter& write) {
  if (text.empty()) refuse_query();
  write.text(text);
}

/// What SYCL shows beside the name; a text that is never empty.
std::string version_of(const ur_device_handle_t_& device) {
  return device.properties.architecture.empty() ? "anyplace " + device.platform->backend
                                                : device.properties.architecture;
}

bool tell_relations(ur_device_handle_t_& device, ur_device_info_t name, const InfoWriter& write) {
  switch (name) {
    case UR_DEVICE_INFO_PLATFORM:
      return write(device.platform), true;
    case UR_DEVICE_INFO_REFERENCE_COUNT:
      return write(device.references()), true;
    case UR_DEVICE_INFO_PARENT_DEVICE:
      return write(ur_device_handle_t{nullptr}), true;
    case UR_DEVICE_INFO_SUPPORTED_PARTITIONS:
      return write.array(std::vector<ur_device_partition_t>()), true;
    case UR_DEVICE_INFO_PARTITION_TYPE:
      return write.array(std::vector<ur_device_partition_property_t>()), true;
    case UR_DEVICE_INFO_PARTITION_MAX_SUB_DEVICES:
      return write(uint32_t{0}), true;
    case UR_DEVICE_INFO_PARTITION_AFFINITY_DOMAIN:
      return write(ur_device_affinity_domain_flags_t{0}), true;
    default:
      return false;
  }
}

}  // namespace

bool tell_identity(ur_device_handle_t_& device, ur_device_info_t name, const InfoWriter& write) {
  const anyplace::DeviceProperties& properties = device.properties;
  switch (name) {
    case UR_DEVICE_INFO_TYPE:
      return write(device.type()), true;
    case UR_DEVICE_INFO_VENDOR_ID:
      return write(vendor_number(properties.vendor)), true;
    case UR_DEVICE_INFO_NAME:
      return write.text(properties.name), true;
    case UR_DEVICE_INFO_VENDOR:
      return write.text(properties.vendor), true;
    case UR_DEVICE_INFO_DRIVER_VERSION:
      return write.text(properties.driver_version), true;
    case UR_DEVICE_INFO_PROFILE:
      return write.text("FULL_PROFILE"), true;
    case UR_DEVICE_INFO_VERSION:
      return write.text(version_of(device)), true;
    case UR_DEVICE_INFO_BACKEND_RUNTIME_VERSION:
      return write.text(anyplace::backend_info(device.platform->backend).version), true;
    case UR_DEVICE_INFO_EXTENSIONS:
    case UR_DEVICE_INFO_BUILT_IN_KERNELS:
      return write.text(""), true;
    case UR_DEVICE_INFO_IL_VERSION:
      return tell_text_if_known(takes_images(device, "spirv") ? "SPIR-V_1.0" : "", write), true;
    case UR_DEVICE_INFO_UUID:
      return tell_uuid(properties.uuid, write), true;
    case UR_DEVICE_INFO_PCI_ADDRESS:
      return tell_text_if_known(properties.pci, write), true;
    case UR_DEVICE_INFO_AVAILABLE:
      return write.flag(true), true;
    default:
      return tell_relations(device, name, write);
  }
}

bool takes_images(const ur_device_handle_t_& device, std::string_view format) {
  return anyplace::takes_images(device.device, format);
}

}  // namespace anyplace_ur
