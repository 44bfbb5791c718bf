// SPDX-License-Identifier: Apache-2.0
// The few functions of the vendor's driver that the double needs, of the library that the process has loaded: CUDA's,
// or HIP's where NCCL_DOUBLE_HIP is defined.
#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace anyplace::doubles::nccl {

// X(member, CUDA's name, HIP's name, parameters). All return 0 where they succeed.
#define NCCL_DOUBLE_DRIVER(X)                                                                                \
  X(to_host, "cuMemcpyDtoHAsync_v2", "hipMemcpyDtoHAsync",                                                   \
    (void* host, std::uint64_t device, std::size_t bytes, void* stream))                                     \
  X(to_device, "cuMemcpyHtoDAsync_v2", "hipMemcpyHtoDAsync",                                                 \
    (std::uint64_t device, const void* host, std::size_t bytes, void* stream))                               \
  X(call_host, "cuLaunchHostFunc", "hipLaunchHostFunc", (void* stream, void (*function)(void*), void* user)) \
  X(allocate, "cuMemHostAlloc", "hipHostMalloc", (void** host, std::size_t bytes, unsigned flags))           \
  X(free, "cuMemFreeHost", "hipHostFree", (void* host))                                                      \
  X(device_address, "cuMemHostGetDevicePointer_v2", "hipHostGetDevicePointer",                               \
    (std::uint64_t * device, void* host, unsigned flags))                                                    \
  X(current, "cuCtxGetCurrent", "hipGetDevice", (void** context_or_number))

#ifdef NCCL_DOUBLE_HIP
#define NCCL_DOUBLE_NAME(cuda, hip) hip
#else
#define NCCL_DOUBLE_NAME(cuda, hip) cuda
#endif

struct Driver {
#define NCCL_DOUBLE_MEMBER(member, cuda, hip, parameters) int(*member) parameters = nullptr;
  NCCL_DOUBLE_DRIVER(NCCL_DOUBLE_MEMBER)
#undef NCCL_DOUBLE_MEMBER
  void* wait_value = nullptr;
  int (*allocate_signal)(void** memory, std::size_t bytes, unsigned flags) = nullptr;  ///< HIP's alone
  int (*free_signal)(void* memory) = nullptr;

  bool read() {
    void* handle = nullptr;
    for (const char* const name :
         {NCCL_DOUBLE_NAME("libcuda.so.1", "libamdhip64.so.7"), NCCL_DOUBLE_NAME("libcuda.so.1", "libamdhip64.so.6"),
          NCCL_DOUBLE_NAME("libcuda.so.1", "libamdhip64.so.5")}) {
      if (handle == nullptr) handle = dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    }
    if (handle == nullptr) return false;
    bool all = true;
    const auto find = [&](const char* name, auto& out) {
      out = reinterpret_cast<std::remove_reference_t<decltype(out)>>(dlsym(handle, name));
      all = all && out != nullptr;
    };
#define NCCL_DOUBLE_READ(member, cuda, hip, parameters) find(NCCL_DOUBLE_NAME(cuda, hip), member);
    NCCL_DOUBLE_DRIVER(NCCL_DOUBLE_READ)
#undef NCCL_DOUBLE_READ
    find(NCCL_DOUBLE_NAME("cuStreamWaitValue32_v2", "hipStreamWaitValue64"), wait_value);
#ifdef NCCL_DOUBLE_HIP
    find("hipExtMallocWithFlags", allocate_signal);
    find("hipFree", free_signal);
#endif
    return all;
  }

  /// A word that streams can wait on: HIP has memory of its own for them.
  int allocate_word(void** word, std::uint64_t* device) const {
#ifdef NCCL_DOUBLE_HIP
    constexpr unsigned signal_memory = 2;
    const int failed = allocate_signal(word, sizeof(std::uint64_t), signal_memory);
    *device = reinterpret_cast<std::uintptr_t>(*word);
    return failed;
#else
    const int failed = allocate(word, sizeof(std::uint64_t), 0);
    return failed != 0 ? failed : device_address(device, *word, 0);
#endif
  }
  int free_word(void* word) const { return free_signal != nullptr ? free_signal(word) : free(word); }
  /// The stream goes on when the word is at least `value`.
  int wait_for(void* stream, std::uint64_t word, std::uint32_t value) const {
    constexpr unsigned at_least = 0;
#ifdef NCCL_DOUBLE_HIP
    return reinterpret_cast<int (*)(void*, void*, std::uint64_t, unsigned, std::uint64_t)>(wait_value)(
        stream, reinterpret_cast<void*>(word), value, at_least, ~std::uint64_t{0});
#else
    return reinterpret_cast<int (*)(void*, std::uint64_t, std::uint32_t, unsigned)>(wait_value)(stream, word, value,
                                                                                                at_least);
#endif
  }
};

}  // namespace anyplace::doubles::nccl
