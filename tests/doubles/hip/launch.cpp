// SPDX-License-Identifier: Apache-2.0
//
// Launches, and what is known of functions. Values in `extra` aren't offered.
#include "runtime.h"

namespace anyplace::doubles::hip {

int check_shape(const KernelShape& shape) {
  const uint64_t block = threads_of(shape, max_grid, max_block);
  if (block == 0) return hipErrorInvalidValue;
  if (block > static_cast<uint64_t>(max_threads_per_block)) return hipErrorInvalidConfiguration;
  // AMD counts all threads in a direction in 32 bits.
  for (const int axis : {0, 1, 2}) {
    if (uint64_t{shape.grid[axis]} * shape.block[axis] > UINT32_MAX) return hipErrorInvalidConfiguration;
  }
  return shape.shared_bytes > static_cast<uint64_t>(max_shared) ? hipErrorInvalidValue : hipSuccess;
}

HIP_DOUBLE_ENTRY(hipModuleLaunchKernel)
(hipFunction_t function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
 unsigned block_z, unsigned shared_bytes, hipStream_t stream, void** arguments, void** extra) {
  const KernelShape shape{{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes};
  LaunchTarget to;
  if (const int result = find_target(function, stream, to); result != hipSuccess) return result;
  if (const int result = check_shape(shape); result != hipSuccess) return result;
  if (extra != nullptr) return hipErrorNotSupported;
  std::vector<const void*> values;
  const int result = collect_values(*to.function, arguments, values);
  return result == hipSuccess ? launch(to, shape, values) : result;
}

HIP_DOUBLE_ENTRY(hipModuleOccupancyMaxActiveBlocksPerMultiprocessor)
(int* blocks, hipFunction_t function, int block_size, size_t shared_bytes) {
  if (blocks == nullptr || block_size <= 0) return hipErrorInvalidValue;
  FunctionRef known;
  if (const int result = find_function(function, known); result != hipSuccess) return result;
  constexpr int thread_count = 2048;  // of a multiprocessor, as the attributes say; its shared memory is one block's
  const int by_threads = block_size > max_threads_per_block ? 0 : thread_count / block_size;
  const int by_memory = shared_bytes == 0 ? by_threads : static_cast<int>(max_shared / shared_bytes);
  *blocks = std::min(by_threads, by_memory);
  return hipSuccess;
}

HIP_DOUBLE_ENTRY(hipFuncGetAttribute)(int* value, int attribute, hipFunction_t function) {
  if (value == nullptr || attribute < 0 || attribute >= HIP_FUNC_ATTRIBUTE_MAX) return hipErrorInvalidValue;
  FunctionRef known;
  if (const int result = find_function(function, known); result != hipSuccess) return result;
  constexpr Attribute rows[] = {{HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, max_threads_per_block},
                                {HIP_FUNC_ATTRIBUTE_NUM_REGS, 32},
                                {HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, max_shared}};
  const int* const row = find_attribute(rows, attribute);
  *value = row == nullptr ? 0 : *row;
  return hipSuccess;
}

}  // namespace anyplace::doubles::hip
