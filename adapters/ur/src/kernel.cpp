// SPDX-License-Identifier: Apache-2.0
#include "kernel.h"

#include <algorithm>

#include "entries.h"
#include "info.h"
#include "queue.h"
#include "work_group.h"

anyplace::KernelAttributes ur_kernel_handle_t_::attributes(ur_device_handle_t device) const {
  return program->kernel(device, name).attributes();
}

namespace anyplace_ur {

namespace {

uint32_t registers_of(ur_kernel_handle_t_& kernel) {
  const auto attributes = kernel.attributes(kernel.program->built().front());
  if (!attributes.registers.has_value()) refuse_query();
  return *attributes.registers;
}

void suggest(ur_kernel_handle_t kernel, ur_queue_handle_t queue, uint32_t dimensions, const size_t* global,
             size_t* suggested) {
  require_handle(kernel);
  require_handle(queue);
  require_pointer(suggested);
  const WorkSize local = suggested_local(*queue->device, work_size(dimensions, global));
  std::copy(local.begin(), local.begin() + dimensions, suggested);
}

}  // namespace

ur_result_t urKernelCreate(ur_program_handle_t program, const char* name, ur_kernel_handle_t* kernel) {
  return guarded("urKernelCreate", [&] {
    require_handle(program);
    require_pointer(name);
    require_pointer(kernel);
    const std::vector<ur_device_handle_t> built = program->built();
    require(!built.empty(), UR_RESULT_ERROR_INVALID_PROGRAM_EXECUTABLE, "the program isn't built for any device");
    for (const ur_device_handle_t device : built) static_cast<void>(program->kernel(device, name));
    *kernel = new ur_kernel_handle_t_(program, name);
  });
}

ur_result_t urKernelRetain(ur_kernel_handle_t kernel) {
  return guarded("urKernelRetain", [&] {
    require_handle(kernel);
    kernel->retain();
  });
}

ur_result_t urKernelRelease(ur_kernel_handle_t kernel) {
  return guarded("urKernelRelease", [&] {
    require_handle(kernel);
    release_handle(kernel);
  });
}

ur_result_t urKernelGetInfo(ur_kernel_handle_t kernel, ur_kernel_info_t name, size_t size, void* value,
                            size_t* size_needed) {
  return guarded("urKernelGetInfo", [&] {
    require_handle(kernel);
    const InfoWriter write(size, value, size_needed);
    switch (name) {
      case UR_KERNEL_INFO_FUNCTION_NAME:
        return write.text(kernel->name);
      case UR_KERNEL_INFO_REFERENCE_COUNT:
        return write(kernel->references());
      case UR_KERNEL_INFO_CONTEXT:
        return write(kernel->program->context.get());
      case UR_KERNEL_INFO_PROGRAM:
        return write(kernel->program.get());
      case UR_KERNEL_INFO_ATTRIBUTES:
        return write.text("");
      case UR_KERNEL_INFO_NUM_REGS:
        return write(registers_of(*kernel));
      case UR_KERNEL_INFO_NUM_ARGS:
      case UR_KERNEL_INFO_SPILL_MEM_SIZE:
        refuse_query();  // a module doesn't tell
      default:
        throw Failure(UR_RESULT_ERROR_INVALID_ENUMERATION, "there is no such query of a kernel");
    }
  });
}

ur_result_t urKernelGetGroupInfo(ur_kernel_handle_t kernel, ur_device_handle_t device, ur_kernel_group_info_t name,
                                 size_t size, void* value, size_t* size_needed) {
  return guarded("urKernelGetGroupInfo", [&] {
    require_handle(kernel);
    require_handle(device);
    const InfoWriter write(size, value, size_needed);
    switch (name) {
      case UR_KERNEL_GROUP_INFO_WORK_GROUP_SIZE:
        return write(size_t{kernel->attributes(device).max_threads_per_block});
      case UR_KERNEL_GROUP_INFO_COMPILE_WORK_GROUP_SIZE:
      case UR_KERNEL_GROUP_INFO_COMPILE_MAX_WORK_GROUP_SIZE:
        return write(WorkSize{0, 0, 0});  // a kernel is compiled for any size
      case UR_KERNEL_GROUP_INFO_COMPILE_MAX_LINEAR_WORK_GROUP_SIZE:
        return write(size_t{0});
      case UR_KERNEL_GROUP_INFO_LOCAL_MEM_SIZE:
        return write(static_cast<size_t>(kernel->attributes(device).shared_bytes.value_or(0)));
      case UR_KERNEL_GROUP_INFO_PRIVATE_MEM_SIZE:
        return write(static_cast<size_t>(kernel->attributes(device).local_bytes.value_or(0)));
      case UR_KERNEL_GROUP_INFO_PREFERRED_WORK_GROUP_SIZE_MULTIPLE:
        return write(size_t{kernel->attributes(device).sub_group_size.value_or(1)});
      case UR_KERNEL_GROUP_INFO_GLOBAL_WORK_SIZE:
        throw Failure(UR_RESULT_ERROR_INVALID_VALUE, "the kernel isn't one that is built in");
      default:
        throw Failure(UR_RESULT_ERROR_INVALID_ENUMERATION, "there is no such query of a kernel's groups");
    }
  });
}

ur_result_t urKernelGetSubGroupInfo(ur_kernel_handle_t kernel, ur_device_handle_t device,
                                    ur_kernel_sub_group_info_t name, size_t size, void* value, size_t* size_needed) {
  return guarded("urKernelGetSubGroupInfo", [&] {
    require_handle(kernel);
    require_handle(device);
    const InfoWriter write(size, value, size_needed);
    switch (name) {
      case UR_KERNEL_SUB_GROUP_INFO_MAX_SUB_GROUP_SIZE:
        return write(kernel->attributes(device).sub_group_size.value_or(1));
      case UR_KERNEL_SUB_GROUP_INFO_MAX_NUM_SUB_GROUPS: {
        const anyplace::KernelAttributes attributes = kernel->attributes(device);
        return write(std::max(attributes.max_threads_per_block / attributes.sub_group_size.value_or(1), 1U));
      }
      case UR_KERNEL_SUB_GROUP_INFO_COMPILE_NUM_SUB_GROUPS:
      case UR_KERNEL_SUB_GROUP_INFO_SUB_GROUP_SIZE_INTEL:
        return write(uint32_t{0});
      default:
        throw Failure(UR_RESULT_ERROR_INVALID_ENUMERATION, "there is no such query of a kernel's sub-groups");
    }
  });
}

ur_result_t urKernelGetNativeHandle(ur_kernel_handle_t kernel, ur_native_handle_t* native) {
  return guarded("urKernelGetNativeHandle", [&] {
    require_handle(kernel);
    require_pointer(native);
    ur_program_handle_t_& program = *kernel->program;
    *native = program.kernel(program.built().front(), kernel->name).native_handle();
  });
}

ur_result_t urKernelSuggestMaxCooperativeGroupCount(ur_kernel_handle_t kernel, ur_device_handle_t device,
                                                    uint32_t dimensions, const size_t* local, size_t shared_bytes,
                                                    uint32_t* count) {
  return guarded("urKernelSuggestMaxCooperativeGroupCount", [&] {
    require_handle(kernel);
    require_handle(device);
    require_pointer(count);
    const WorkSize size = work_size(dimensions, local);
    const auto threads = static_cast<uint32_t>(size[0] * size[1] * size[2]);
    const anyplace::KernelView view = kernel->program->kernel(device, kernel->name);
    *count = view.max_active_blocks(threads, shared_bytes) * device->properties.multiprocessors.value_or(1);
  });
}

ur_result_t urKernelSetExecInfo(ur_kernel_handle_t kernel, ur_kernel_exec_info_t name, size_t,
                                const ur_kernel_exec_info_properties_t*, const void* value) {
  return guarded("urKernelSetExecInfo", [&] {
    require_handle(kernel);
    require_pointer(value);
    // Hints: which memory a kernel reaches indirectly (all that there is), and how to use the caches.
    const bool known = name == UR_KERNEL_EXEC_INFO_USM_INDIRECT_ACCESS || name == UR_KERNEL_EXEC_INFO_USM_PTRS ||
                       name == UR_KERNEL_EXEC_INFO_CACHE_CONFIG;
    require(known, UR_RESULT_ERROR_INVALID_ENUMERATION, "there is no such setting of a kernel");
  });
}

ur_result_t urKernelGetSuggestedLocalWorkSize(ur_kernel_handle_t kernel, ur_queue_handle_t queue, uint32_t dimensions,
                                              const size_t*, const size_t* global, size_t* suggested) {
  return guarded("urKernelGetSuggestedLocalWorkSize", [&] { suggest(kernel, queue, dimensions, global, suggested); });
}

ur_result_t urKernelGetSuggestedLocalWorkSizeWithArgs(ur_kernel_handle_t kernel, ur_queue_handle_t queue,
                                                      uint32_t dimensions, const size_t*, const size_t* global,
                                                      uint32_t, const ur_exp_kernel_arg_properties_t*,
                                                      size_t* suggested) {
  return guarded("urKernelGetSuggestedLocalWorkSizeWithArgs",
                 [&] { suggest(kernel, queue, dimensions, global, suggested); });
}

}  // namespace anyplace_ur
