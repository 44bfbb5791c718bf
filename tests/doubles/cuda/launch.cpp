// SPDX-License-Identifier: Apache-2.0
//
// Functions of modules, what is known of them, and their launches.
#include <algorithm>

#include "driver.h"

namespace anyplace::doubles::cuda {
namespace {

int check_shape(const Function& function, const KernelShape& shape) {
  const uint64_t threads = threads_of(shape, max_grid, max_block);
  const bool fits = threads != 0 && threads <= static_cast<uint64_t>(max_threads_per_block) &&
                    shape.shared_bytes <= static_cast<uint64_t>(function.max_dynamic_shared);
  return fits ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/// The values of a launch, from the buffer that `extra` describes.
int collect_from_buffer(const Function& function, void** extra, std::vector<const void*>& values) {
  const char* buffer = nullptr;
  size_t bytes = 0;
  for (std::size_t i = 0; extra[i] != CU_LAUNCH_PARAM_END; i += 2) {
    if (extra[i] == CU_LAUNCH_PARAM_BUFFER_POINTER) {
      buffer = static_cast<const char*>(extra[i + 1]);
    } else if (extra[i] == CU_LAUNCH_PARAM_BUFFER_SIZE) {
      bytes = *static_cast<const size_t*>(extra[i + 1]);
    } else {
      return CUDA_ERROR_INVALID_VALUE;
    }
  }
  for (std::size_t i = 0; i < function.offsets.size(); ++i) {
    const uint64_t end = uint64_t{function.offsets[i]} + function.kernel.sizes[i];
    if (buffer == nullptr || end > bytes) return CUDA_ERROR_INVALID_VALUE;
    values.push_back(buffer + function.offsets[i]);
  }
  return CUDA_SUCCESS;
}

int launch_kernel(CUfunction handle, const KernelShape& shape, CUstream stream, void** arguments, void** extra) {
  LaunchTarget target;
  std::vector<const void*> values;
  int result = find_target(handle, stream, target);
  if (result == CUDA_SUCCESS) result = check_launch(*target.function, shape, arguments, extra, values);
  return result == CUDA_SUCCESS ? launch(target, shape, values) : result;
}

}  // namespace

int check_launch(const Function& function, const KernelShape& shape, void** arguments, void** extra,
                 std::vector<const void*>& values) {
  const int result = check_shape(function, shape);
  if (result != CUDA_SUCCESS) return result;
  if (arguments != nullptr && extra != nullptr) return CUDA_ERROR_INVALID_VALUE;
  return extra == nullptr ? collect_values(function, arguments, values) : collect_from_buffer(function, extra, values);
}

CUDA_DOUBLE_ENTRY(cuLaunchKernel)
(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
 unsigned block_z, unsigned shared_bytes, CUstream stream, void** arguments, void** extra) {
  const KernelShape shape{{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes};
  return launch_kernel(function, shape, stream, arguments, extra);
}

CUDA_DOUBLE_ENTRY(cuLaunchKernelEx)
(const CUlaunchConfig* config, CUfunction function, void** arguments, void** extra) {
  if (config == nullptr || (config->numAttrs != 0 && config->attrs == nullptr)) return CUDA_ERROR_INVALID_VALUE;
  for (unsigned i = 0; i < config->numAttrs; ++i) {
    const auto id = config->attrs[i].id;
    const bool harmless =
        id == CU_LAUNCH_ATTRIBUTE_IGNORE || id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE || id == CU_LAUNCH_ATTRIBUTE_PRIORITY;
    if (!harmless) return CUDA_ERROR_NOT_SUPPORTED;
  }
  const KernelShape shape{{config->gridDimX, config->gridDimY, config->gridDimZ},
                          {config->blockDimX, config->blockDimY, config->blockDimZ},
                          config->sharedMemBytes};
  return launch_kernel(function, shape, config->hStream, arguments, extra);
}

CUDA_DOUBLE_ENTRY(cuFuncGetAttribute)(int* value, CUfunction_attribute attribute, CUfunction function) {
  if (value == nullptr || attribute < 0 || attribute >= CU_FUNC_ATTRIBUTE_MAX) return CUDA_ERROR_INVALID_VALUE;
  FunctionRef found;
  const int result = find_function(function, found);
  if (result != CUDA_SUCCESS) return result;
  const Locked lock(state().mutex);
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      *value = max_threads_per_block;
      break;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
      *value = 32;
      break;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
      *value = config().sm;
      break;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      *value = found->max_dynamic_shared;
      break;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      *value = found->carveout;
      break;
    default:
      *value = 0;
      break;
  }
  return CUDA_SUCCESS;
}

CUDA_DOUBLE_ENTRY(cuFuncSetAttribute)(CUfunction function, CUfunction_attribute attribute, int value) {
  FunctionRef found;
  const int result = find_function(function, found);
  if (result != CUDA_SUCCESS) return result;
  const Locked lock(state().mutex);
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      if (value < 0 || value > max_shared_opt_in) return CUDA_ERROR_INVALID_VALUE;
      found->max_dynamic_shared = value;
      return CUDA_SUCCESS;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      if (value < -1 || value > 100) return CUDA_ERROR_INVALID_VALUE;
      found->carveout = value;
      return CUDA_SUCCESS;
    default:
      return CUDA_ERROR_INVALID_VALUE;
  }
}

CUDA_DOUBLE_ENTRY(cuFuncGetParamInfo)(CUfunction function, size_t index, size_t* offset, size_t* size) {
  if (offset == nullptr) return CUDA_ERROR_INVALID_VALUE;
  FunctionRef found;
  const int result = find_function(function, found);
  if (result != CUDA_SUCCESS) return result;
  if (index >= found->offsets.size()) return CUDA_ERROR_INVALID_VALUE;
  *offset = found->offsets[index];
  if (size != nullptr) *size = found->kernel.sizes[index];
  return CUDA_SUCCESS;
}

CUDA_DOUBLE_ENTRY(cuFuncLoad)(CUfunction function) {
  FunctionRef found;
  return find_function(function, found);
}

CUDA_DOUBLE_ENTRY(cuOccupancyMaxActiveBlocksPerMultiprocessor)
(int* blocks, CUfunction function, int block_size, size_t shared_bytes) {
  if (blocks == nullptr || block_size <= 0) return CUDA_ERROR_INVALID_VALUE;
  FunctionRef found;
  const int result = find_function(function, found);
  if (result != CUDA_SUCCESS) return result;
  constexpr int thread_count = 2048, block_count = 32, shared_of_multiprocessor = 233472;  // as the attributes say
  int fit = block_size > max_threads_per_block ? 0 : std::min(block_count, thread_count / block_size);
  if (shared_bytes > static_cast<size_t>(found->max_dynamic_shared)) fit = 0;
  if (shared_bytes != 0) fit = std::min(fit, static_cast<int>(shared_of_multiprocessor / shared_bytes));
  *blocks = fit;
  return CUDA_SUCCESS;
}

}  // namespace anyplace::doubles::cuda
