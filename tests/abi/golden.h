/* SPDX-License-Identifier: Apache-2.0
 *
 * The layout of the plugin boundary, on a 64-bit machine, as numbers: what binaries built against it rely on.
 *
 * Until 0.1.0 is released it may change, here as in abi.h. From then on no line changes, and what a minor version adds
 * is a list of its own. */
#pragma once

#include <anyplace/backend/entries.h>

/* Of the entry that has `index` others of the list before it. */
#define ANYPLACE_GOLDEN_ENTRY_OFFSET(index) (216 + 8 * (index))

/* X(struct, bytes) */
#define ANYPLACE_GOLDEN_STRUCTS(X)   \
  X(anyplace_device_properties, 560) \
  X(anyplace_memory_info, 24)        \
  X(anyplace_process, 32)            \
  X(anyplace_device_sample, 432)     \
  X(anyplace_kernel_attributes, 40)  \
  X(anyplace_global, 24)             \
  X(anyplace_clock, 24)              \
  X(anyplace_stream_desc, 24)        \
  X(anyplace_event_desc, 8)          \
  X(anyplace_copy_2d, 56)            \
  X(anyplace_kernel_metadata, 16)    \
  X(anyplace_module_desc, 48)        \
  X(anyplace_argument, 16)           \
  X(anyplace_launch, 56)             \
  X(anyplace_block, 56)              \
  X(anyplace_graph_node, 96)         \
  X(anyplace_graph_desc, 24)         \
  X(anyplace_ipc_handle, 1048)       \
  X(anyplace_host, 72)               \
  X(anyplace_backend_table, ANYPLACE_GOLDEN_ENTRY_OFFSET(ANYPLACE_ENTRY_COUNT))

/* X(struct, field, offset, bytes), in order. The table's entries come after these: ANYPLACE_ENTRY_LIST. */
#define ANYPLACE_GOLDEN_FIELDS(X)                             \
  X(anyplace_device_properties, struct_size, 0, 4)            \
  X(anyplace_device_properties, compute_units, 4, 4)          \
  X(anyplace_device_properties, capabilities, 8, 8)           \
  X(anyplace_device_properties, image_formats, 16, 8)         \
  X(anyplace_device_properties, total_memory, 24, 8)          \
  X(anyplace_device_properties, address_alignment, 32, 8)     \
  X(anyplace_device_properties, max_shared_bytes, 40, 8)      \
  X(anyplace_device_properties, max_grid, 48, 12)             \
  X(anyplace_device_properties, max_block, 60, 12)            \
  X(anyplace_device_properties, max_threads_per_block, 72, 4) \
  X(anyplace_device_properties, least_priority, 76, 4)        \
  X(anyplace_device_properties, greatest_priority, 80, 4)     \
  X(anyplace_device_properties, reserved, 84, 4)              \
  X(anyplace_device_properties, name, 88, 128)                \
  X(anyplace_device_properties, vendor, 216, 64)              \
  X(anyplace_device_properties, architecture, 280, 64)        \
  X(anyplace_device_properties, driver_version, 344, 64)      \
  X(anyplace_device_properties, uuid, 408, 64)                \
  X(anyplace_device_properties, pci, 472, 32)                 \
  X(anyplace_device_properties, clock_hz, 504, 8)             \
  X(anyplace_device_properties, memory_clock_hz, 512, 8)      \
  X(anyplace_device_properties, l2_cache_bytes, 520, 8)       \
  X(anyplace_device_properties, max_allocation, 528, 8)       \
  X(anyplace_device_properties, memory_bus_bits, 536, 4)      \
  X(anyplace_device_properties, multiprocessors, 540, 4)      \
  X(anyplace_device_properties, sub_group_sizes, 544, 4)      \
  X(anyplace_device_properties, features, 548, 4)             \
  X(anyplace_device_properties, features_known, 552, 4)       \
  X(anyplace_device_properties, reserved_features, 556, 4)    \
  X(anyplace_memory_info, struct_size, 0, 4)                  \
  X(anyplace_memory_info, reserved, 4, 4)                     \
  X(anyplace_memory_info, free_bytes, 8, 8)                   \
  X(anyplace_memory_info, total_bytes, 16, 8)                 \
  X(anyplace_process, id, 0, 8)                               \
  X(anyplace_process, memory_bytes, 8, 8)                     \
  X(anyplace_process, kinds, 16, 4)                           \
  X(anyplace_process, kinds_known, 20, 4)                     \
  X(anyplace_process, compute_ppm, 24, 4)                     \
  X(anyplace_process, compute_known, 28, 4)                   \
  X(anyplace_device_sample, struct_size, 0, 4)                \
  X(anyplace_device_sample, reserved, 4, 4)                   \
  X(anyplace_device_sample, known, 8, 8)                      \
  X(anyplace_device_sample, source, 16, 256)                  \
  X(anyplace_device_sample, compute_ppm, 272, 8)              \
  X(anyplace_device_sample, memory_ppm, 280, 8)               \
  X(anyplace_device_sample, compute_active_ns, 288, 8)        \
  X(anyplace_device_sample, memory_active_ns, 296, 8)         \
  X(anyplace_device_sample, active_clock_ns, 304, 8)          \
  X(anyplace_device_sample, memory_used_bytes, 312, 8)        \
  X(anyplace_device_sample, memory_total_bytes, 320, 8)       \
  X(anyplace_device_sample, temperature_millikelvin, 328, 8)  \
  X(anyplace_device_sample, power_milliwatts, 336, 8)         \
  X(anyplace_device_sample, power_limit_milliwatts, 344, 8)   \
  X(anyplace_device_sample, energy_microjoules, 352, 8)       \
  X(anyplace_device_sample, core_clock_hz, 360, 8)            \
  X(anyplace_device_sample, memory_clock_hz, 368, 8)          \
  X(anyplace_device_sample, throttle, 376, 8)                 \
  X(anyplace_device_sample, ecc_corrected, 384, 8)            \
  X(anyplace_device_sample, ecc_uncorrected, 392, 8)          \
  X(anyplace_device_sample, pcie_rx_bytes, 400, 8)            \
  X(anyplace_device_sample, pcie_tx_bytes, 408, 8)            \
  X(anyplace_device_sample, link_rx_bytes, 416, 8)            \
  X(anyplace_device_sample, link_tx_bytes, 424, 8)            \
  X(anyplace_kernel_attributes, struct_size, 0, 4)            \
  X(anyplace_kernel_attributes, max_threads_per_block, 4, 4)  \
  X(anyplace_kernel_attributes, registers, 8, 4)              \
  X(anyplace_kernel_attributes, sub_group_size, 12, 4)        \
  X(anyplace_kernel_attributes, shared_bytes, 16, 8)          \
  X(anyplace_kernel_attributes, local_bytes, 24, 8)           \
  X(anyplace_kernel_attributes, constant_bytes, 32, 8)        \
  X(anyplace_global, struct_size, 0, 4)                       \
  X(anyplace_global, reserved, 4, 4)                          \
  X(anyplace_global, address, 8, 8)                           \
  X(anyplace_global, bytes, 16, 8)                            \
  X(anyplace_clock, struct_size, 0, 4)                        \
  X(anyplace_clock, reserved, 4, 4)                           \
  X(anyplace_clock, device, 8, 8)                             \
  X(anyplace_clock, host, 16, 8)                              \
  X(anyplace_stream_desc, struct_size, 0, 4)                  \
  X(anyplace_stream_desc, flags, 4, 4)                        \
  X(anyplace_stream_desc, priority, 8, 4)                     \
  X(anyplace_stream_desc, reserved, 12, 4)                    \
  X(anyplace_stream_desc, cookie, 16, 8)                      \
  X(anyplace_event_desc, struct_size, 0, 4)                   \
  X(anyplace_event_desc, flags, 4, 4)                         \
  X(anyplace_copy_2d, struct_size, 0, 4)                      \
  X(anyplace_copy_2d, kind, 4, 4)                             \
  X(anyplace_copy_2d, destination, 8, 8)                      \
  X(anyplace_copy_2d, destination_pitch, 16, 8)               \
  X(anyplace_copy_2d, source, 24, 8)                          \
  X(anyplace_copy_2d, source_pitch, 32, 8)                    \
  X(anyplace_copy_2d, width, 40, 8)                           \
  X(anyplace_copy_2d, rows, 48, 8)                            \
  X(anyplace_kernel_metadata, struct_size, 0, 4)              \
  X(anyplace_kernel_metadata, shared_argument, 4, 4)          \
  X(anyplace_kernel_metadata, name, 8, 8)                     \
  X(anyplace_module_desc, struct_size, 0, 4)                  \
  X(anyplace_module_desc, format, 4, 4)                       \
  X(anyplace_module_desc, image, 8, 8)                        \
  X(anyplace_module_desc, image_bytes, 16, 8)                 \
  X(anyplace_module_desc, metadata, 24, 8)                    \
  X(anyplace_module_desc, metadata_count, 32, 4)              \
  X(anyplace_module_desc, metadata_stride, 36, 4)             \
  X(anyplace_module_desc, options, 40, 8)                     \
  X(anyplace_argument, kind, 0, 4)                            \
  X(anyplace_argument, size, 4, 4)                            \
  X(anyplace_argument, value, 8, 8)                           \
  X(anyplace_launch, struct_size, 0, 4)                       \
  X(anyplace_launch, grid, 4, 12)                             \
  X(anyplace_launch, block, 16, 12)                           \
  X(anyplace_launch, argument_count, 28, 4)                   \
  X(anyplace_launch, argument_stride, 32, 4)                  \
  X(anyplace_launch, reserved, 36, 4)                         \
  X(anyplace_launch, shared_bytes, 40, 8)                     \
  X(anyplace_launch, arguments, 48, 8)                        \
  X(anyplace_block, struct_size, 0, 4)                        \
  X(anyplace_block, grid, 4, 12)                              \
  X(anyplace_block, block, 16, 12)                            \
  X(anyplace_block, index, 28, 12)                            \
  X(anyplace_block, shared, 40, 8)                            \
  X(anyplace_block, shared_bytes, 48, 8)                      \
  X(anyplace_graph_node, kind, 0, 4)                          \
  X(anyplace_graph_node, dependency_count, 4, 4)              \
  X(anyplace_graph_node, dependencies, 8, 8)                  \
  X(anyplace_graph_node, kernel, 16, 8)                       \
  X(anyplace_graph_node, launch, 24, 8)                       \
  X(anyplace_graph_node, copy, 32, 8)                         \
  X(anyplace_graph_node, destination_device, 40, 4)           \
  X(anyplace_graph_node, source_device, 44, 4)                \
  X(anyplace_graph_node, address, 48, 8)                      \
  X(anyplace_graph_node, count, 56, 8)                        \
  X(anyplace_graph_node, value, 64, 4)                        \
  X(anyplace_graph_node, width, 68, 4)                        \
  X(anyplace_graph_node, function, 72, 8)                     \
  X(anyplace_graph_node, user, 80, 8)                         \
  X(anyplace_graph_node, event, 88, 8)                        \
  X(anyplace_graph_desc, struct_size, 0, 4)                   \
  X(anyplace_graph_desc, node_count, 4, 4)                    \
  X(anyplace_graph_desc, node_stride, 8, 4)                   \
  X(anyplace_graph_desc, reserved, 12, 4)                     \
  X(anyplace_graph_desc, nodes, 16, 8)                        \
  X(anyplace_ipc_handle, struct_size, 0, 4)                   \
  X(anyplace_ipc_handle, byte_count, 4, 4)                    \
  X(anyplace_ipc_handle, offset, 8, 8)                        \
  X(anyplace_ipc_handle, size, 16, 8)                         \
  X(anyplace_ipc_handle, bytes, 24, 1024)                     \
  X(anyplace_host, struct_size, 0, 4)                         \
  X(anyplace_host, abi_major, 4, 4)                           \
  X(anyplace_host, abi_minor, 8, 4)                           \
  X(anyplace_host, reserved, 12, 4)                           \
  X(anyplace_host, context, 16, 8)                            \
  X(anyplace_host, leave_message, 24, 8)                      \
  X(anyplace_host, stream_fault, 32, 8)                       \
  X(anyplace_host, user_code_begin, 40, 8)                    \
  X(anyplace_host, user_code_end, 48, 8)                      \
  X(anyplace_host, log, 56, 8)                                \
  X(anyplace_host, host_access, 64, 8)                        \
  X(anyplace_backend_table, struct_size, 0, 4)                \
  X(anyplace_backend_table, abi_major, 4, 4)                  \
  X(anyplace_backend_table, abi_minor, 8, 4)                  \
  X(anyplace_backend_table, reserved, 12, 4)                  \
  X(anyplace_backend_table, name, 16, 32)                     \
  X(anyplace_backend_table, version, 48, 32)                  \
  X(anyplace_backend_table, description, 80, 128)             \
  X(anyplace_backend_table, self, 208, 8)

/* X(name, number) */
#define ANYPLACE_GOLDEN_NUMBERS(X)                    \
  X(ANYPLACE_STATUS_OK, 0)                            \
  X(ANYPLACE_STATUS_INVALID_ARGUMENT, 1)              \
  X(ANYPLACE_STATUS_INVALID_HANDLE, 2)                \
  X(ANYPLACE_STATUS_NO_SUCH_BACKEND, 3)               \
  X(ANYPLACE_STATUS_NO_SUCH_DEVICE, 4)                \
  X(ANYPLACE_STATUS_OUT_OF_MEMORY, 5)                 \
  X(ANYPLACE_STATUS_UNSUPPORTED, 6)                   \
  X(ANYPLACE_STATUS_NOT_PERMITTED, 7)                 \
  X(ANYPLACE_STATUS_NOT_READY, 8)                     \
  X(ANYPLACE_STATUS_TIMING_DISABLED, 9)               \
  X(ANYPLACE_STATUS_NOT_RECORDED, 10)                 \
  X(ANYPLACE_STATUS_TIMEOUT, 11)                      \
  X(ANYPLACE_STATUS_DEVICE_LOST, 12)                  \
  X(ANYPLACE_STATUS_FORKED, 13)                       \
  X(ANYPLACE_STATUS_INVALID_IMAGE, 14)                \
  X(ANYPLACE_STATUS_NO_SUCH_KERNEL, 15)               \
  X(ANYPLACE_STATUS_HOST_FUNCTION_FAILED, 16)         \
  X(ANYPLACE_STATUS_KERNEL_FAILED, 17)                \
  X(ANYPLACE_STATUS_PLUGIN_REFUSED, 18)               \
  X(ANYPLACE_STATUS_LIBRARY_MISSING, 19)              \
  X(ANYPLACE_STATUS_NO_DRIVER, 20)                    \
  X(ANYPLACE_STATUS_BACKEND_FAILED, 21)               \
  X(ANYPLACE_STATUS_INTERNAL, 22)                     \
  X(ANYPLACE_STATUS_SHUT_DOWN, 23)                    \
  X(ANYPLACE_STATUS_NO_SUCH_GLOBAL, 24)               \
  X(ANYPLACE_STATUS_CAPTURING, 25)                    \
  X(ANYPLACE_STATUS_CAPTURE_INVALIDATED, 26)          \
  X(ANYPLACE_STATUS_PEER_GONE, 27)                    \
  X(ANYPLACE_STATUS_COMPILE_FAILED, 28)               \
  X(ANYPLACE_CAPABILITY_BIT_TIMED_EVENTS, 0)          \
  X(ANYPLACE_CAPABILITY_BIT_PRIORITIES, 1)            \
  X(ANYPLACE_CAPABILITY_BIT_BLOCKING_STREAMS, 2)      \
  X(ANYPLACE_CAPABILITY_BIT_HOST_FUNCTIONS, 3)        \
  X(ANYPLACE_CAPABILITY_BIT_GATES, 4)                 \
  X(ANYPLACE_CAPABILITY_BIT_PINNED_MEMORY, 5)         \
  X(ANYPLACE_CAPABILITY_BIT_MANAGED_MEMORY, 6)        \
  X(ANYPLACE_CAPABILITY_BIT_HOST_REGISTER, 7)         \
  X(ANYPLACE_CAPABILITY_BIT_STREAM_ORDERED_MEMORY, 8) \
  X(ANYPLACE_CAPABILITY_BIT_COPY_2D, 9)               \
  X(ANYPLACE_CAPABILITY_BIT_PEER_COPY, 10)            \
  X(ANYPLACE_CAPABILITY_BIT_PEER_ACCESS, 11)          \
  X(ANYPLACE_CAPABILITY_BIT_MODULES, 12)              \
  X(ANYPLACE_CAPABILITY_BIT_HOST_KERNELS, 13)         \
  X(ANYPLACE_CAPABILITY_BIT_NATIVE_HANDLES, 14)       \
  X(ANYPLACE_CAPABILITY_BIT_STREAM_FROM_NATIVE, 15)   \
  X(ANYPLACE_CAPABILITY_BIT_INTERPROCESS_EVENTS, 16)  \
  X(ANYPLACE_CAPABILITY_BIT_DEVICE_RESET, 17)         \
  X(ANYPLACE_CAPABILITY_BIT_VIRTUAL_MEMORY, 18)       \
  X(ANYPLACE_CAPABILITY_BIT_LIST_PROCESSES, 19)       \
  X(ANYPLACE_CAPABILITY_BIT_HOST_COPY, 20)            \
  X(ANYPLACE_CAPABILITY_BIT_EVENT_FROM_NATIVE, 21)    \
  X(ANYPLACE_CAPABILITY_BIT_GRAPHS, 22)               \
  X(ANYPLACE_CAPABILITY_BIT_INTERPROCESS_MEMORY, 23)  \
  X(ANYPLACE_CAPABILITY_BIT_MONITORING, 24)           \
  X(ANYPLACE_SAMPLE_BIT_COMPUTE_PPM, 0)               \
  X(ANYPLACE_SAMPLE_BIT_MEMORY_PPM, 1)                \
  X(ANYPLACE_SAMPLE_BIT_COMPUTE_ACTIVE_NS, 2)         \
  X(ANYPLACE_SAMPLE_BIT_MEMORY_ACTIVE_NS, 3)          \
  X(ANYPLACE_SAMPLE_BIT_ACTIVE_CLOCK_NS, 4)           \
  X(ANYPLACE_SAMPLE_BIT_MEMORY_USED_BYTES, 5)         \
  X(ANYPLACE_SAMPLE_BIT_MEMORY_TOTAL_BYTES, 6)        \
  X(ANYPLACE_SAMPLE_BIT_TEMPERATURE_MILLIKELVIN, 7)   \
  X(ANYPLACE_SAMPLE_BIT_POWER_MILLIWATTS, 8)          \
  X(ANYPLACE_SAMPLE_BIT_POWER_LIMIT_MILLIWATTS, 9)    \
  X(ANYPLACE_SAMPLE_BIT_ENERGY_MICROJOULES, 10)       \
  X(ANYPLACE_SAMPLE_BIT_CORE_CLOCK_HZ, 11)            \
  X(ANYPLACE_SAMPLE_BIT_MEMORY_CLOCK_HZ, 12)          \
  X(ANYPLACE_SAMPLE_BIT_THROTTLE, 13)                 \
  X(ANYPLACE_SAMPLE_BIT_ECC_CORRECTED, 14)            \
  X(ANYPLACE_SAMPLE_BIT_ECC_UNCORRECTED, 15)          \
  X(ANYPLACE_SAMPLE_BIT_PCIE_RX_BYTES, 16)            \
  X(ANYPLACE_SAMPLE_BIT_PCIE_TX_BYTES, 17)            \
  X(ANYPLACE_SAMPLE_BIT_LINK_RX_BYTES, 18)            \
  X(ANYPLACE_SAMPLE_BIT_LINK_TX_BYTES, 19)            \
  X(ANYPLACE_THROTTLE_BIT_IDLE, 0)                    \
  X(ANYPLACE_THROTTLE_BIT_POWER, 1)                   \
  X(ANYPLACE_THROTTLE_BIT_TEMPERATURE, 2)             \
  X(ANYPLACE_THROTTLE_BIT_CURRENT, 3)                 \
  X(ANYPLACE_THROTTLE_BIT_HARDWARE, 4)                \
  X(ANYPLACE_THROTTLE_BIT_SOFTWARE, 5)                \
  X(ANYPLACE_THROTTLE_BIT_SYNCHRONIZED_CLOCKS, 6)     \
  X(ANYPLACE_THROTTLE_BIT_OTHER, 7)                   \
  X(ANYPLACE_PROCESS_COMPUTE, 1)                      \
  X(ANYPLACE_PROCESS_GRAPHICS, 2)                     \
  X(ANYPLACE_GRAPH_NODE_EMPTY, 1)                     \
  X(ANYPLACE_GRAPH_NODE_KERNEL, 2)                    \
  X(ANYPLACE_GRAPH_NODE_COPY, 3)                      \
  X(ANYPLACE_GRAPH_NODE_MEMSET, 4)                    \
  X(ANYPLACE_GRAPH_NODE_HOST_FUNCTION, 5)             \
  X(ANYPLACE_GRAPH_NODE_EVENT_RECORD, 6)              \
  X(ANYPLACE_GRAPH_NODE_EVENT_WAIT, 7)                \
  X(ANYPLACE_GRAPH_NODE_CHILD_GRAPH, 8)               \
  X(ANYPLACE_GRAPH_NODE_STAGED_COPY, 9)               \
  X(ANYPLACE_FEATURE_FLOAT16, 1)                      \
  X(ANYPLACE_FEATURE_FLOAT64, 2)                      \
  X(ANYPLACE_FEATURE_INT64_ATOMICS, 4)                \
  X(ANYPLACE_FEATURE_UNIFIED_ADDRESSING, 8)           \
  X(ANYPLACE_FEATURE_VIRTUAL_TIME, 16)                \
  X(ANYPLACE_IMAGE_PTX, 1)                            \
  X(ANYPLACE_IMAGE_CUBIN, 2)                          \
  X(ANYPLACE_IMAGE_FATBIN, 3)                         \
  X(ANYPLACE_IMAGE_HSACO, 4)                          \
  X(ANYPLACE_IMAGE_SPIRV, 5)                          \
  X(ANYPLACE_IMAGE_NATIVE, 6)                         \
  X(ANYPLACE_IMAGE_SHARED_OBJECT, 7)                  \
  X(ANYPLACE_IMAGE_OPENCL_C, 8)                       \
  X(ANYPLACE_MEMORY_DEVICE, 1)                        \
  X(ANYPLACE_MEMORY_PINNED, 2)                        \
  X(ANYPLACE_MEMORY_MANAGED, 3)                       \
  X(ANYPLACE_MEMORY_SHAREABLE, 4)                     \
  X(ANYPLACE_IPC_BYTES, 1024)                         \
  X(ANYPLACE_COPY_HOST_TO_DEVICE, 1)                  \
  X(ANYPLACE_COPY_DEVICE_TO_HOST, 2)                  \
  X(ANYPLACE_COPY_DEVICE_TO_DEVICE, 3)                \
  X(ANYPLACE_COPY_HOST_TO_HOST, 4)                    \
  X(ANYPLACE_STREAM_BLOCKING, 1)                      \
  X(ANYPLACE_EVENT_TIMING, 1)                         \
  X(ANYPLACE_EVENT_BLOCKING_SYNC, 2)                  \
  X(ANYPLACE_EVENT_INTERPROCESS, 4)                   \
  X(ANYPLACE_ARGUMENT_VALUE, 1)                       \
  X(ANYPLACE_ARGUMENT_ADDRESS, 2)                     \
  X(ANYPLACE_NATIVE_DEVICE, 1)                        \
  X(ANYPLACE_NATIVE_CONTEXT, 2)                       \
  X(ANYPLACE_LOG_INFO, 1)                             \
  X(ANYPLACE_LOG_WARNING, 2)                          \
  X(ANYPLACE_ABI_MAJOR, 1)                            \
  X(ANYPLACE_MAX_DEVICES, 4096)
