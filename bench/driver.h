// SPDX-License-Identifier: Apache-2.0
//
// NVIDIA's driver API as the benches call it: straight, without anyplace, through libcuda.so.1 opened at run time. The
// declarations are written from the CUDA Driver API reference, so that the benches need no cuda.h; only what they use.
// Works on the primary context of the device, which is the one that anyplace uses.
#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

namespace bench {

using CuResult = int;
using CuHandle = void*;
using CuAddress = std::uint64_t;

constexpr CuResult cu_success = 0;
constexpr CuResult cu_not_ready = 600;
constexpr unsigned cu_stream_non_blocking = 1;
constexpr unsigned cu_event_disable_timing = 2;

// X(name, symbol, parameters)
#define BENCH_DRIVER_LIST(X)                                                          \
  X(init, "cuInit", (unsigned))                                                       \
  X(driver_version, "cuDriverGetVersion", (int*))                                     \
  X(error_name, "cuGetErrorName", (CuResult, const char**))                           \
  X(device_get, "cuDeviceGet", (int*, int))                                           \
  X(device_name, "cuDeviceGetName", (char*, int, int))                                \
  X(context_retain, "cuDevicePrimaryCtxRetain", (CuHandle*, int))                     \
  X(context_set_current, "cuCtxSetCurrent", (CuHandle))                               \
  X(context_synchronize, "cuCtxSynchronize", ())                                      \
  X(stream_create, "cuStreamCreateWithPriority", (CuHandle*, unsigned, int))          \
  X(stream_destroy, "cuStreamDestroy_v2", (CuHandle))                                 \
  X(stream_query, "cuStreamQuery", (CuHandle))                                        \
  X(stream_synchronize, "cuStreamSynchronize", (CuHandle))                            \
  X(stream_wait_event, "cuStreamWaitEvent", (CuHandle, CuHandle, unsigned))           \
  X(event_create, "cuEventCreate", (CuHandle*, unsigned))                             \
  X(event_destroy, "cuEventDestroy_v2", (CuHandle))                                   \
  X(event_record, "cuEventRecord", (CuHandle, CuHandle))                              \
  X(event_query, "cuEventQuery", (CuHandle))                                          \
  X(memory_allocate, "cuMemAlloc_v2", (CuAddress*, std::size_t))                      \
  X(memory_free, "cuMemFree_v2", (CuAddress))                                         \
  X(host_allocate, "cuMemHostAlloc", (void**, std::size_t, unsigned))                 \
  X(host_free, "cuMemFreeHost", (void*))                                              \
  X(copy_up, "cuMemcpyHtoDAsync_v2", (CuAddress, const void*, std::size_t, CuHandle)) \
  X(module_load, "cuModuleLoadData", (CuHandle*, const void*))                        \
  X(module_unload, "cuModuleUnload", (CuHandle))                                      \
  X(module_kernel, "cuModuleGetFunction", (CuHandle*, CuHandle, const char*))         \
  X(launch, "cuLaunchKernel",                                                         \
    (CuHandle, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CuHandle, void**, void**))

struct Driver {
#define BENCH_DRIVER_MEMBER(name, symbol, parameters) CuResult(*name) parameters = nullptr;
  BENCH_DRIVER_LIST(BENCH_DRIVER_MEMBER)
#undef BENCH_DRIVER_MEMBER

  /// Opens the driver and makes the device's primary context current on this thread. Throws std::runtime_error.
  explicit Driver(int device_index) {
    void* const library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw std::runtime_error(std::string("no driver: ") + dlerror());
#define BENCH_DRIVER_FIND(name, symbol, parameters)                        \
  name = reinterpret_cast<CuResult(*) parameters>(dlsym(library, symbol)); \
  if (name == nullptr) throw std::runtime_error("libcuda.so.1 lacks " symbol);
    BENCH_DRIVER_LIST(BENCH_DRIVER_FIND)
#undef BENCH_DRIVER_FIND
    check(init(0), "cuInit");
    check(device_get(&device, device_index), "cuDeviceGet");
    check(context_retain(&context, device), "cuDevicePrimaryCtxRetain");
    make_current();
  }

  /// For another thread.
  void make_current() const { check(context_set_current(context), "cuCtxSetCurrent"); }

  void check(CuResult result, const char* call) const {
    if (result == cu_success) return;
    const char* text = nullptr;
    if (error_name(result, &text) != cu_success || text == nullptr) text = "unknown";
    throw std::runtime_error(std::string(call) + ": " + text + " (" + std::to_string(result) + ")");
  }

  int device = 0;
  CuHandle context = nullptr;
};

/// A file, and a zero behind it: cuModuleLoadData takes PTX as a C string.
inline std::vector<char> read_image(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("can't read " + path);
  std::vector<char> bytes{std::istreambuf_iterator<char>(file), {}};
  bytes.push_back('\0');
  return bytes;
}

}  // namespace bench
