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

namespace anyplace::doubles::hip {
namespace {

hipError_t find_function(hipFunction_t handle, FunctionRef& function) {
  const Locked lock(state().mutex);
  FunctionRef found = state().functions.find(handle);
  if (found == nullptr) return hipErrorInvalidHandle;
  const hipError_t fault = fault_of(*found->module->device);
  if (fault == hipSuccess) function = std::move(found);
  return fault;
}

hipError_t check_shape(const KernelShape& shape) {
  uint64_t threads = 1;
  for (int i = 0; i < 3; ++i) {
    if (shape.grid[i] == 0 || shape.grid[i] > static_cast<uint32_t>(kMaxGrid[i])) return hipErrorInvalidValue;
    if (shape.block[i] == 0 || shape.block[i] > static_cast<uint32_t>(kMaxBlock[i])) return hipErrorInvalidValue;
    // AMD counts all threads in a direction in 32 bits.
    if (uint64_t{shape.grid[i]} * shape.block[i] > UINT32_MAX) return hipErrorInvalidConfiguration;
    threads *= shape.block[i];
  }
  if (threads > static_cast<uint64_t>(kMaxThreadsPerBlock)) return hipErrorInvalidConfiguration;
  return shape.shared_bytes > static_cast<uint64_t>(kMaxShared) ? hipErrorInvalidValue : hipSuccess;
}

/// The values of a launch. (The other way to give them, a buffer in `extra`, isn't offered here.)
hipError_t collect_values(const Function& function, void** arguments, void** extra, std::vector<const void*>& values) {
  if (extra != nullptr) return hipErrorNotSupported;
  const std::size_t count = function.kernel.sizes.size();
  if (count != 0 && arguments == nullptr) return hipErrorInvalidValue;
  for (std::size_t i = 0; i < count; ++i) {
    if (arguments[i] == nullptr) return hipErrorInvalidValue;
    values.push_back(arguments[i]);
  }
  return hipSuccess;
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

void find_uses(const Device& device, Launch& launch) {
  for (const uint64_t address : launch.arguments.addresses()) {
    const Finding finding = state().memory.find(address, 1);
    if (finding.verdict == Verdict::kForeign || finding.verdict == Verdict::kOutOfRange) continue;
    if (finding.verdict == Verdict::kFreed) {
      launch.fault = "a kernel was given the address of freed memory";
      continue;
    }
    {
      const Locked lock(state().mutex);
      if (!has_access(lock, device, finding.block)) {
        launch.fault = "a kernel was given an address that its device has no access to";
        continue;
      }
    }
    launch.uses.push_back(
        Use{address, finding.block.id, finding.verdict == Verdict::kFreeQueued, finding.block.device});
  }
}

/// The fault that a test has asked for, if it is this kernel's turn.
int fault_asked_for(int device) {
  const Locked lock(state().mutex);
  Device& of = *state().devices[static_cast<std::size_t>(device)];
  if (of.kernels_until_fault == 0 || --of.kernels_until_fault != 0) return 0;
  return of.kernel_fault;
}

int run(const Launch& launch) {
  const Module& module = *launch.function->module;
  if (const int fault = fault_asked_for(module.device->index); fault != 0) return fault;
  if (module.unloaded) return hipErrorLaunchFailure;
  if (launch.fault != nullptr) {
    misuses().add(launch.fault);
    return hipErrorIllegalAddress;
  }
  return run_on(launch.uses, "a kernel", [&launch]() -> int {
    const bool done =
        run_kernel(launch.function->kernel, launch.shape, launch.arguments, [] { return state().engine.stopped(); });
    return done ? 0 : hipErrorLaunchFailure;
  });
}

hipError_t launch_kernel(hipFunction_t handle, const KernelShape& shape, hipStream_t stream_handle, void** arguments,
                         void** extra) {
  FunctionRef function;
  hipError_t result = find_function(handle, function);
  if (result != hipSuccess) return result;
  StreamRef stream;
  result = resolve_stream(stream_handle, stream);
  if (result != hipSuccess) return result;
  if (stream->device != function->module->device) return hipErrorInvalidHandle;
  result = check_shape(shape);
  if (result != hipSuccess) return result;
  std::vector<const void*> values;
  result = collect_values(*function, arguments, extra, values);
  if (result != hipSuccess) return result;
  const auto launch = std::make_shared<Launch>(function, shape, KernelArguments(function->kernel.sizes, values.data()));
  find_uses(*stream->device, *launch);
  Operation operation;
  operation.run = [launch] { return run(*launch); };
  return submit_and(false, stream, std::move(operation));
}

}  // namespace

HIP_DOUBLE_ENTRY(hipModuleLaunchKernel)
(hipFunction_t function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
 unsigned block_z, unsigned shared_bytes, hipStream_t stream, void** arguments, void** extra) {
  const KernelShape shape{{grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes};
  return launch_kernel(function, shape, stream, arguments, extra);
}

HIP_DOUBLE_ENTRY(hipFuncGetAttribute)(int* value, int attribute, hipFunction_t function) {
  if (value == nullptr || attribute < 0 || attribute >= HIP_FUNC_ATTRIBUTE_MAX) return hipErrorInvalidValue;
  FunctionRef found;
  const hipError_t result = find_function(function, found);
  if (result != hipSuccess) return result;
  switch (attribute) {
    case HIP_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      *value = kMaxThreadsPerBlock;
      break;
    case HIP_FUNC_ATTRIBUTE_NUM_REGS:
      *value = 32;
      break;
    case HIP_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      *value = kMaxShared;
      break;
    default:
      *value = 0;
      break;
  }
  return hipSuccess;
}

}  // namespace anyplace::doubles::hip
