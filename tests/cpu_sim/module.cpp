// SPDX-License-Identifier: Apache-2.0
//
// The shared object that the tests load as a module.
#include <anyplace/backend/abi.h>

#include <atomic>
#include <stdexcept>

#define KERNEL extern "C" __attribute__((visibility("default"))) anyplace_status

// A unique symbol: the dynamic linker then never unloads the library, which must not confuse a later load.
template <class T>
struct __attribute__((visibility("default"))) Unique {
  static inline std::atomic<int> count{0};
};

/// Adds the 32-bit value of argument 1 to element `block index` of the array at argument 0.
KERNEL add(void*, const anyplace_block* block, void* const* arguments, const std::uint32_t*, std::uint32_t) {
  auto* elements = reinterpret_cast<std::uint32_t*>(*static_cast<const anyplace_address*>(arguments[0]));
  elements[block->index[0]] += *static_cast<const std::uint32_t*>(arguments[1]);
  return ANYPLACE_STATUS_OK;
}

KERNEL throws(void*, const anyplace_block*, void* const*, const std::uint32_t*, std::uint32_t) {
  throw std::runtime_error("the module's kernel threw this");
}

KERNEL fails(void*, const anyplace_block*, void* const*, const std::uint32_t*, std::uint32_t) {
  return ANYPLACE_STATUS_INVALID_ARGUMENT;
}

KERNEL loses_device(void*, const anyplace_block*, void* const*, const std::uint32_t*, std::uint32_t) {
  return ANYPLACE_STATUS_DEVICE_LOST;
}

/// Writes how often it ran in this copy of the library to the int at argument 0.
KERNEL count_runs(void*, const anyplace_block*, void* const* arguments, const std::uint32_t*, std::uint32_t) {
  *reinterpret_cast<int*>(*static_cast<const anyplace_address*>(arguments[0])) = ++Unique<int>::count;
  return ANYPLACE_STATUS_OK;
}

extern "C" __attribute__((visibility("default"))) int some_data;
int some_data = 1;
