// SPDX-License-Identifier: Apache-2.0
// A module for cpu_sim: a shared object whose functions are kernels.
#include <anyplace/backend/abi.h>

#include <cstdint>
#include <cstring>

namespace {

template <class T>
T value_of(const void* argument) {
  T value;
  std::memcpy(&value, argument, sizeof(value));
  return value;
}

float* floats_of(const void* argument) {
  return reinterpret_cast<float*>(static_cast<std::uintptr_t>(value_of<anyplace_address>(argument)));
}

}  // namespace

extern "C" {

/// (address data, uint32 count, float factor): data[i] *= factor.
ANYPLACE_PLUGIN_EXPORT anyplace_status scale(void*, const anyplace_block* block, void* const* arguments,
                                             const uint32_t* sizes, uint32_t argument_count) {
  if (argument_count != 3 || sizes[0] != 8 || sizes[1] != 4 || sizes[2] != 4) return ANYPLACE_STATUS_INVALID_ARGUMENT;
  float* const data = floats_of(arguments[0]);
  const auto count = value_of<std::uint32_t>(arguments[1]);
  const auto factor = value_of<float>(arguments[2]);
  for (std::uint32_t thread = 0; thread < block->block[0]; ++thread) {
    const std::uint64_t i = std::uint64_t{block->index[0]} * block->block[0] + thread;
    if (i < count) data[i] *= factor;
  }
  return ANYPLACE_STATUS_OK;
}

/// (): nothing.
ANYPLACE_PLUGIN_EXPORT anyplace_status nothing(void*, const anyplace_block*, void* const*, const uint32_t*, uint32_t) {
  return ANYPLACE_STATUS_OK;
}

/// (address): writes there, in block 5 of the second direction.
ANYPLACE_PLUGIN_EXPORT anyplace_status stray(void*, const anyplace_block* block, void* const* arguments,
                                             const uint32_t*, uint32_t) {
  if (block->index[1] == 5) *static_cast<volatile float*>(floats_of(arguments[0])) = 1;
  return ANYPLACE_STATUS_OK;
}

/// (int32 by): divides.
ANYPLACE_PLUGIN_EXPORT anyplace_status divide(void*, const anyplace_block*, void* const* arguments, const uint32_t*,
                                              uint32_t) {
  const volatile std::int32_t by = value_of<std::int32_t>(arguments[0]);
  return by == 0 ? 100 / by : ANYPLACE_STATUS_OK;  // of 1 / by a compiler makes a comparison
}

/// (): fails.
ANYPLACE_PLUGIN_EXPORT anyplace_status failing(void*, const anyplace_block*, void* const*, const uint32_t*, uint32_t) {
  return ANYPLACE_STATUS_KERNEL_FAILED;
}

}  // extern "C"
