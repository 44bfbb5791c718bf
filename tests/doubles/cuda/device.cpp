// SPDX-License-Identifier: Apache-2.0
//
// Devices and what they say of themselves. No entry here makes a context.
#include <cstring>
#include <string>

#include "driver.h"

namespace anyplace::doubles::cuda {
namespace {

// By number, as older headers lack the newer names. What a test device of compute capability 9.0 might say.
constexpr Attribute attributes[] = {
    {1, max_threads_per_block},
    {2, max_block[0]},
    {3, max_block[1]},
    {4, max_block[2]},
    {5, max_grid[0]},
    {6, max_grid[1]},
    {7, max_grid[2]},
    {8, max_shared},
    {9, 65536},       // constant memory
    {10, 32},         // warp
    {11, max_pitch},  //
    {12, 65536},      // registers of a block
    {13, 1500000},    // hz
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
    {36, 1500000},    // hz of the memory
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
    {97, max_shared_opt_in},
    {99, 1},      // memory can be registered
    {102, 1},     // virtual memory
    {103, 1},     // memory's handles may be file descriptors
    {106, 32},    // blocks of a multiprocessor
    {111, 1024},  // shared memory that the system keeps
    {119, 0},     // no handles of pools to share
    {122, 1},     // waits on 64 bits
    {123, 1},     // waits for NOR
    {125, 1},     // events between processes
};

/// Of instances it is that of their GPU.
unsigned pci_bus_of(CUdevice device) { return 0x17U + static_cast<unsigned>(config().mig ? 0 : physical_of(device)); }

int value_of(int attribute, CUdevice device, bool& known) {
  known = true;
  switch (attribute) {
    case 33:
      return static_cast<int>(pci_bus_of(device));
    case 75:
      return config().sm / 10;
    case 76:
      return config().sm % 10;
    case 83:
    case 89:  // managed memory, also while kernels run
      return config().managed ? 1 : 0;
    case 115:
      return config().pools ? 1 : 0;
    default:
      break;
  }
  const int* const fixed = find_attribute(attributes, attribute);
  known = fixed != nullptr || (attribute > 0 && attribute < 150);
  return fixed == nullptr ? 0 : *fixed;
}

/// `bytes_of` writes the 16 bytes of a physical device's uuid.
int write_uuid(CUuuid* uuid, CUdevice device, void (*bytes_of)(const Config&, int, unsigned char*)) {
  if (uuid == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const int result = check_device(device);
  if (result != CUDA_SUCCESS) return result;
  unsigned char bytes[16];
  bytes_of(config(), physical_of(device), bytes);
  std::memcpy(uuid->bytes, bytes, sizeof(bytes));
  return CUDA_SUCCESS;
}

}  // namespace

CUDA_DOUBLE_ENTRY(cuDeviceGet)(CUdevice* device, int ordinal) { return get_device(device, ordinal); }

CUDA_DOUBLE_ENTRY(cuDeviceGetCount)(int* count) {
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *count = static_cast<int>(config().visible.size());
  return CUDA_SUCCESS;
}

CUDA_DOUBLE_ENTRY(cuDeviceGetName)(char* name, int bytes, CUdevice device) {
  const std::string instance = config().mig ? " MIG 1g.10gb" : "";
  return write_text(name, bytes, device, "CUDA double of sm_" + std::to_string(config().sm) + instance);
}

CUDA_DOUBLE_ENTRY(cuDeviceTotalMem_v2)(size_t* bytes, CUdevice device) { return total_memory(bytes, device); }

CUDA_DOUBLE_ENTRY(cuDeviceGetAttribute)(int* value, CUdevice_attribute attribute, CUdevice device) {
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const int result = check_device(device);
  if (result != CUDA_SUCCESS) return result;
  bool known = false;
  const int found = value_of(static_cast<int>(attribute), device, known);
  if (!known) return CUDA_ERROR_INVALID_VALUE;
  *value = found;
  return CUDA_SUCCESS;
}

CUDA_DOUBLE_ENTRY(cuDeviceGetUuid)(CUuuid* uuid, CUdevice device) { return write_uuid(uuid, device, gpu_uuid_bytes); }

// What the reference says that it gives of a device in MIG mode: the uuid of the instance.
CUDA_DOUBLE_ENTRY(cuDeviceGetUuid_v2)(CUuuid* uuid, CUdevice device) { return write_uuid(uuid, device, uuid_bytes); }

CUDA_DOUBLE_ENTRY(cuDeviceGetPCIBusId)(char* pci, int bytes, CUdevice device) {
  return write_pci_address(pci, bytes, device, pci_bus_of);
}

CUDA_DOUBLE_ENTRY(cuDeviceCanAccessPeer)(int* can, CUdevice device, CUdevice peer) {
  return can_access_peer(can, device, peer);
}

}  // namespace anyplace::doubles::cuda
