// SPDX-License-Identifier: Apache-2.0
//
// Devices: what they say of themselves, which is current in a thread, what it synchronises and whose memory it may use.
#include <algorithm>
#include <cstring>
#include <string>

#include "../engine/runtime/captures.h"
#include "runtime.h"

namespace anyplace::doubles::hip {
namespace {

// By number, which is the same in all majors. What a test device might say. What isn't here HIP doesn't know, and says
// so: of many attributes that CUDA has.
constexpr Attribute attributes[] = {
    {0, 0},  // ECC
    {2, 2},  // copy engines
    {3, 1},  // host memory can be mapped
    {5, 1700000},
    {6, 0},   // compute mode: default
    {8, 1},   // concurrent kernels
    {10, 1},  // cooperative launches
    {16, 0},  // not integrated
    {19, 8 << 20},
    {23, 9},  // compute capability
    {26, max_block[0]},
    {27, max_block[1]},
    {28, max_block[2]},
    {29, max_grid[0]},
    {30, max_grid[1]},
    {31, max_grid[2]},
    {56, max_threads_per_block},
    {57, 2048},  // threads of a multiprocessor
    {58, max_pitch},
    {59, 4096},  // bits of the memory bus
    {60, 1600000},
    {61, 0},
    {63, 16},  // multiprocessors
    {67, 0},
    {68, 0},
    {69, 0},
    {71, 65536},
    {74, max_shared},
    {81, 256},
    {87, 64},  // threads of a wavefront
    {10002, max_shared},
};

constexpr int managed_memory = 24, memory_pools = 88, virtual_memory = 89, host_register = 90, wait_value = 10013;

/// What the environment has a say in. False: HIP of this version doesn't know the attribute.
bool value_of(int attribute, int& value) {
  const Config& all = config();
  const bool modern = all.major() >= 6;
  switch (attribute) {
    case managed_memory:
      value = all.managed ? 1 : 0;
      return true;
    case memory_pools:
      value = all.pools ? 1 : 0;
      return true;
    case virtual_memory:
      value = all.virtual_memory ? 1 : 0;
      return modern;
    case host_register:
      value = 1;
      return modern;
    case wait_value:
      value = all.wait_value ? 1 : 0;
      return true;
    default:
      break;
  }
  const int* const row = find_attribute(attributes, attribute);
  if (row != nullptr) value = *row;
  return row != nullptr;
}

std::string name_of_device() { return "HIP double of " + config().arch; }

/// A hipDeviceProp_t whose layout is told by where it has the architecture; all of it is written, as HIP does.
int write_properties(void* properties, int device, size_t bytes, size_t total_at, size_t arch_at) {
  if (properties == nullptr) return hipErrorInvalidValue;
  const int result = check_device(device);
  if (result != hipSuccess) return result;
  auto* const out = static_cast<char*>(properties);
  std::memset(out, 0, bytes);
  const std::string name = name_of_device();
  const std::string arch = config().arch + ":sramecc+:xnack-";
  const size_t total = state().memory.device_bytes();
  std::memcpy(out, name.c_str(), name.size());
  std::memcpy(out + total_at, &total, sizeof(total));
  std::memcpy(out + arch_at, arch.c_str(), std::min<size_t>(arch.size(), 255));
  return hipSuccess;
}

}  // namespace

// -- The current one.

HIP_DOUBLE_ENTRY(hipSetDevice)(int device) {
  const int result = check_device(device);
  if (result == hipSuccess) context_stack() = {primary_of(device)};
  return result;
}

HIP_DOUBLE_ENTRY(hipGetDevice)(int* device) {
  if (device == nullptr) return hipErrorInvalidValue;
  *device = context_stack().empty() ? 0 : context_stack().back()->device;
  return hipSuccess;
}

HIP_DOUBLE_ENTRY(hipDeviceSynchronize)() {
  ContextRef context;
  const int result = current_context(context);
  return result == hipSuccess ? wait_for_all(*context) : result;
}

HIP_DOUBLE_ENTRY(hipDeviceGetStreamPriorityRange)(int* least, int* greatest) { return priority_range(least, greatest); }

HIP_DOUBLE_ENTRY(hipDevicePrimaryCtxRetain)(hipCtx_t* context, hipDevice_t device) {
  return retain_primary(context, device);
}

HIP_DOUBLE_ENTRY(hipDevicePrimaryCtxRelease)(hipDevice_t device) {
  ContextRef released;  // which goes on: it is the device's own
  return release_primary(device, released);
}

HIP_DOUBLE_ENTRY(hipThreadExchangeStreamCaptureMode)(int* mode) { return exchange_capture_mode(mode); }

// -- What they say.

HIP_DOUBLE_ENTRY(hipDeviceGet)(hipDevice_t* device, int ordinal) { return get_device(device, ordinal); }

HIP_DOUBLE_ENTRY(hipDeviceGetName)(char* name, int bytes, hipDevice_t device) {
  return write_text(name, bytes, device, name_of_device());
}

HIP_DOUBLE_ENTRY(hipDeviceGetAttribute)(int* value, int attribute, int device) {
  if (value == nullptr) return hipErrorInvalidValue;
  if (const int result = check_device(device); result != hipSuccess) return result;
  int told = 0;
  if (!value_of(attribute, told)) return hipErrorInvalidValue;
  *value = told;
  return hipSuccess;
}

HIP_DOUBLE_ENTRY(hipDeviceTotalMem)(size_t* bytes, hipDevice_t device) { return total_memory(bytes, device); }

HIP_DOUBLE_ENTRY(hipDeviceGetPCIBusId)(char* pci, int bytes, int device) {
  return write_pci_address(pci, bytes, device, [](int at) { return 0x43U + static_cast<unsigned>(physical_of(at)); });
}

HIP_DOUBLE_ENTRY(hipDeviceGetUuid)(hipUUID* uuid, hipDevice_t device) {
  if (uuid == nullptr) return hipErrorInvalidValue;
  const int result = check_device(device);
  if (result == hipSuccess) std::memcpy(uuid->bytes, uuid_digits(physical_of(device)).data(), sizeof(uuid->bytes));
  return result;
}

// The layout of HIP up to 5, which this name kept.
HIP_DOUBLE_ENTRY(hipGetDeviceProperties)(void* properties, int device) {
  return write_properties(properties, device, 792, 256, 396);
}

HIP_DOUBLE_ENTRY(hipGetDevicePropertiesR0600)(void* properties, int device) {
  return write_properties(properties, device, 1472, 288, 1160);
}

// -- Peers.

HIP_DOUBLE_ENTRY(hipDeviceCanAccessPeer)(int* can, int device, int peer) { return can_access_peer(can, device, peer); }

HIP_DOUBLE_ENTRY(hipDeviceEnablePeerAccess)(int peer, unsigned flags) {
  if (flags != 0) return hipErrorInvalidValue;
  ContextRef context;
  int result = check_device(peer);
  if (result == hipSuccess) result = current_context(context);
  if (result != hipSuccess) return result;
  if (context->device == peer || !state().settings.peers) return hipErrorInvalidDevice;
  return add_peer(*context, peer);
}

HIP_DOUBLE_ENTRY(hipDeviceDisablePeerAccess)(int peer) {
  ContextRef context;
  int result = check_device(peer);
  if (result == hipSuccess) result = current_context(context);
  return result == hipSuccess ? remove_peer(*context, peer) : result;
}

}  // namespace anyplace::doubles::hip
