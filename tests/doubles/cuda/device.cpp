// SPDX-License-Identifier: Apache-2.0
//
// Devices and what they say of themselves. No entry here makes a context.
#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string>

#include "device_limits.h"
#include "state.h"

namespace anyplace::doubles::cuda {
namespace {

struct Attribute {
  int number;
  int value;
};
// By number, as older headers lack the newer names. What a test device of compute capability 9.0 might say.
constexpr Attribute kAttributes[] = {
    {1, kMaxThreadsPerBlock},
    {2, kMaxBlock[0]},
    {3, kMaxBlock[1]},
    {4, kMaxBlock[2]},
    {5, kMaxGrid[0]},
    {6, kMaxGrid[1]},
    {7, kMaxGrid[2]},
    {8, kMaxShared},
    {9, 65536},       // constant memory
    {10, 32},         // warp
    {11, kMaxPitch},  //
    {12, 65536},      // registers of a block
    {13, 1500000},    // kHz
    {14, 512},        // alignment of textures
    {15, 1},          // copies overlap kernels
    {16, 16},         // multiprocessors
    {17, 0},          // no limit of run time
    {18, 0},          // not integrated
    {19, 1},          // host memory can be mapped
    {20, 0},          // compute mode: default
    {31, 1},          // concurrent kernels
    {32, 0},          // ECC
    {34, 0},          // PCI device
    {35, 0},          // TCC
    {36, 1500000},    // kHz of the memory
    {37, 1024},       // bits of the memory bus
    {38, 8 << 20},    // L2 cache
    {39, 2048},       // threads of a multiprocessor
    {40, 2},          // copy engines
    {41, 1},          // unified addressing
    {50, 0},          // PCI domain
    {51, 32},         // alignment of a texture's pitch
    {78, 1},          // priorities
    {79, 1},          // L1 caches global memory
    {80, 1},          // L1 caches local memory
    {81, 233472},     // shared memory of a multiprocessor
    {82, 65536},      // registers of a multiprocessor
    {84, 0},          // not of a board with several
    {86, 0},          // atomics on host memory
    {88, 0},          // pageable memory
    {90, 1},          // preemption
    {91, 1},          // registered memory has one address
    {92, 0},          // the first form of waits on memory
    {93, 0},          // likewise
    {94, 0},          // likewise
    {95, 1},          // cooperative launches
    {97, kMaxSharedOptIn},
    {99, 1},      // memory can be registered
    {102, 1},     // virtual memory
    {103, 0},     // no handles to share
    {106, 32},    // blocks of a multiprocessor
    {111, 1024},  // shared memory that the system keeps
    {119, 0},     // no handles of pools to share
    {122, 1},     // waits on 64 bits
    {123, 1},     // waits for NOR
    {125, 0},     // no events between processes
};

/// Of instances it is that of their GPU.
int pci_bus_of(CUdevice device) {
  const Config& config = state().config;
  return 0x17 + (config.mig ? 0 : config.visible[static_cast<std::size_t>(device)]);
}

int value_of(int attribute, CUdevice device, bool& known) {
  const State& all = state();
  known = true;
  switch (attribute) {
    case 33:
      return pci_bus_of(device);
    case 75:
      return all.config.sm / 10;
    case 76:
      return all.config.sm % 10;
    case 83:
    case 89:  // managed memory, also while kernels run
      return all.config.managed ? 1 : 0;
    case 115:
      return all.config.pools ? 1 : 0;
    default:
      break;
  }
  for (const Attribute& entry : kAttributes) {
    if (entry.number == attribute) return entry.value;
  }
  known = attribute > 0 && attribute < 150;
  return 0;
}

CUresult check_devices(CUdevice first, CUdevice second) {
  const CUresult result = check_device(first);
  return result == CUDA_SUCCESS ? check_device(second) : result;
}

CUresult write_text(char* out, int bytes, const std::string& text) {
  if (out == nullptr || bytes <= 0) return CUDA_ERROR_INVALID_VALUE;
  std::snprintf(out, static_cast<std::size_t>(bytes), "%s", text.c_str());
  return CUDA_SUCCESS;
}

std::string pci_of(CUdevice device) {
  char text[16];
  std::snprintf(text, sizeof(text), "0000:%02X:00.0", static_cast<unsigned>(pci_bus_of(device)));
  return text;
}

}  // namespace

CUDA_DOUBLE_ENTRY(cuDeviceGet)(CUdevice* device, int ordinal) {
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUresult result = check_device(ordinal);
  if (result == CUDA_SUCCESS) *device = ordinal;
  return result;
}

CUDA_DOUBLE_ENTRY(cuDeviceGetCount)(int* count) {
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *count = static_cast<int>(state().config.visible.size());
  return CUDA_SUCCESS;
}

CUDA_DOUBLE_ENTRY(cuDeviceGetName)(char* name, int bytes, CUdevice device) {
  const CUresult result = check_device(device);
  if (result != CUDA_SUCCESS) return result;
  const std::string instance = state().config.mig ? " MIG 1g.10gb" : "";
  return write_text(name, bytes, "CUDA double of sm_" + std::to_string(state().config.sm) + instance);
}

CUDA_DOUBLE_ENTRY(cuDeviceTotalMem_v2)(size_t* bytes, CUdevice device) {
  if (bytes == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUresult result = check_device(device);
  if (result == CUDA_SUCCESS) *bytes = state().memory.device_bytes();
  return result;
}

CUDA_DOUBLE_ENTRY(cuDeviceGetAttribute)(int* value, CUdevice_attribute attribute, CUdevice device) {
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUresult result = check_device(device);
  if (result != CUDA_SUCCESS) return result;
  bool known = false;
  const int found = value_of(static_cast<int>(attribute), device, known);
  if (!known) return CUDA_ERROR_INVALID_VALUE;
  *value = found;
  return CUDA_SUCCESS;
}

CUDA_DOUBLE_ENTRY(cuDeviceGetUuid)(CUuuid* uuid, CUdevice device) {
  if (uuid == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUresult result = check_device(device);
  if (result != CUDA_SUCCESS) return result;
  unsigned char bytes[16];
  gpu_uuid_bytes(state().config, state().config.visible[static_cast<std::size_t>(device)], bytes);
  std::memcpy(uuid->bytes, bytes, sizeof(bytes));
  return CUDA_SUCCESS;
}

// What the reference says that it gives of a device in MIG mode: the uuid of the instance.
CUDA_DOUBLE_ENTRY(cuDeviceGetUuid_v2)(CUuuid* uuid, CUdevice device) {
  if (uuid == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUresult result = check_device(device);
  if (result != CUDA_SUCCESS) return result;
  unsigned char bytes[16];
  uuid_bytes(state().config, state().config.visible[static_cast<std::size_t>(device)], bytes);
  std::memcpy(uuid->bytes, bytes, sizeof(bytes));
  return CUDA_SUCCESS;
}

CUDA_DOUBLE_ENTRY(cuDeviceGetPCIBusId)(char* pci, int bytes, CUdevice device) {
  const CUresult result = check_device(device);
  if (result != CUDA_SUCCESS) return result;
  // "Large enough for 13 characters with the NUL", says the reference.
  return bytes < 13 ? CUDA_ERROR_INVALID_VALUE : write_text(pci, bytes, pci_of(device));
}

CUDA_DOUBLE_ENTRY(cuDeviceGetByPCIBusId)(CUdevice* device, const char* pci) {
  if (is_null(device, pci)) return CUDA_ERROR_INVALID_VALUE;
  for (int i = 0; i < static_cast<int>(state().config.visible.size()); ++i) {
    const std::string known = pci_of(i);
    if (known != pci && known.substr(5) != pci && known.substr(0, 10) != pci) continue;
    *device = i;
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_INVALID_DEVICE;
}

CUDA_DOUBLE_ENTRY(cuDeviceCanAccessPeer)(int* can_access, CUdevice device, CUdevice peer) {
  if (can_access == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUresult result = check_devices(device, peer);
  if (result == CUDA_SUCCESS) *can_access = device != peer && state().config.peers ? 1 : 0;
  return result;
}

CUDA_DOUBLE_ENTRY(cuDeviceGetP2PAttribute)
(int* value, CUdevice_P2PAttribute attribute, CUdevice source, CUdevice destination) {
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUresult result = check_devices(source, destination);
  if (result != CUDA_SUCCESS || source == destination) return CUDA_ERROR_INVALID_DEVICE;
  const bool access = attribute == CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED;
  if (static_cast<int>(attribute) < 1 || static_cast<int>(attribute) > 5) return CUDA_ERROR_INVALID_VALUE;
  *value = access && state().config.peers ? 1 : 0;
  return CUDA_SUCCESS;
}

}  // namespace anyplace::doubles::cuda
