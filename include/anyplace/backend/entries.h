/* SPDX-License-Identifier: Apache-2.0
 *
 * A list of all entries of anyplace_backend_table, for code that has to go through them: the core's checks of a
 * table, DeviceBackend's entries, tables that forward, the offsets that tests pin, the check of the documentation.
 *
 * abi.h says what each entry does. A new entry is written at the end of the table there and at the end of this list.
 * The assertions below compare the two, so an entry that is missing or misplaced in one of them doesn't compile. Once
 * 0.1.0 is released no line of the list may move or go.
 */
#pragma once

#include <stddef.h>

#include "abi.h"

/* X(entry, presence, capabilities)
 *   presence       REQUIRED: every backend has it.
 *                  OPTIONAL: it may be null.
 *                  TOGETHER: it may be null, and so are then all others of its capability that say TOGETHER.
 *   capabilities   a device that claims one of these has to have the entry; bits of 1 << ANYPLACE_CAPABILITY_BIT_*. */
#define ANYPLACE_ENTRY_LIST(X)                                                   \
  /* Life. */                                                                    \
  X(shutdown, OPTIONAL, 0)                                                       \
  /* Devices. */                                                                 \
  X(device_count, REQUIRED, 0)                                                   \
  X(device_properties, REQUIRED, 0)                                              \
  X(device_native, OPTIONAL, ANYPLACE_FOR(NATIVE_HANDLES))                       \
  X(device_memory, REQUIRED, 0)                                                  \
  X(device_synchronize, REQUIRED, 0)                                             \
  X(device_reset, OPTIONAL, ANYPLACE_FOR(DEVICE_RESET))                          \
  /* Peer access. */                                                             \
  X(peer_query, TOGETHER, ANYPLACE_FOR(PEER_ACCESS))                             \
  X(peer_enable, TOGETHER, ANYPLACE_FOR(PEER_ACCESS))                            \
  X(peer_disable, TOGETHER, ANYPLACE_FOR(PEER_ACCESS))                           \
  /* Streams. */                                                                 \
  X(stream_create, REQUIRED, 0)                                                  \
  X(stream_default, REQUIRED, 0)                                                 \
  X(stream_from_native, OPTIONAL, ANYPLACE_FOR(STREAM_FROM_NATIVE))              \
  X(stream_native, OPTIONAL, ANYPLACE_FOR(NATIVE_HANDLES))                       \
  X(stream_destroy, REQUIRED, 0)                                                 \
  X(stream_query, REQUIRED, 0)                                                   \
  X(stream_synchronize, REQUIRED, 0)                                             \
  X(stream_wait_event, REQUIRED, 0)                                              \
  X(stream_host_function, OPTIONAL, ANYPLACE_FOR(HOST_FUNCTIONS))                \
  /* Gates. */                                                                   \
  X(gate_create, TOGETHER, ANYPLACE_FOR(GATES))                                  \
  X(gate_open, TOGETHER, ANYPLACE_FOR(GATES))                                    \
  X(gate_destroy, TOGETHER, ANYPLACE_FOR(GATES))                                 \
  X(stream_wait_gate, TOGETHER, ANYPLACE_FOR(GATES))                             \
  /* Events. */                                                                  \
  X(event_create, REQUIRED, 0)                                                   \
  X(event_destroy, REQUIRED, 0)                                                  \
  X(event_record, REQUIRED, 0)                                                   \
  X(event_query, REQUIRED, 0)                                                    \
  X(event_synchronize, REQUIRED, 0)                                              \
  X(event_elapsed, OPTIONAL, ANYPLACE_FOR(TIMED_EVENTS))                         \
  X(event_native, OPTIONAL, ANYPLACE_FOR(NATIVE_HANDLES))                        \
  /* Memory. */                                                                  \
  X(memory_allocate, REQUIRED, 0)                                                \
  X(memory_free, REQUIRED, 0)                                                    \
  X(memory_allocate_async, TOGETHER, ANYPLACE_FOR(STREAM_ORDERED_MEMORY))        \
  X(memory_free_async, TOGETHER, ANYPLACE_FOR(STREAM_ORDERED_MEMORY))            \
  X(host_register, TOGETHER, ANYPLACE_FOR(HOST_REGISTER))                        \
  X(host_unregister, TOGETHER, ANYPLACE_FOR(HOST_REGISTER))                      \
  /* Copies and fills. */                                                        \
  X(memory_copy, REQUIRED, 0)                                                    \
  X(memory_copy_2d, OPTIONAL, ANYPLACE_FOR(COPY_2D))                             \
  X(memory_copy_peer, OPTIONAL, ANYPLACE_FOR(PEER_COPY))                         \
  X(memory_set, REQUIRED, 0)                                                     \
  /* Kernels. */                                                                 \
  X(module_load, TOGETHER, ANYPLACE_FOR(MODULES))                                \
  X(module_unload, TOGETHER, ANYPLACE_FOR(MODULES))                              \
  X(module_kernel, TOGETHER, ANYPLACE_FOR(MODULES))                              \
  X(kernel_from_host, TOGETHER, ANYPLACE_FOR(HOST_KERNELS))                      \
  X(kernel_destroy, TOGETHER, ANYPLACE_FOR(HOST_KERNELS))                        \
  X(kernel_launch, OPTIONAL, ANYPLACE_FOR(MODULES) | ANYPLACE_FOR(HOST_KERNELS)) \
  /* Virtual memory. */                                                          \
  X(virtual_granularity, TOGETHER, ANYPLACE_FOR(VIRTUAL_MEMORY))                 \
  X(virtual_reserve, TOGETHER, ANYPLACE_FOR(VIRTUAL_MEMORY))                     \
  X(virtual_release, TOGETHER, ANYPLACE_FOR(VIRTUAL_MEMORY))                     \
  X(physical_create, TOGETHER, ANYPLACE_FOR(VIRTUAL_MEMORY))                     \
  X(physical_destroy, TOGETHER, ANYPLACE_FOR(VIRTUAL_MEMORY))                    \
  X(virtual_map, TOGETHER, ANYPLACE_FOR(VIRTUAL_MEMORY))                         \
  X(virtual_unmap, TOGETHER, ANYPLACE_FOR(VIRTUAL_MEMORY))                       \
  /* Processes. */                                                               \
  X(list_processes, OPTIONAL, ANYPLACE_FOR(LIST_PROCESSES))                      \
  /* More of virtual memory. */                                                  \
  X(virtual_map_all, OPTIONAL, 0)                                                \
  /* Clocks. */                                                                  \
  X(event_timestamp, OPTIONAL, 0)                                                \
  X(device_clock, OPTIONAL, 0)                                                   \
  /* More native handles. */                                                     \
  X(event_from_native, OPTIONAL, ANYPLACE_FOR(EVENT_FROM_NATIVE))                \
  X(module_native, OPTIONAL, 0)                                                  \
  X(kernel_native, OPTIONAL, 0)                                                  \
  /* More of kernels. */                                                         \
  X(kernel_attributes, OPTIONAL, 0)                                              \
  X(kernel_occupancy, OPTIONAL, 0)                                               \
  X(module_global, OPTIONAL, 0)                                                  \
  /* Graphs. */                                                                  \
  X(graph_create, TOGETHER, ANYPLACE_FOR(GRAPHS))                                \
  X(graph_update, TOGETHER, ANYPLACE_FOR(GRAPHS))                                \
  X(graph_launch, TOGETHER, ANYPLACE_FOR(GRAPHS))                                \
  X(graph_destroy, TOGETHER, ANYPLACE_FOR(GRAPHS))                               \
  /* Sharing between processes. */                                               \
  X(memory_export, TOGETHER, ANYPLACE_FOR(INTERPROCESS_MEMORY))                  \
  X(memory_export_end, OPTIONAL, 0)                                              \
  X(memory_import, TOGETHER, ANYPLACE_FOR(INTERPROCESS_MEMORY))                  \
  X(memory_import_end, TOGETHER, ANYPLACE_FOR(INTERPROCESS_MEMORY))              \
  X(event_export, TOGETHER, ANYPLACE_FOR(INTERPROCESS_EVENTS))                   \
  X(event_import, TOGETHER, ANYPLACE_FOR(INTERPROCESS_EVENTS))                   \
  /* Monitoring. */                                                              \
  X(device_sample, OPTIONAL, ANYPLACE_FOR(MONITORING))

/* The bit of a capability in the list above. */
#define ANYPLACE_FOR(capability) (UINT64_C(1) << ANYPLACE_CAPABILITY_BIT_##capability)

/* The values of ANYPLACE_ENTRY_##presence. */
enum {
  ANYPLACE_ENTRY_REQUIRED = 1, /* every backend has it */
  ANYPLACE_ENTRY_OPTIONAL = 2, /* it may be null */
  ANYPLACE_ENTRY_TOGETHER = 3  /* it may be null with the others of its capability */
};

/* ANYPLACE_ENTRY_INDEX_##entry counts from 0; ANYPLACE_ENTRY_COUNT is how many there are. */
enum {
#define ANYPLACE_ENTRY_ENUM(entry, presence, capabilities) ANYPLACE_ENTRY_INDEX_##entry,
  ANYPLACE_ENTRY_LIST(ANYPLACE_ENTRY_ENUM)
#undef ANYPLACE_ENTRY_ENUM
      ANYPLACE_ENTRY_COUNT /* how many entries there are */
};

/* The offsets in the table of the first entry and of a given entry. Entries are function pointers without gaps.
 */
#define ANYPLACE_ENTRY_BEGIN (offsetof(anyplace_backend_table, self) + sizeof(void*))
/* Where that entry is in the table, in bytes from its beginning. */
#define ANYPLACE_ENTRY_OFFSET(entry) (ANYPLACE_ENTRY_BEGIN + ANYPLACE_ENTRY_INDEX_##entry * sizeof(void (*)(void)))

#ifdef __cplusplus
#define ANYPLACE_ENTRY_ASSERT(condition, text) static_assert(condition, text)
#else
#define ANYPLACE_ENTRY_ASSERT(condition, text) _Static_assert(condition, text)
#endif
#define ANYPLACE_ENTRY_CHECK(entry, presence, capabilities)                                            \
  ANYPLACE_ENTRY_ASSERT(offsetof(anyplace_backend_table, entry) == ANYPLACE_ENTRY_OFFSET(entry),       \
                        "the table in abi.h and the list in entries.h differ at or before " #entry);   \
  ANYPLACE_ENTRY_ASSERT((ANYPLACE_ENTRY_##presence != ANYPLACE_ENTRY_TOGETHER) || (capabilities) != 0, \
                        #entry " is together with the others of no capability");
ANYPLACE_ENTRY_LIST(ANYPLACE_ENTRY_CHECK)
#undef ANYPLACE_ENTRY_CHECK
ANYPLACE_ENTRY_ASSERT(sizeof(anyplace_backend_table) ==
                          ANYPLACE_ENTRY_BEGIN + ANYPLACE_ENTRY_COUNT * sizeof(void (*)(void)),
                      "the table in abi.h has entries at its end that the list in entries.h lacks");
#undef ANYPLACE_ENTRY_ASSERT
