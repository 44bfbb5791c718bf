// SPDX-License-Identifier: Apache-2.0
//
// What a device says of itself, and which capabilities it has. Nothing here makes a context.
#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <string>

#include "device.h"

namespace anyplace::hip {
namespace {

using anyplace::backend::set_text;

constexpr std::uint64_t bit(unsigned number) { return std::uint64_t{1} << number; }

std::uint32_t at_least_one(int value) { return value > 0 ? static_cast<std::uint32_t>(value) : 1; }

/// As rocminfo prints it: "GPU-" and the 16 digits that HIP gives as the uuid's bytes; the bytes in hexadecimal where
/// they are something else.
std::string uuid_text(hipDevice_t device) {
  hipUUID uuid{};
  if (!driver().DeviceGetUuid) return "";
  check(driver().DeviceGetUuid(&uuid, device), "hipDeviceGetUuid");
  const auto is_digit = [](char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; };
  if (std::all_of(std::begin(uuid.bytes), std::end(uuid.bytes), is_digit)) {
    return "GPU-" + std::string(uuid.bytes, sizeof(uuid.bytes));
  }
  const auto is_zero = [](char c) { return c == 0; };
  if (std::all_of(std::begin(uuid.bytes), std::end(uuid.bytes), is_zero)) return "";
  std::string text = "GPU-";
  for (const char byte : uuid.bytes) {
    char digits[3];
    std::snprintf(digits, sizeof(digits), "%02x", static_cast<unsigned>(static_cast<unsigned char>(byte)));
    text += digits;
  }
  return text;
}

/// hipDeviceProp_t::gcnArchName, "gfx90a:sramecc+:xnack-": the one property that no attribute has. The struct changed
/// with HIP 6, which therefore has two functions; each fills one layout for good, so the name says where the text is.
std::string target_text(hipDevice_t device) {
  constexpr std::size_t offset_r0600 = 1160;  // of a struct of 1472 bytes
  constexpr std::size_t offset_r0000 = 396;   // of 792; what hipGetDeviceProperties fills in all majors
  constexpr std::size_t name_bytes = 256;
  // Much larger than either, should a later release write more.
  alignas(std::max_align_t) char properties[8192] = "";
  std::size_t offset = offset_r0600;
  if (driver().GetDevicePropertiesR0600) {
    check(driver().GetDevicePropertiesR0600(properties, device), "hipGetDevicePropertiesR0600");
  } else if (driver().GetDeviceProperties) {
    offset = offset_r0000;
    check(driver().GetDeviceProperties(properties, device), "hipGetDeviceProperties");
  }
  return std::string(properties + offset, strnlen(properties + offset, name_bytes));
}

std::string name_text(hipDevice_t device) {
  char name[128] = "";
  check(driver().DeviceGetName(name, sizeof(name), device), "hipDeviceGetName");
  return name;
}

/// "0000:17:00.0", in the small letters of the kernel's own paths.
std::string pci_text(hipDevice_t device) {
  char id[32] = "";
  check(driver().DeviceGetPCIBusId(id, sizeof(id), device), "hipDeviceGetPCIBusId");
  std::string text = id;
  for (char& c : text) {
    if (c >= 'A' && c <= 'F') c = static_cast<char>(c - 'A' + 'a');
  }
  return text;
}

}  // namespace

int Device::attribute(int attribute, int otherwise) const {
  int value = 0;
  const hipError_t result = driver().DeviceGetAttribute(&value, static_cast<hipDeviceAttribute_t>(attribute), id_);
  if (result == hipErrorInvalidValue || result == hipErrorNotSupported) return otherwise;
  hip::check(result, "hipDeviceGetAttribute");
  return value;
}

std::uint64_t Device::capabilities() const {
  std::uint64_t all = 0;
  const auto add = [&](bool there, unsigned number) { all |= there ? bit(number) : 0; };
  int least = 0;
  int greatest = 0;
  priority_range(least, greatest);
  add(true, ANYPLACE_CAPABILITY_BIT_TIMED_EVENTS);
  add(least != greatest, ANYPLACE_CAPABILITY_BIT_PRIORITIES);
  add(true, ANYPLACE_CAPABILITY_BIT_BLOCKING_STREAMS);
  add(HostFunctions::are_supported(), ANYPLACE_CAPABILITY_BIT_HOST_FUNCTIONS);
  add(gates_.are_supported(), ANYPLACE_CAPABILITY_BIT_GATES);
  add(true, ANYPLACE_CAPABILITY_BIT_PINNED_MEMORY);
  add(memory_.has_managed(), ANYPLACE_CAPABILITY_BIT_MANAGED_MEMORY);
  add(attribute(attribute_host_register, 1) != 0, ANYPLACE_CAPABILITY_BIT_HOST_REGISTER);
  add(memory_.has_pools(), ANYPLACE_CAPABILITY_BIT_STREAM_ORDERED_MEMORY);
  add(true, ANYPLACE_CAPABILITY_BIT_COPY_2D);
  add(true, ANYPLACE_CAPABILITY_BIT_PEER_COPY);
  add(true, ANYPLACE_CAPABILITY_BIT_PEER_ACCESS);
  add(true, ANYPLACE_CAPABILITY_BIT_MODULES);
  add(driver().DevicePrimaryCtxRetain && driver().DevicePrimaryCtxRelease, ANYPLACE_CAPABILITY_BIT_NATIVE_HANDLES);
  add(driver().StreamGetDevice || driver().GetStreamDeviceId != nullptr, ANYPLACE_CAPABILITY_BIT_STREAM_FROM_NATIVE);
  // HIP 5 takes the flag, and its header says that it doesn't work.
  add(driver().IpcGetEventHandle && driver_version() >= 60'000'000, ANYPLACE_CAPABILITY_BIT_INTERPROCESS_EVENTS);
  add(virtual_memory_.is_supported(), ANYPLACE_CAPABILITY_BIT_VIRTUAL_MEMORY);
  return all;
}

/// HIP has no attribute for it, and tells the range of the current device.
void Device::priority_range(int& least, int& greatest) const {
  least = 0;
  greatest = 0;
  const ContextScope scope(id_);
  hip::check(scope.result(), "hipSetDevice");
  hip::check(driver().DeviceGetStreamPriorityRange(&least, &greatest), "hipDeviceGetStreamPriorityRange");
}

void Device::properties(anyplace_device_properties& out) const {
  out.compute_units = at_least_one(attribute(hipDeviceAttributeMultiprocessorCount));
  out.capabilities = capabilities();
  out.image_formats = bit(ANYPLACE_IMAGE_HSACO);
  std::size_t total = 0;
  hip::check(driver().DeviceTotalMem(&total, id_), "hipDeviceTotalMem");
  out.total_memory = total;
  out.address_alignment = 256;
  const int shared = attribute(hipDeviceAttributeMaxSharedMemoryPerBlock);
  out.max_shared_bytes = static_cast<std::uint64_t>(shared > 0 ? shared : 0);
  constexpr hipDeviceAttribute_t grid[] = {hipDeviceAttributeMaxGridDimX, hipDeviceAttributeMaxGridDimY,
                                           hipDeviceAttributeMaxGridDimZ};
  constexpr hipDeviceAttribute_t block[] = {hipDeviceAttributeMaxBlockDimX, hipDeviceAttributeMaxBlockDimY,
                                            hipDeviceAttributeMaxBlockDimZ};
  for (int i = 0; i < 3; ++i) {
    out.max_grid[i] = at_least_one(attribute(grid[i]));
    out.max_block[i] = at_least_one(attribute(block[i]));
  }
  out.max_threads_per_block = at_least_one(attribute(hipDeviceAttributeMaxThreadsPerBlock));
  int least = 0;
  int greatest = 0;
  priority_range(least, greatest);
  out.least_priority = least;
  out.greatest_priority = greatest;
  set_text(out.name, name_text(id_));
  set_text(out.vendor, "AMD");
  set_text(out.architecture, architecture());
  set_text(out.driver_version, driver_version() == 0 ? "" : version_text(driver_version()));
  set_text(out.uuid, uuid_text(id_));
  set_text(out.pci, pci_text(id_));
}

std::string Device::target() const {
  const std::string target = target_text(id_);
  return target.empty() ? "of an architecture that HIP doesn't tell" : target;
}

std::string Device::architecture() const {
  const std::string target = target_text(id_);
  return target.substr(0, target.find(':'));  // what follows are the features that are on
}

void Device::memory_info(anyplace_memory_info& out) {
  std::size_t free = 0;
  std::size_t total = 0;
  const DeviceScope scope(*this);
  check(driver().MemGetInfo(&free, &total), "hipMemGetInfo");
  out.free_bytes = free + memory_.idle_in_pool();
  out.total_bytes = total;
}

}  // namespace anyplace::hip
