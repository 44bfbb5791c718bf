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

/// Adds 1 to the uint32 of each of `blocks` blocks from `block` on, in the array at `argument`; fails if they aren't in
/// one row.
anyplace_status count_blocks(const anyplace_block* block, std::uint32_t blocks, const void* argument) {
  if (blocks == 0 || blocks > block->grid[0] - block->index[0]) return ANYPLACE_STATUS_INVALID_ARGUMENT;
  auto* const counts = reinterpret_cast<std::uint32_t*>(floats_of(argument));
  const std::uint32_t row = block->index[1] + block->grid[1] * block->index[2];
  for (std::uint32_t i = 0; i < blocks; ++i) ++counts[row * block->grid[0] + block->index[0] + i];
  return ANYPLACE_STATUS_OK;
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

/// (address counts): adds 1 for each block, which run as one with their neighbours. By itself it fails.
ANYPLACE_PLUGIN_EXPORT anyplace_status joined(void*, const anyplace_block*, void* const*, const uint32_t*, uint32_t) {
  return ANYPLACE_STATUS_KERNEL_FAILED;
}
ANYPLACE_PLUGIN_EXPORT anyplace_status _row_of_joined(void*, const anyplace_block* block, uint32_t* blocks,
                                                      void* const* arguments, const uint32_t*, uint32_t) {
  return count_blocks(block, *blocks, arguments[0]);
}

/// The same, but each block runs alone.
ANYPLACE_PLUGIN_EXPORT anyplace_status alone(void*, const anyplace_block*, void* const*, const uint32_t*, uint32_t) {
  return ANYPLACE_STATUS_KERNEL_FAILED;
}
ANYPLACE_PLUGIN_EXPORT anyplace_status _row_of_alone(void*, const anyplace_block* block, uint32_t* blocks,
                                                     void* const* arguments, const uint32_t*, uint32_t) {
  *blocks = 1;
  return count_blocks(block, 1, arguments[0]);
}

/// (address): writes there, from the first blocks that run as one on.
ANYPLACE_PLUGIN_EXPORT anyplace_status stray_joined(void*, const anyplace_block*, void* const*, const uint32_t*,
                                                    uint32_t) {
  return ANYPLACE_STATUS_KERNEL_FAILED;
}
ANYPLACE_PLUGIN_EXPORT anyplace_status _row_of_stray_joined(void*, const anyplace_block*, uint32_t* blocks,
                                                            void* const* arguments, const uint32_t*, uint32_t) {
  if (*blocks > 1) *static_cast<volatile float*>(floats_of(arguments[0])) = 1;
  return ANYPLACE_STATUS_OK;
}

/// (): fails.
ANYPLACE_PLUGIN_EXPORT anyplace_status failing(void*, const anyplace_block*, void* const*, const uint32_t*, uint32_t) {
  return ANYPLACE_STATUS_KERNEL_FAILED;
}

}  // extern "C"
