// SPDX-License-Identifier: Apache-2.0
//
// Devices: what they say of themselves, which is current in a thread, what it synchronises and whose memory it may use.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>

#include "device_limits.h"
#include "state.h"

namespace anyplace::doubles::hip {
namespace {

struct Attribute {
  int number;
  int value;
};
// By number, which is the same in all majors. What a test device might say. What isn't here HIP doesn't know, and says
// so: of many attributes that CUDA has.
constexpr Attribute kAttributes[] = {
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
    {26, kMaxBlock[0]},
    {27, kMaxBlock[1]},
    {28, kMaxBlock[2]},
    {29, kMaxGrid[0]},
    {30, kMaxGrid[1]},
    {31, kMaxGrid[2]},
    {56, kMaxThreadsPerBlock},
    {57, 2048},  // threads of a multiprocessor
    {58, kMaxPitch},
    {59, 4096},  // bits of the memory bus
    {60, 1600000},
    {61, 0},
    {63, 16},  // multiprocessors
    {67, 0},
    {68, 0},
    {69, 0},
    {71, 65536},
    {74, kMaxShared},
    {81, 256},
    {87, 64},  // threads of a wavefront
    {10002, kMaxShared},
};

constexpr int kManagedMemory = 24, kMemoryPools = 88, kVirtualMemory = 89, kHostRegister = 90, kWaitValue = 10013;

/// Writes the value. False: HIP of this version doesn't know the attribute.
bool value_of(int attribute, int& value) {
  const Config& config = state().config;
  const bool old = config.major() < 6;
  switch (attribute) {
    case kManagedMemory:
      value = config.managed ? 1 : 0;
      return true;
    case kMemoryPools:
      value = config.pools ? 1 : 0;
      return true;
    case kVirtualMemory:
      value = config.virtual_memory ? 1 : 0;
      return !old;
    case kHostRegister:
      value = 1;
      return !old;
    case kWaitValue:
      value = config.wait_value ? 1 : 0;
      return true;
    default:
      break;
  }
  for (const Attribute& entry : kAttributes) {
    if (entry.number != attribute) continue;
    value = entry.value;
    return true;
  }
  return false;
}

hipError_t check_devices(int first, int second) {
  const hipError_t result = check_device(first);
  return result == hipSuccess ? check_device(second) : result;
}

hipError_t write_text(char* out, int bytes, const std::string& text) {
  if (out == nullptr || bytes <= 0) return hipErrorInvalidValue;
  std::snprintf(out, static_cast<std::size_t>(bytes), "%s", text.c_str());
  return hipSuccess;
}

int physical_of(int device) { return state().config.visible[static_cast<std::size_t>(device)]; }

std::string name_of_device() { return "HIP double of " + state().config.arch; }

/// A hipDeviceProp_t whose layout is told by where it has the architecture; all of it is written, as HIP does.
hipError_t write_properties(void* properties, int device, size_t bytes, size_t total_at, size_t arch_at) {
  if (properties == nullptr) return hipErrorInvalidValue;
  const hipError_t result = check_device(device);
  if (result != hipSuccess) return result;
  auto* const out = static_cast<char*>(properties);
  std::memset(out, 0, bytes);
  const std::string name = name_of_device();
  const std::string arch = state().config.arch + ":sramecc+:xnack-";
  const size_t total = state().memory.device_bytes();
  std::memcpy(out, name.c_str(), name.size());
  std::memcpy(out + total_at, &total, sizeof(total));
  std::memcpy(out + arch_at, arch.c_str(), std::min<size_t>(arch.size(), 255));
  return hipSuccess;
}

}  // namespace

// -- The current one.

HIP_DOUBLE_ENTRY(hipSetDevice)(int device) {
  const hipError_t result = check_device(device);
  if (result == hipSuccess) current_index() = device;
  return result;
}

HIP_DOUBLE_ENTRY(hipGetDevice)(int* device) {
  if (device == nullptr) return hipErrorInvalidValue;
  *device = current_index();
  return hipSuccess;
}

HIP_DOUBLE_ENTRY(hipDeviceSynchronize)() {
  DeviceRef device;
  const hipError_t result = current_device(device);
  if (result != hipSuccess) return result;
  std::vector<CompletionRef> completions;
  {
    const Locked lock(state().mutex);
    completions = pending(lock, *device);
  }
  return wait_for(completions, *device);
}

HIP_DOUBLE_ENTRY(hipDeviceGetStreamPriorityRange)(int* least, int* greatest) {
  if (least != nullptr) *least = kLeastPriority;
  if (greatest != nullptr) *greatest = kGreatestPriority;
  return hipSuccess;
}

HIP_DOUBLE_ENTRY(hipDevicePrimaryCtxRetain)(hipCtx_t* context, hipDevice_t device) {
  if (context == nullptr) return hipErrorInvalidValue;
  const hipError_t result = check_device(device);
  if (result != hipSuccess) return result;
  const Locked lock(state().mutex);
  Device& found = *state().devices[static_cast<std::size_t>(device)];
  ++found.context_retained;
  *context = static_cast<hipCtx_t>(
      to_pointer(uint64_t{0x0a3d} << 48U | found.id << 8U | static_cast<uint64_t>(HandleKind::kDevice)));
  return hipSuccess;
}

HIP_DOUBLE_ENTRY(hipDevicePrimaryCtxRelease)(hipDevice_t device) {
  const hipError_t result = check_device(device);
  if (result != hipSuccess) return result;
  const Locked lock(state().mutex);
  Device& found = *state().devices[static_cast<std::size_t>(device)];
  if (found.context_retained == 0) {
    misuses().add("a primary context was released more often than it was retained");
    return hipErrorInvalidContext;
  }
  --found.context_retained;
  return hipSuccess;
}

HIP_DOUBLE_ENTRY(hipThreadExchangeStreamCaptureMode)(int* mode) {
  if (mode == nullptr || *mode < 0 || *mode > 2) return hipErrorInvalidValue;
  thread_local int current = 0;
  std::swap(*mode, current);
  return hipSuccess;
}

// -- What they say.

HIP_DOUBLE_ENTRY(hipDeviceGet)(hipDevice_t* device, int ordinal) {
  if (device == nullptr) return hipErrorInvalidValue;
  const hipError_t result = check_device(ordinal);
  if (result == hipSuccess) *device = ordinal;
  return result;
}

HIP_DOUBLE_ENTRY(hipDeviceGetName)(char* name, int bytes, hipDevice_t device) {
  const hipError_t result = check_device(device);
  return result == hipSuccess ? write_text(name, bytes, name_of_device()) : result;
}

HIP_DOUBLE_ENTRY(hipDeviceGetAttribute)(int* value, int attribute, int device) {
  if (value == nullptr) return hipErrorInvalidValue;
  const hipError_t result = check_device(device);
  if (result != hipSuccess) return result;
  int found = 0;
  if (!value_of(attribute, found)) return hipErrorInvalidValue;
  *value = found;
  return hipSuccess;
}

HIP_DOUBLE_ENTRY(hipDeviceTotalMem)(size_t* bytes, hipDevice_t device) {
  if (bytes == nullptr) return hipErrorInvalidValue;
  const hipError_t result = check_device(device);
  if (result == hipSuccess) *bytes = state().memory.device_bytes();
  return result;
}

HIP_DOUBLE_ENTRY(hipDeviceGetPCIBusId)(char* pci, int bytes, int device) {
  const hipError_t result = check_device(device);
  if (result != hipSuccess) return result;
  char text[16];
  std::snprintf(text, sizeof(text), "0000:%02X:00.0", 0x43U + static_cast<unsigned>(physical_of(device)));
  return bytes < 13 ? hipErrorInvalidValue : write_text(pci, bytes, text);
}

HIP_DOUBLE_ENTRY(hipDeviceGetUuid)(hipUUID* uuid, hipDevice_t device) {
  if (uuid == nullptr) return hipErrorInvalidValue;
  const hipError_t result = check_device(device);
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

HIP_DOUBLE_ENTRY(hipDeviceCanAccessPeer)(int* can, int device, int peer) {
  if (can == nullptr) return hipErrorInvalidValue;
  const hipError_t result = check_devices(device, peer);
  if (result == hipSuccess) *can = device != peer && state().config.peers ? 1 : 0;
  return result;
}

HIP_DOUBLE_ENTRY(hipDeviceEnablePeerAccess)(int peer, unsigned flags) {
  if (flags != 0) return hipErrorInvalidValue;
  hipError_t result = check_device(peer);
  if (result != hipSuccess) return result;
  DeviceRef device;
  result = current_device(device);
  if (result != hipSuccess) return result;
  if (device->index == peer || !state().config.peers) return hipErrorInvalidDevice;
  const Locked lock(state().mutex);
  return device->peers.insert(peer).second ? hipSuccess : hipErrorPeerAccessAlreadyEnabled;
}

HIP_DOUBLE_ENTRY(hipDeviceDisablePeerAccess)(int peer) {
  hipError_t result = check_device(peer);
  if (result != hipSuccess) return result;
  DeviceRef device;
  result = current_device(device);
  if (result != hipSuccess) return result;
  const Locked lock(state().mutex);
  return device->peers.erase(peer) != 0 ? hipSuccess : hipErrorPeerAccessNotEnabled;
}

}  // namespace anyplace::doubles::hip
