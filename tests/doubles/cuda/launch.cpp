// SPDX-License-Identifier: Apache-2.0
//
// Functions of modules, what is known of them, and their launches.
//
// Arguments of 8 bytes that hold an address of the double's are taken for pointers: what they point into must be there
// when the kernel runs, and accessible to its device, else the kernel faults as it would on a device. Addresses within
// structs, or those that a kernel computes, aren't seen.
#include <algorithm>
#include <cstring>
#include <utility>

#include "device_limits.h"
#include "state.h"

namespace anyplace::doubles::cuda {
namespace {

CUresult find_function(CUfunction handle, FunctionRef& function) {
  const Locked lock(state().mutex);
  FunctionRef found = state().functions.find(handle);
  if (found == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  const CUresult fault = fault_of(*found->module->context);
  if (fault == CUDA_SUCCESS) function = std::move(found);
  return fault;
}

CUresult check_shape(const Function& function, const KernelShape& shape) {
  uint64_t threads = 1;
  for (int i = 0; i < 3; ++i) {
    if (shape.grid[i] == 0 || shape.grid[i] > static_cast<uint32_t>(kMaxGrid[i])) return CUDA_ERROR_INVALID_VALUE;
    if (shape.block[i] == 0 || shape.block[i] > static_cast<uint32_t>(kMaxBlock[i])) return CUDA_ERROR_INVALID_VALUE;
    threads *= shape.block[i];
  }
  const bool fits = threads <= static_cast<uint64_t>(kMaxThreadsPerBlock) &&
                    shape.shared_bytes <= static_cast<uint64_t>(function.max_dynamic_shared);
  return fits ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

/// The values of a launch, from one of the two ways to give them.
CUresult collect_values(const Function& function, void** arguments, void** extra, std::vector<const void*>& values) {
  const std::size_t count = function.kernel.sizes.size();
  if (arguments != nullptr && extra != nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (extra == nullptr) {
    if (count != 0 && arguments == nullptr) return CUDA_ERROR_INVALID_VALUE;
    for (std::size_t i = 0; i < count; ++i) {
      if (arguments[i] == nullptr) return CUDA_ERROR_INVALID_VALUE;
      values.push_back(arguments[i]);
    }
    return CUDA_SUCCESS;
  }
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
  for (std::size_t i = 0; i < count; ++i) {
    const uint64_t end = uint64_t{function.offsets[i]} + function.kernel.sizes[i];
    if (buffer == nullptr || end > bytes) return CUDA_ERROR_INVALID_VALUE;
    values.push_back(buffer + function.offsets[i]);
  }
  return CUDA_SUCCESS;
}

/// One launch, from its submission until it is over.
struct Launch {
  FunctionRef function;
  KernelShape shape;
  KernelArguments arguments;
  std::vector<Use> uses;
  const char* fault = nullptr;  // why it will fail, known already

  Launch(FunctionRef of, const KernelShape& with, KernelArguments values)
      : function(std::move(of)), shape(with), arguments(std::move(values)) {
    ++function->module->launches;
  }
  Launch(const Launch&) = delete;
  Launch& operator=(const Launch&) = delete;
  ~Launch() { --function->module->launches; }
};

void find_uses(const Context& context, Launch& launch) {
  for (const uint64_t address : launch.arguments.addresses()) {
    const Finding finding = state().memory.find(address, 1);
    if (finding.verdict == Verdict::kForeign || finding.verdict == Verdict::kOutOfRange) continue;
    if (finding.verdict == Verdict::kFreed) {
      launch.fault = "a kernel was given the address of freed memory";
      continue;
    }
    {
      const Locked lock(state().mutex);
      if (!has_access(lock, context, finding.block)) {
        launch.fault = "a kernel was given an address that its device has no access to";
        continue;
      }
    }
    launch.uses.push_back(Use{address, finding.block.id, finding.verdict == Verdict::kFreeQueued});
  }
}

/// The fault that a test has asked for, if it is this kernel's turn.
int fault_asked_for(int device) {
  const Locked lock(state().mutex);
  DeviceState& of = state().devices[static_cast<std::size_t>(device)];
  if (of.kernels_until_fault == 0 || --of.kernels_until_fault != 0) return 0;
  return of.kernel_fault;
}

int run(const Launch& launch) {
  const Module& module = *launch.function->module;
  if (const int fault = fault_asked_for(module.context->device); fault != 0) return fault;
  if (module.unloaded) return CUDA_ERROR_LAUNCH_FAILED;
  if (launch.fault != nullptr) {
    misuses().add(launch.fault);
    return CUDA_ERROR_ILLEGAL_ADDRESS;
  }
  return run_on(launch.uses, "a kernel", [&launch]() -> int {
    const bool done =
        run_kernel(launch.function->kernel, launch.shape, launch.arguments, [] { return state().engine.stopped(); });
    return done ? 0 : CUDA_ERROR_LAUNCH_FAILED;
  });
}

CUresult launch_kernel(CUfunction handle, const KernelShape& shape, CUstream stream_handle, void** arguments,
                       void** extra) {
  ContextRef current;
  CUresult result = current_context(current);
  if (result != CUDA_SUCCESS) return result;
  FunctionRef function;
  result = find_function(handle, function);
  if (result != CUDA_SUCCESS) return result;
  StreamRef stream;
  result = resolve_stream(stream_handle, stream);
  if (result != CUDA_SUCCESS) return result;
  if (stream->context != function->module->context) return CUDA_ERROR_INVALID_HANDLE;
  result = check_shape(*function, shape);
  if (result != CUDA_SUCCESS) return result;
  std::vector<const void*> values;
  result = collect_values(*function, arguments, extra, values);
  if (result != CUDA_SUCCESS) return result;
  const auto launch = std::make_shared<Launch>(function, shape, KernelArguments(function->kernel.sizes, values.data()));
  find_uses(*stream->context, *launch);
  Operation operation;
  operation.run = [launch] { return run(*launch); };
  return submit_and(false, stream, std::move(operation));
}

}  // namespace

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
  const CUresult result = find_function(function, found);
  if (result != CUDA_SUCCESS) return result;
  const Locked lock(state().mutex);
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      *value = kMaxThreadsPerBlock;
      break;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
      *value = 32;
      break;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
      *value = state().config.sm;
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
  const CUresult result = find_function(function, found);
  if (result != CUDA_SUCCESS) return result;
  const Locked lock(state().mutex);
  switch (attribute) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      if (value < 0 || value > kMaxSharedOptIn) return CUDA_ERROR_INVALID_VALUE;
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

CUDA_DOUBLE_ENTRY(cuFuncGetName)(const char** name, CUfunction function) {
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  FunctionRef found;
  const CUresult result = find_function(function, found);
  if (result == CUDA_SUCCESS) *name = found->name.c_str();  // as long as the module is loaded
  return result;
}

CUDA_DOUBLE_ENTRY(cuFuncGetModule)(CUmodule* module, CUfunction function) {
  if (module == nullptr) return CUDA_ERROR_INVALID_VALUE;
  FunctionRef found;
  const CUresult result = find_function(function, found);
  if (result == CUDA_SUCCESS) *module = found->module->handle;
  return result;
}

CUDA_DOUBLE_ENTRY(cuFuncSetCacheConfig)(CUfunction function, CUfunc_cache config) {
  if (static_cast<unsigned>(config) > CU_FUNC_CACHE_PREFER_EQUAL) return CUDA_ERROR_INVALID_VALUE;
  FunctionRef found;
  return find_function(function, found);
}

CUDA_DOUBLE_ENTRY(cuFuncGetParamInfo)(CUfunction function, size_t index, size_t* offset, size_t* size) {
  if (offset == nullptr) return CUDA_ERROR_INVALID_VALUE;
  FunctionRef found;
  const CUresult result = find_function(function, found);
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
  const CUresult result = find_function(function, found);
  if (result != CUDA_SUCCESS) return result;
  constexpr int kThreads = 2048, kBlocks = 32, kSharedOfMultiprocessor = 233472;  // as the attributes say
  int fit = block_size > kMaxThreadsPerBlock ? 0 : std::min(kBlocks, kThreads / block_size);
  if (shared_bytes > static_cast<size_t>(found->max_dynamic_shared)) fit = 0;
  if (shared_bytes != 0) fit = std::min(fit, static_cast<int>(kSharedOfMultiprocessor / shared_bytes));
  *blocks = fit;
  return CUDA_SUCCESS;
}

}  // namespace anyplace::doubles::cuda
