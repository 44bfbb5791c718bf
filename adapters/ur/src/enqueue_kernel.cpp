// SPDX-License-Identifier: Apache-2.0
//
// Launches. Local memory is an argument in UR and a property of the launch in anyplace: a kernel may have one such
// argument, which is left out of the list.
#include <algorithm>
#include <optional>
#include <vector>

#include <anyplace/kernel.h>

#include "command.h"
#include "entries.h"
#include "kernel.h"
#include "memory.h"
#include "work_group.h"

namespace anyplace_ur {

namespace {

struct LocalMemory {
  int argument;
  std::size_t bytes;
};

anyplace::LaunchConfig launch_config(const ur_device_handle_t_& device, const WorkSize& global, const WorkSize& local) {
  for (std::size_t i = 0; i < global.size(); ++i) {
    require(local[i] != 0 && global[i] != 0 && global[i] % local[i] == 0, UR_RESULT_ERROR_INVALID_WORK_GROUP_SIZE,
            "work groups divide the work evenly");
    require(global[i] / local[i] <= UINT32_MAX && local[i] <= device.properties.max_block[i],
            UR_RESULT_ERROR_INVALID_WORK_GROUP_SIZE, "the device has no room for such a launch");
  }
  require(local[0] * local[1] * local[2] <= device.properties.max_threads_per_block,
          UR_RESULT_ERROR_INVALID_WORK_GROUP_SIZE, "a work group has more threads than the device allows");
  const auto blocks = [&](std::size_t i) { return static_cast<std::uint32_t>(global[i] / local[i]); };
  const auto threads = [&](std::size_t i) { return static_cast<std::uint32_t>(local[i]); };
  return {.grid = {blocks(0), blocks(1), blocks(2)}, .block = {threads(0), threads(1), threads(2)}, .shared_bytes = 0};
}

void check_offset(std::uint32_t dimensions, const std::size_t* offset) {
  const bool none = offset == nullptr || std::all_of(offset, offset + dimensions, [](std::size_t n) { return n == 0; });
  require(none, UR_RESULT_ERROR_UNSUPPORTED_FEATURE, "anyplace's launches begin at 0: there is no global offset");
}

/// The arguments in the order of their numbers.
std::vector<ur_exp_kernel_arg_properties_t> in_order(std::uint32_t count, const ur_exp_kernel_arg_properties_t* given) {
  require(count == 0 || given != nullptr, UR_RESULT_ERROR_INVALID_NULL_POINTER, "the arguments are missing");
  std::vector<ur_exp_kernel_arg_properties_t> arguments(given, given + count);
  std::sort(arguments.begin(), arguments.end(), [](const auto& a, const auto& b) { return a.index < b.index; });
  for (std::uint32_t i = 0; i < count; ++i) {
    require(arguments[i].index == i, UR_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_INDEX,
            "an argument is missing, or given twice");
  }
  return arguments;
}

std::optional<LocalMemory> local_memory(const std::vector<ur_exp_kernel_arg_properties_t>& arguments) {
  std::optional<LocalMemory> local;
  for (const ur_exp_kernel_arg_properties_t& argument : arguments) {
    if (argument.type != UR_EXP_KERNEL_ARG_TYPE_LOCAL) continue;
    require(!local.has_value(), UR_RESULT_ERROR_UNSUPPORTED_FEATURE,
            "a kernel has at most one argument that is local memory");
    local = {static_cast<int>(argument.index), argument.size};
  }
  return local;
}

/// The launch's arguments, with the addresses that they point at.
class Arguments {
 public:
  Arguments(const std::vector<ur_exp_kernel_arg_properties_t>& given, ur_queue_handle_t queue,
            anyplace::StreamView stream) {
    addresses_.reserve(given.size());  // pointers into it are kept
    for (const ur_exp_kernel_arg_properties_t& argument : given) add(argument, queue, stream);
  }
  std::span<const anyplace::LaunchArgument> list() const noexcept { return list_; }

 private:
  void add(const ur_exp_kernel_arg_properties_t& argument, ur_queue_handle_t queue, anyplace::StreamView stream) {
    using Kind = anyplace::LaunchArgument::Kind;
    switch (argument.type) {
      case UR_EXP_KERNEL_ARG_TYPE_VALUE:
        list_.push_back({Kind::value, static_cast<std::uint32_t>(argument.size), argument.value.value});
        return;
      case UR_EXP_KERNEL_ARG_TYPE_POINTER:
        return add_address(reinterpret_cast<std::uintptr_t>(argument.value.pointer));
      case UR_EXP_KERNEL_ARG_TYPE_MEM_OBJ: {
        const ur_mem_handle_t memory = argument.value.memObjTuple.hMem;
        if (memory == nullptr) return add_address(0);
        const bool reads = (argument.value.memObjTuple.flags & UR_MEM_FLAG_READ_ONLY) != 0;
        const Access access = reads ? Access::read : Access::write;
        return add_address(memory->storage->for_kernels(queue->device, stream, access) + memory->offset);
      }
      case UR_EXP_KERNEL_ARG_TYPE_LOCAL:
        return;
      default:
        throw Failure(UR_RESULT_ERROR_UNSUPPORTED_FEATURE, "there are no samplers");
    }
  }
  void add_address(std::uint64_t address) {
    addresses_.push_back(address);
    list_.push_back({anyplace::LaunchArgument::Kind::address, sizeof(address), &addresses_.back()});
  }

  std::vector<std::uint64_t> addresses_;
  std::vector<anyplace::LaunchArgument> list_;
};

}  // namespace

ur_result_t urEnqueueKernelLaunchWithArgsExp(ur_queue_handle_t queue, ur_kernel_handle_t kernel, uint32_t dimensions,
                                             const size_t* offset, const size_t* global_size, const size_t* local_size,
                                             uint32_t argument_count, const ur_exp_kernel_arg_properties_t* given,
                                             const ur_kernel_launch_ext_properties_t*, uint32_t count,
                                             const ur_event_handle_t* waits, ur_event_handle_t* event) {
  return guarded("urEnqueueKernelLaunchWithArgsExp", [&] {
    require_handle(queue);
    require_handle(kernel);
    const WorkSize global = work_size(dimensions, global_size);
    check_offset(dimensions, offset);
    const ur_device_handle_t_& device = *queue->device;
    const WorkSize local = local_size == nullptr ? suggested_local(device, global) : work_size(dimensions, local_size);
    anyplace::LaunchConfig config = launch_config(device, global, local);
    const auto arguments = in_order(argument_count, given);
    const std::optional<LocalMemory> memory = local_memory(arguments);
    ur_program_handle_t_& program = *kernel->program;
    anyplace::KernelView view = program.kernel(queue->device, kernel->name);
    if (memory.has_value()) {
      config.shared_bytes = memory->bytes;
      view = program.kernel_with_local(queue->device, kernel->name, memory->argument);
    }
    submit(queue, UR_COMMAND_KERNEL_LAUNCH, {count, waits}, event, [&](anyplace::StreamView stream) {
      const Arguments list(arguments, queue, stream);
      stream.launch_arguments(view, config, list.list());
    });
  });
}

}  // namespace anyplace_ur
