// SPDX-License-Identifier: Apache-2.0
//
// The properties and capabilities of a device. Nothing here makes a context.
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <string>

#include "anyplace/backend/kit/properties.h"
#include "anyplace/backend/kit/sampled.h"
#include "device.h"
#include "graph.h"
#include "ipc.h"
#include "monitor.h"

namespace anyplace::hip {
namespace {

using backend::at_least_one;
using backend::bit;
using backend::set_text;

/// Returns false where the runtime exports the call but doesn't implement it; what it would tell is then unknown.
/// Throws for any other failure.
bool told(hipError_t result, const char* call) {
  if (is_unimplemented(result)) return false;
  Results::check(result, call);
  return true;
}

/// The uuid as rocminfo prints it: "GPU-" and the 16 digits that HIP gives as the uuid's bytes. If the bytes aren't
/// digits, they are printed in hexadecimal.
std::string uuid_text(hipDevice_t device) {
  hipUUID uuid{};
  if (!driver().DeviceGetUuid || !told(driver().DeviceGetUuid(&uuid, device), "hipDeviceGetUuid")) return "";
  const auto is_digit = [](char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; };
  if (std::all_of(std::begin(uuid.bytes), std::end(uuid.bytes), is_digit)) {
    return "GPU-" + std::string(uuid.bytes, sizeof(uuid.bytes));
  }
  const auto is_zero = [](char c) { return c == 0; };
  if (std::all_of(std::begin(uuid.bytes), std::end(uuid.bytes), is_zero)) return "";
  return "GPU-" + backend::hex_text(uuid.bytes);
}

/// hipDeviceProp_t::gcnArchName, such as "gfx90a:sramecc+:xnack-", is the one property without an attribute. HIP 6
/// changed the struct and so has two functions. Each fills one fixed layout, so the function's name tells the offset of
/// the text.
std::string target_text(hipDevice_t device) {
  constexpr std::size_t offset_r0600 = 1160;  // of a struct of 1472 bytes
  constexpr std::size_t offset_r0000 = 396;   // of 792; what hipGetDeviceProperties fills in all majors
  constexpr std::size_t name_bytes = 256;
  // The array is much larger than either struct, in case a later release writes more.
  alignas(std::max_align_t) char properties[8192] = "";
  const auto text_at = [&](std::size_t offset) {
    return std::string(properties + offset, strnlen(properties + offset, name_bytes));
  };
  if (driver().GetDevicePropertiesR0600 &&
      told(driver().GetDevicePropertiesR0600(properties, device), "hipGetDevicePropertiesR0600")) {
    return text_at(offset_r0600);
  }
  if (driver().GetDeviceProperties &&
      told(driver().GetDeviceProperties(properties, device), "hipGetDeviceProperties")) {
    return text_at(offset_r0000);
  }
  return "";
}

std::string name_text(hipDevice_t device) {
  char name[128] = "";
  return told(driver().DeviceGetName(name, sizeof(name), device), "hipDeviceGetName") ? name : "";
}

std::string pci_text(hipDevice_t device) {
  char id[32] = "";
  if (!told(driver().DeviceGetPCIBusId(id, sizeof(id), device), "hipDeviceGetPCIBusId")) return "";
  return backend::pci_text(id);
}

// The following capabilities are tried, because a runtime may export a call that it doesn't implement. The trials leave
// nothing behind and make no context.

/// Whether an event can be made that other processes can open.
bool can_share_events(hipDevice_t device) {
  // HIP 5 takes the flag, but its header says that it doesn't work.
  if (!Ipc::has_events() || driver_version() < 60'000'000) return false;
  const ContextScope scope(device);
  Results::check(scope.result(), "hipSetDevice");
  hipEvent_t event = nullptr;
  const hipError_t made = driver().EventCreateWithFlags(&event, hipEventInterprocess | hipEventDisableTiming);
  // A runtime without such events may also report the flag, or the event, as invalid.
  if (made == hipErrorInvalidValue || !told(made, "hipEventCreateWithFlags")) return false;
  hipIpcEventHandle_t handle{};
  const hipError_t shared = driver().IpcGetEventHandle(&handle, event);
  Results::check(driver().EventDestroy(event), "hipEventDestroy");
  if (shared == hipErrorInvalidValue || shared == hipErrorInvalidHandle) return false;
  return told(shared, "hipIpcGetEventHandle");
}

/// Whether HIP has a handle for the device's context.
bool has_native_context(hipDevice_t device) {
  if (!driver().DevicePrimaryCtxRetain || !driver().DevicePrimaryCtxRelease) return false;
  hipCtx_t context = nullptr;
  if (!told(driver().DevicePrimaryCtxRetain(&context, device), "hipDevicePrimaryCtxRetain")) return false;
  return told(driver().DevicePrimaryCtxRelease(device), "hipDevicePrimaryCtxRelease") && context != nullptr;
}

}  // namespace

std::uint64_t Device::capabilities() {
  std::uint64_t all = backend::context_backend_capabilities;
  const auto add = [&](bool there, unsigned number) { all |= there ? bit(number) : 0; };
  int least = 0;
  int greatest = 0;
  priority_range(least, greatest);
  add(true, ANYPLACE_CAPABILITY_BIT_TIMED_EVENTS);
  add(least != greatest, ANYPLACE_CAPABILITY_BIT_PRIORITIES);
  add(has_host_functions(), ANYPLACE_CAPABILITY_BIT_HOST_FUNCTIONS);
  add(has_gates(*this), ANYPLACE_CAPABILITY_BIT_GATES);
  add(memory().has_managed(), ANYPLACE_CAPABILITY_BIT_MANAGED_MEMORY);
  add(attribute(attribute_host_register, 1) != 0, ANYPLACE_CAPABILITY_BIT_HOST_REGISTER);
  add(memory().try_pools(), ANYPLACE_CAPABILITY_BIT_STREAM_ORDERED_MEMORY);
  add(has_native_context(id()), ANYPLACE_CAPABILITY_BIT_NATIVE_HANDLES);
  add(driver().StreamGetDevice || driver().GetStreamDeviceId != nullptr, ANYPLACE_CAPABILITY_BIT_STREAM_FROM_NATIVE);
  add(true, ANYPLACE_CAPABILITY_BIT_EVENT_FROM_NATIVE);
  add(can_share_events(id()), ANYPLACE_CAPABILITY_BIT_INTERPROCESS_EVENTS);
  add(Ipc::has_memory(), ANYPLACE_CAPABILITY_BIT_INTERPROCESS_MEMORY);
  add(virtual_memory().is_supported(), ANYPLACE_CAPABILITY_BIT_VIRTUAL_MEMORY);
  add(GraphCalls::is_supported(), ANYPLACE_CAPABILITY_BIT_GRAPHS);
  add(true, ANYPLACE_CAPABILITY_BIT_MONITORING);
  add(lists_processes(), ANYPLACE_CAPABILITY_BIT_LIST_PROCESSES);
  return all;
}

/// HIP has no attribute for the range, and tells it for the current device.
void Device::priority_range(int& least, int& greatest) const {
  least = 0;
  greatest = 0;
  const ContextScope scope(id());
  Results::check(scope.result(), "hipSetDevice");
  if (told(driver().DeviceGetStreamPriorityRange(&least, &greatest), "hipDeviceGetStreamPriorityRange")) return;
  least = 0;
  greatest = 0;
}

void Device::add_figures(anyplace_device_properties& out) const {
  const auto figure = [this](int which) { return backend::not_negative(attribute(which)); };
  out.clock_hz = figure(hipDeviceAttributeClockRate) * 1000;
  out.memory_clock_hz = figure(hipDeviceAttributeMemoryClockRate) * 1000;
  out.l2_cache_bytes = figure(hipDeviceAttributeL2CacheSize);
  out.max_allocation = out.total_memory;
  out.memory_bus_bits = static_cast<std::uint32_t>(figure(hipDeviceAttributeMemoryBusWidth));
  out.multiprocessors = out.compute_units;
  out.sub_group_sizes = static_cast<std::uint32_t>(figure(hipDeviceAttributeWarpSize));
  // By ROCm's "Hardware features" every supported GPU has these, and HIP's runtime gives every allocation an address of
  // its own in the process.
  out.features = out.features_known = ANYPLACE_FEATURE_FLOAT16 | ANYPLACE_FEATURE_FLOAT64 |
                                      ANYPLACE_FEATURE_INT64_ATOMICS | ANYPLACE_FEATURE_UNIFIED_ADDRESSING;
}

void Device::properties(anyplace_device_properties& out) {
  out.compute_units = at_least_one(attribute(hipDeviceAttributeMultiprocessorCount));
  out.capabilities = capabilities();
  out.image_formats = bit(ANYPLACE_IMAGE_HSACO);
  std::size_t total = 0;
  Results::check(driver().DeviceTotalMem(&total, id()), "hipDeviceTotalMem");
  out.total_memory = total;
  out.address_alignment = Memory::alignment;
  const int shared = attribute(hipDeviceAttributeMaxSharedMemoryPerBlock);
  out.max_shared_bytes = backend::not_negative(shared);
  constexpr hipDeviceAttribute_t grid[] = {hipDeviceAttributeMaxGridDimX, hipDeviceAttributeMaxGridDimY,
                                           hipDeviceAttributeMaxGridDimZ};
  constexpr hipDeviceAttribute_t block[] = {hipDeviceAttributeMaxBlockDimX, hipDeviceAttributeMaxBlockDimY,
                                            hipDeviceAttributeMaxBlockDimZ};
  backend::set_launch_limits(out, grid, block, [this](int each) { return attribute(each); });
  out.max_threads_per_block = at_least_one(attribute(hipDeviceAttributeMaxThreadsPerBlock));
  priority_range(out.least_priority, out.greatest_priority);
  add_figures(out);
  set_text(out.name, name_text(id()));
  set_text(out.vendor, "AMD");
  set_text(out.architecture, architecture());
  set_text(out.driver_version, driver_version() == 0 ? "" : version_text(driver_version()));
  set_text(out.uuid, uuid_text(id()));
  set_text(out.pci, pci_text(id()));
}

std::string Device::target() const {
  const std::string target = target_text(id());
  return target.empty() ? "of an architecture that HIP doesn't tell" : target;
}

std::string Device::architecture() const {
  const std::string target = target_text(id());
  return target.substr(0, target.find(':'));  // the features that are on follow the colon
}

hipCtx_t Device::native_context() {
  context();
  hipCtx_t handle = nullptr;
  check(vendor_context().native(handle), "hipDevicePrimaryCtxRetain");
  return handle;
}

void Device::memory_info(anyplace_memory_info& out) {
  std::size_t free = 0;
  std::size_t total = 0;
  if (lost()) context();
  const ContextScope scope(id());
  check(scope.result(), "hipSetDevice");
  const hipError_t result = driver().MemGetInfo(&free, &total);
  if (is_unimplemented(result)) {
    check(driver().DeviceTotalMem(&total, id()), "hipDeviceTotalMem");
    out.free_bytes = ANYPLACE_UNKNOWN;
    out.total_bytes = total;
    return;
  }
  check(result, "hipMemGetInfo");
  out.free_bytes = free + memory().idle_in_pool();
  out.total_bytes = total;
}

void Device::sample(anyplace_device_sample& out) {
  if (lost()) context();
  sample_device(pci_text(id()), out);
  if ((out.known & bit(ANYPLACE_SAMPLE_BIT_MEMORY_USED_BYTES)) != 0) return;
  const backend::Sampled to(out);
  // The runtime makes a context to tell free memory, so it is asked only if it has one.
  if (Handle made{}; vendor_context().read(made)) {
    anyplace_memory_info memory{};
    memory_info(memory);
    to.memory_total_bytes(memory.total_bytes);
    if (memory.free_bytes != ANYPLACE_UNKNOWN) {
      to.memory_used_bytes(memory.total_bytes - std::min(memory.total_bytes, memory.free_bytes));
    }
    return;
  }
  std::size_t total = 0;
  check(driver().DeviceTotalMem(&total, id()), "hipDeviceTotalMem");
  to.memory_total_bytes(total);
}

std::vector<anyplace_process> Device::processes() {
  if (lost()) context();
  Handle made{};
  const bool uses = vendor_context().read(made);
  std::vector<anyplace_process> all = processes_of(pci_text(id()), uses);
  // Memory that the backend's pool keeps for later counts as free for this process, as in memory_info().
  const std::uint64_t idle = uses ? memory().idle_in_pool() : 0;
  for (anyplace_process& process : all) {
    if (process.id != static_cast<std::uint64_t>(getpid()) || process.memory_bytes == ANYPLACE_UNKNOWN) continue;
    process.memory_bytes -= std::min(process.memory_bytes, idle);
  }
  return all;
}

}  // namespace anyplace::hip
