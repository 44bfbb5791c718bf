// SPDX-License-Identifier: Apache-2.0
#include "device_info.h"

namespace anyplace_ur {

namespace {

constexpr ur_device_fp_capability_flags_t full_fp =
    UR_DEVICE_FP_CAPABILITY_FLAG_ROUND_TO_NEAREST | UR_DEVICE_FP_CAPABILITY_FLAG_ROUND_TO_ZERO |
    UR_DEVICE_FP_CAPABILITY_FLAG_ROUND_TO_INF | UR_DEVICE_FP_CAPABILITY_FLAG_INF_NAN |
    UR_DEVICE_FP_CAPABILITY_FLAG_DENORM | UR_DEVICE_FP_CAPABILITY_FLAG_FMA;
constexpr ur_memory_order_capability_flags_t all_orders =
    UR_MEMORY_ORDER_CAPABILITY_FLAG_RELAXED | UR_MEMORY_ORDER_CAPABILITY_FLAG_ACQUIRE |
    UR_MEMORY_ORDER_CAPABILITY_FLAG_RELEASE | UR_MEMORY_ORDER_CAPABILITY_FLAG_ACQ_REL |
    UR_MEMORY_ORDER_CAPABILITY_FLAG_SEQ_CST;
constexpr ur_memory_scope_capability_flags_t device_scopes =
    UR_MEMORY_SCOPE_CAPABILITY_FLAG_WORK_ITEM | UR_MEMORY_SCOPE_CAPABILITY_FLAG_SUB_GROUP |
    UR_MEMORY_SCOPE_CAPABILITY_FLAG_WORK_GROUP | UR_MEMORY_SCOPE_CAPABILITY_FLAG_DEVICE;

ur_device_usm_access_capability_flags_t usm_if(bool there_is) {
  return there_is ? ur_device_usm_access_capability_flags_t{UR_DEVICE_USM_ACCESS_CAPABILITY_FLAG_ACCESS} : 0;
}

bool tell_arithmetic(const ur_device_handle_t_& device, ur_device_info_t name, const InfoWriter& write) {
  switch (name) {
    case UR_DEVICE_INFO_SINGLE_FP_CONFIG:
      return write(full_fp), true;
    case UR_DEVICE_INFO_DOUBLE_FP_CONFIG:
      return write(device.properties.float64.value_or(true) ? full_fp : ur_device_fp_capability_flags_t{0}), true;
    case UR_DEVICE_INFO_HALF_FP_CONFIG:
      return write(device.properties.float16.value_or(false) ? full_fp : ur_device_fp_capability_flags_t{0}), true;
    case UR_DEVICE_INFO_ATOMIC_MEMORY_ORDER_CAPABILITIES:
    case UR_DEVICE_INFO_ATOMIC_FENCE_ORDER_CAPABILITIES:
      return write(all_orders), true;
    case UR_DEVICE_INFO_ATOMIC_MEMORY_SCOPE_CAPABILITIES:
    case UR_DEVICE_INFO_ATOMIC_FENCE_SCOPE_CAPABILITIES:
      return write(device_scopes), true;
    case UR_DEVICE_INFO_ATOMIC_64:
      return write.flag(device.properties.int64_atomics.value_or(false)), true;
    default:
      return false;
  }
}

bool tell_usm(const ur_device_handle_t_& device, ur_device_info_t name, const InfoWriter& write) {
  switch (name) {
    case UR_DEVICE_INFO_USM_HOST_SUPPORT:
      return write(usm_if(device.has(anyplace::Capability::pinned_memory))), true;
    case UR_DEVICE_INFO_USM_DEVICE_SUPPORT:
      return write(usm_if(true)), true;
    case UR_DEVICE_INFO_USM_SINGLE_SHARED_SUPPORT:
      return write(usm_if(device.has(anyplace::Capability::managed_memory))), true;
    case UR_DEVICE_INFO_USM_CROSS_SHARED_SUPPORT:
    case UR_DEVICE_INFO_USM_SYSTEM_SHARED_SUPPORT:
      return write(usm_if(false)), true;
    case UR_DEVICE_INFO_USM_POOL_SUPPORT:
    case UR_DEVICE_INFO_USM_CONTEXT_MEMCPY_SUPPORT_EXP:
      return write.flag(true), true;
    case UR_DEVICE_INFO_USM_P2P_SUPPORT_EXP:
      return write.flag(device.has(anyplace::Capability::peer_access)), true;
    case UR_DEVICE_INFO_USM_HOST_ALLOC_REGISTER_SUPPORT_EXP:
      return write.flag(device.has(anyplace::Capability::host_register)), true;
    default:
      return false;
  }
}

bool tell_queues(const ur_device_handle_t_& device, ur_device_info_t name, const InfoWriter& write) {
  const bool timed = device.has(anyplace::Capability::timed_events);
  const ur_queue_flags_t on_host =
      UR_QUEUE_FLAG_OUT_OF_ORDER_EXEC_MODE_ENABLE | (timed ? ur_queue_flags_t{UR_QUEUE_FLAG_PROFILING_ENABLE} : 0);
  switch (name) {
    case UR_DEVICE_INFO_QUEUE_PROPERTIES:
    case UR_DEVICE_INFO_QUEUE_ON_HOST_PROPERTIES:
      return write(on_host), true;
    case UR_DEVICE_INFO_QUEUE_ON_DEVICE_PROPERTIES:
      return write(ur_queue_flags_t{0}), true;
    case UR_DEVICE_INFO_TIMESTAMP_RECORDING_SUPPORT_EXP:
      return write.flag(timed), true;
    case UR_DEVICE_INFO_ENQUEUE_HOST_TASK_SUPPORT_EXP:
      return write.flag(device.has(anyplace::Capability::host_functions)), true;
    case UR_DEVICE_INFO_DEVICE_WAIT_SUPPORT_EXP:
      return write.flag(true), true;
    default:
      return false;
  }
}

bool tell_kernels(const ur_device_handle_t_& device, ur_device_info_t name, const InfoWriter& write) {
  switch (name) {
    case UR_DEVICE_INFO_COMPILER_AVAILABLE:
      return write.flag(takes_images(device, "spirv")), true;
    case UR_DEVICE_INFO_GLOBAL_VARIABLE_SUPPORT:
      return write.flag(device.has(anyplace::Capability::modules)), true;
    case UR_DEVICE_INFO_EXECUTION_CAPABILITIES:
      return write(ur_device_exec_capability_flags_t{UR_DEVICE_EXEC_CAPABILITY_FLAG_KERNEL}), true;
    case UR_DEVICE_INFO_KERNEL_LAUNCH_CAPABILITIES:
      return write(ur_kernel_launch_properties_flags_t{0}), true;
    case UR_DEVICE_INFO_COMMAND_BUFFER_UPDATE_CAPABILITIES_EXP:
      return write(ur_device_command_buffer_update_capability_flags_t{0}), true;
    case UR_DEVICE_INFO_2D_BLOCK_ARRAY_CAPABILITIES_EXP:
      return write(ur_exp_device_2d_block_array_capability_flags_t{0}), true;
    default:
      return false;
  }
}

/// What anyplace has no call for, or no way to find out.
bool is_lacking(ur_device_info_t name) {
  switch (name) {
    case UR_DEVICE_INFO_IMAGE_SUPPORT:
    case UR_DEVICE_INFO_IMAGE_SRGB:
    case UR_DEVICE_INFO_ERROR_CORRECTION_SUPPORT:
    case UR_DEVICE_INFO_HOST_UNIFIED_MEMORY:
    case UR_DEVICE_INFO_LINKER_AVAILABLE:
    case UR_DEVICE_INFO_PREFERRED_INTEROP_USER_SYNC:
    case UR_DEVICE_INFO_SUB_GROUP_INDEPENDENT_FORWARD_PROGRESS:
    case UR_DEVICE_INFO_BUILD_ON_SUBDEVICE:
    case UR_DEVICE_INFO_KERNEL_SET_SPECIALIZATION_CONSTANTS:
    case UR_DEVICE_INFO_PROGRAM_SET_SPECIALIZATION_CONSTANTS:
    case UR_DEVICE_INFO_ASYNC_BARRIER:
    case UR_DEVICE_INFO_MEM_CHANNEL_SUPPORT:
    case UR_DEVICE_INFO_HOST_PIPE_READ_WRITE_SUPPORT:
    case UR_DEVICE_INFO_VIRTUAL_MEMORY_SUPPORT:
    case UR_DEVICE_INFO_ESIMD_SUPPORT:
    case UR_DEVICE_INFO_USE_NATIVE_ASSERT:
    case UR_DEVICE_INFO_BFLOAT16_CONVERSIONS_NATIVE:
    case UR_DEVICE_INFO_COMMAND_BUFFER_SUPPORT_EXP:
    case UR_DEVICE_INFO_COMMAND_BUFFER_EVENT_SUPPORT_EXP:
    case UR_DEVICE_INFO_COMMAND_BUFFER_SUBGRAPH_SUPPORT_EXP:
    case UR_DEVICE_INFO_BINDLESS_IMAGES_SUPPORT_EXP:
    case UR_DEVICE_INFO_BINDLESS_IMAGES_SHARED_USM_SUPPORT_EXP:
    case UR_DEVICE_INFO_BINDLESS_IMAGES_1D_USM_SUPPORT_EXP:
    case UR_DEVICE_INFO_BINDLESS_IMAGES_2D_USM_SUPPORT_EXP:
    case UR_DEVICE_INFO_MIPMAP_SUPPORT_EXP:
    case UR_DEVICE_INFO_MIPMAP_ANISOTROPY_SUPPORT_EXP:
    case UR_DEVICE_INFO_MIPMAP_LEVEL_REFERENCE_SUPPORT_EXP:
    case UR_DEVICE_INFO_EXTERNAL_MEMORY_IMPORT_SUPPORT_EXP:
    case UR_DEVICE_INFO_EXTERNAL_SEMAPHORE_IMPORT_SUPPORT_EXP:
    case UR_DEVICE_INFO_CUBEMAP_SUPPORT_EXP:
    case UR_DEVICE_INFO_CUBEMAP_SEAMLESS_FILTERING_SUPPORT_EXP:
    case UR_DEVICE_INFO_BINDLESS_SAMPLED_IMAGE_FETCH_1D_USM_SUPPORT_EXP:
    case UR_DEVICE_INFO_BINDLESS_SAMPLED_IMAGE_FETCH_1D_SUPPORT_EXP:
    case UR_DEVICE_INFO_BINDLESS_SAMPLED_IMAGE_FETCH_2D_USM_SUPPORT_EXP:
    case UR_DEVICE_INFO_BINDLESS_SAMPLED_IMAGE_FETCH_2D_SUPPORT_EXP:
    case UR_DEVICE_INFO_BINDLESS_SAMPLED_IMAGE_FETCH_3D_SUPPORT_EXP:
    case UR_DEVICE_INFO_IMAGE_ARRAY_SUPPORT_EXP:
    case UR_DEVICE_INFO_BINDLESS_UNIQUE_ADDRESSING_PER_DIM_SUPPORT_EXP:
    case UR_DEVICE_INFO_BINDLESS_SAMPLE_1D_USM_SUPPORT_EXP:
    case UR_DEVICE_INFO_BINDLESS_SAMPLE_2D_USM_SUPPORT_EXP:
    case UR_DEVICE_INFO_BINDLESS_IMAGES_GATHER_SUPPORT_EXP:
    case UR_DEVICE_INFO_ENQUEUE_NATIVE_COMMAND_SUPPORT_EXP:
    case UR_DEVICE_INFO_LOW_POWER_EVENTS_SUPPORT_EXP:
    case UR_DEVICE_INFO_IPC_MEMORY_SUPPORT_EXP:
    case UR_DEVICE_INFO_IPC_PHYSICAL_MEMORY_SUPPORT_EXP:
    case UR_DEVICE_INFO_IPC_EVENT_SUPPORT_EXP:
    case UR_DEVICE_INFO_REUSABLE_EVENTS_SUPPORT_EXP:
    case UR_DEVICE_INFO_ASYNC_USM_ALLOCATIONS_SUPPORT_EXP:
    case UR_DEVICE_INFO_CLOCK_SUB_GROUP_SUPPORT_EXP:
    case UR_DEVICE_INFO_CLOCK_WORK_GROUP_SUPPORT_EXP:
    case UR_DEVICE_INFO_CLOCK_DEVICE_SUPPORT_EXP:
    case UR_DEVICE_INFO_IS_INTEGRATED_GPU:
    case UR_DEVICE_INFO_GRAPH_RECORD_AND_REPLAY_SUPPORT_EXP:
    case UR_DEVICE_INFO_PER_EVENT_PROFILING_SUPPORT_EXP:
    case UR_DEVICE_INFO_MULTI_DEVICE_COMPILE_SUPPORT_EXP:
    case UR_DEVICE_INFO_DYNAMIC_LINK_SUPPORT_EXP:
    case UR_DEVICE_INFO_MEMORY_EXPORT_EXPORTABLE_DEVICE_MEM_EXP:
      return true;
    default:
      return false;
  }
}

}  // namespace

bool tell_features(ur_device_handle_t_& device, ur_device_info_t name, const InfoWriter& write) {
  if (tell_arithmetic(device, name, write) || tell_usm(device, name, write)) return true;
  if (tell_queues(device, name, write) || tell_kernels(device, name, write)) return true;
  if (name == UR_DEVICE_INFO_ENDIAN_LITTLE) return write.flag(true), true;
  if (!is_lacking(name)) return false;
  write.flag(false);
  return true;
}

}  // namespace anyplace_ur
