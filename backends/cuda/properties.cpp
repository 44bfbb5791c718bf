// SPDX-License-Identifier: Apache-2.0
//
// The properties and capabilities of a device. Nothing here makes a context.
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstring>
#include <string>

#include "anyplace/backend/kit/properties.h"
#include "anyplace/backend/kit/sampled.h"
#include "device.h"
#include "graph.h"
#include "ipc.h"

namespace anyplace::cuda {
namespace {

using backend::at_least_one;
using backend::bit;
using backend::set_text;

/// The oldest cuda.h that this is built with lacks the attribute.
constexpr int attribute_ipc_events = 125;

/// Returns false where the driver has the call but not what it asks for, which is then unknown. Throws for any other
/// failure.
bool told(CUresult result, const char* call) {
  if (result == CUDA_ERROR_NOT_SUPPORTED) return false;
  Results::check(result, call);
  return true;
}

std::string name_text(CUdevice device) {
  char name[128] = "";
  return told(driver().DeviceGetName(name, sizeof(name), device), "cuDeviceGetName") ? name : "";
}

/// The uuid as nvidia-smi prints it: "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6", and "MIG-..." for an instance of a
/// partitioned GPU. The second form of the call gives the instance's uuid and the first that of its GPU, so they differ
/// for an instance; its name shows it too ("NVIDIA A100-SXM4-40GB MIG 1g.5gb").
std::string uuid_text(CUdevice device) {
  CUuuid gpu{};
  CUuuid uuid{};
  // A driver without the second form may give the first one for it.
  const bool has_own = driver().DeviceGetUuid_v2 != nullptr && driver().DeviceGetUuid_v2 != driver().DeviceGetUuid &&
                       driver().DeviceGetUuid_v2(&uuid, device) == CUDA_SUCCESS;
  const bool gpu_is_known = told(driver().DeviceGetUuid(&gpu, device), "cuDeviceGetUuid");
  if (!has_own && !gpu_is_known) return "";
  if (!has_own) uuid = gpu;
  const bool differs = gpu_is_known && std::memcmp(gpu.bytes, uuid.bytes, sizeof(gpu.bytes)) != 0;
  const bool is_instance = has_own && (differs || name_text(device).find(" MIG ") != std::string::npos);
  std::string text = backend::hex_text(uuid.bytes);
  for (const std::size_t dash : {8, 13, 18, 23}) text.insert(dash, 1, '-');
  return (is_instance ? "MIG-" : "GPU-") + text;
}

std::string pci_text(CUdevice device) {
  char id[32] = "";
  if (!told(driver().DeviceGetPCIBusId(id, sizeof(id), device), "cuDeviceGetPCIBusId")) return "";
  return backend::pci_text(id);
}

}  // namespace

std::uint64_t Device::capabilities() const {
  std::uint64_t all = backend::context_backend_capabilities;
  const auto add = [&](bool there, unsigned number) { all |= there ? bit(number) : 0; };
  add(driver().EventElapsedTime != nullptr || driver().EventElapsedTime_v2 != nullptr,
      ANYPLACE_CAPABILITY_BIT_TIMED_EVENTS);
  add(attribute(CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED) != 0, ANYPLACE_CAPABILITY_BIT_PRIORITIES);
  add(true, ANYPLACE_CAPABILITY_BIT_HOST_FUNCTIONS);
  add(driver().StreamWaitValue32 != nullptr, ANYPLACE_CAPABILITY_BIT_GATES);
  add(memory().has_managed(), ANYPLACE_CAPABILITY_BIT_MANAGED_MEMORY);
  add(attribute(CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED, 1) != 0, ANYPLACE_CAPABILITY_BIT_HOST_REGISTER);
  add(memory().has_pools(), ANYPLACE_CAPABILITY_BIT_STREAM_ORDERED_MEMORY);
  add(true, ANYPLACE_CAPABILITY_BIT_NATIVE_HANDLES);
  add(true, ANYPLACE_CAPABILITY_BIT_STREAM_FROM_NATIVE);
  add(true, ANYPLACE_CAPABILITY_BIT_EVENT_FROM_NATIVE);
  add(Ipc::has_events() && attribute(attribute_ipc_events, 1) != 0, ANYPLACE_CAPABILITY_BIT_INTERPROCESS_EVENTS);
  add(Ipc::has_memory() && attribute(CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING) != 0,
      ANYPLACE_CAPABILITY_BIT_INTERPROCESS_MEMORY);
  add(virtual_memory().is_supported(), ANYPLACE_CAPABILITY_BIT_VIRTUAL_MEMORY);
  add(GraphCalls::is_supported(), ANYPLACE_CAPABILITY_BIT_GRAPHS);
  add(true, ANYPLACE_CAPABILITY_BIT_MONITORING);
  add(Monitor::lists_processes(), ANYPLACE_CAPABILITY_BIT_LIST_PROCESSES);
  return all;
}

/// CUDA tells the range only for a context. If there is none yet, it is the range of devices of this generation: one
/// that is too wide does no harm, because CUDA takes the nearest priority it has.
void Device::priority_range(int& least, int& greatest) const {
  least = 0;
  greatest = 0;
  if (attribute(CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED) == 0) return;
  if (const CUcontext made = handle()) {
    const ContextScope scope(made);
    if (scope.result() == CUDA_SUCCESS && driver().CtxGetStreamPriorityRange(&least, &greatest) == CUDA_SUCCESS) return;
  }
  greatest = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) >= 7 ? -5 : -1;
}

void Device::add_figures(anyplace_device_properties& out) const {
  const auto figure = [this](CUdevice_attribute which) { return backend::not_negative(attribute(which)); };
  out.clock_hz = figure(CU_DEVICE_ATTRIBUTE_CLOCK_RATE) * 1000;
  out.memory_clock_hz = figure(CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE) * 1000;
  out.l2_cache_bytes = figure(CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE);
  out.max_allocation = out.total_memory;
  out.memory_bus_bits = static_cast<std::uint32_t>(figure(CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH));
  out.multiprocessors = out.compute_units;
  out.sub_group_sizes = static_cast<std::uint32_t>(figure(CU_DEVICE_ATTRIBUTE_WARP_SIZE));
  // By the CUDA C++ Programming Guide, "Compute Capabilities", 16-bit arithmetic exists from 5.3 on and the rest on
  // every device.
  const int capability = attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) * 10 +
                         attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
  out.features_known = ANYPLACE_FEATURE_FLOAT16 | ANYPLACE_FEATURE_FLOAT64 | ANYPLACE_FEATURE_INT64_ATOMICS |
                       ANYPLACE_FEATURE_UNIFIED_ADDRESSING;
  out.features = ANYPLACE_FEATURE_FLOAT64 | ANYPLACE_FEATURE_INT64_ATOMICS;
  if (capability >= 53) out.features |= ANYPLACE_FEATURE_FLOAT16;
  if (attribute(CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING) != 0) out.features |= ANYPLACE_FEATURE_UNIFIED_ADDRESSING;
}

void Device::properties(anyplace_device_properties& out) const {
  out.compute_units = at_least_one(attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT));
  out.capabilities = capabilities();
  out.image_formats = bit(ANYPLACE_IMAGE_PTX) | bit(ANYPLACE_IMAGE_CUBIN) | bit(ANYPLACE_IMAGE_FATBIN);
  std::size_t total = 0;
  Results::check(driver().DeviceTotalMem(&total, id()), "cuDeviceTotalMem");
  out.total_memory = total;
  out.address_alignment = 256;
  const int shared = attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
                               attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK));
  out.max_shared_bytes = backend::not_negative(shared);
  constexpr CUdevice_attribute grid[] = {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y,
                                         CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z};
  constexpr CUdevice_attribute block[] = {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y,
                                          CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z};
  backend::set_launch_limits(out, grid, block, [this](int each) { return attribute(each); });
  out.max_threads_per_block = at_least_one(attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK));
  priority_range(out.least_priority, out.greatest_priority);
  add_figures(out);
  set_text(out.name, name_text(id()));
  set_text(out.vendor, "NVIDIA");
  set_text(out.architecture, architecture());
  set_text(out.driver_version, version_text(driver_version()));
  set_text(out.uuid, uuid_text(id()));
  set_text(out.pci, pci_text(id()));
}

std::string Device::architecture() const {
  return "sm_" + std::to_string(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)) +
         std::to_string(attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
}

void Device::memory_info(anyplace_memory_info& out) {
  std::size_t free = 0;
  std::size_t total = 0;
  out.free_bytes = ANYPLACE_UNKNOWN;
  // CUDA tells free memory only for a context, and this call must not make one; but a context that another library made
  // can be used.
  if (vendor_context().is_active()) {
    const DeviceScope scope(*this);
    check(driver().MemGetInfo(&free, &total), "cuMemGetInfo");
    out.free_bytes = free + memory().idle_in_pool();
    out.total_bytes = total;
    return;
  }
  check(driver().DeviceTotalMem(&total, id()), "cuDeviceTotalMem");
  out.total_bytes = total;
}

/// The value of CUDA_ERROR_DEVICE_UNAVAILABLE, which older headers lack.
constexpr auto device_unavailable = static_cast<CUresult>(46);

/// Runs `body`. If it says that the device is gone according to NVML, the device is lost.
template <class Body>
auto Device::monitored(Body body) {
  try {
    return body();
  } catch (const Failure& failure) {
    if (failure.status() == ANYPLACE_STATUS_DEVICE_LOST) lose(device_unavailable);
    throw;
  }
}

void Device::sample(anyplace_device_sample& out) {
  monitored([&] { monitor_.sample(uuid_text(id()), pci_text(id()), out); });
  if ((out.known & bit(ANYPLACE_SAMPLE_BIT_MEMORY_USED_BYTES)) != 0) return;
  anyplace_memory_info memory{};
  memory_info(memory);
  const backend::Sampled to(out);
  to.memory_total_bytes(memory.total_bytes);
  if (memory.free_bytes != ANYPLACE_UNKNOWN) to.memory_used_bytes(memory.total_bytes - memory.free_bytes);
}

std::vector<anyplace_process> Device::processes() {
  return monitored([&] {
    const bool uses = vendor_context().is_active();
    std::vector<anyplace_process> all = monitor_.processes(uuid_text(id()), pci_text(id()), uses);
    // Memory that the backend's pool keeps for later counts as free for this process, as in memory_info().
    const std::uint64_t idle = uses ? memory().idle_in_pool() : 0;
    for (anyplace_process& process : all) {
      if (process.id != static_cast<std::uint64_t>(getpid()) || process.memory_bytes == ANYPLACE_UNKNOWN) continue;
      process.memory_bytes -= std::min(process.memory_bytes, idle);
    }
    return all;
  });
}

}  // namespace anyplace::cuda
