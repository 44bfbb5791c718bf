/* SPDX-License-Identifier: Apache-2.0
 *
 * What the arguments of each entry are, in the order of the parameters after `self`: for code that follows handles or
 * shows calls without knowing each entry, as layers do (kit/layer.h, which compares this list with the table).
 *
 * X(entry, arguments), where the arguments are A(role, kind, name) one after the other, without commas.
 *   role   IN     the entry reads it
 *          OUT    a pointer; the entry writes what it points to, if it succeeds
 *          INOUT  a pointer; the entry reads and writes what it points to
 *          END    as IN, and the object is gone when the entry has succeeded; memory of an address is freed or unmapped
 *   kind   DEVICE                                                     the index of a device
 *          STREAM, EVENT, GATE, MODULE, KERNEL, PHYSICAL, GRAPH       a handle
 *          ADDRESS, HOST_ADDRESS                                      of device memory, or as abi.h says; of the host's
 *          NATIVE                                                     a handle of the vendor's
 *          BYTES, NANOSECONDS, MILLISECONDS, NUMBER                   a number
 *          TEXT                                                       characters that end with NUL
 *          STRUCT                                                     a pointer to one struct, or to several
 *          FUNCTION, USER                                             a function that the backend calls, and its
 * argument name   the parameter's
 *
 * The first argument says which device a call is for: it is a device or a handle of one. shutdown and device_count are
 * for all devices. */
#pragma once

#include "entries.h"

/* X(entry, A(direction, kind, name)...), in the order of the table. */
#define ANYPLACE_ENTRY_ARGUMENTS(X, A)                                                                                \
  X(shutdown, A(IN, NANOSECONDS, timeout_ns))                                                                         \
  X(device_count, A(OUT, NUMBER, count))                                                                              \
  X(device_properties, A(IN, DEVICE, device) A(OUT, STRUCT, out))                                                     \
  X(device_native, A(IN, DEVICE, device) A(IN, NUMBER, kind) A(OUT, NATIVE, native))                                  \
  X(device_memory, A(IN, DEVICE, device) A(OUT, STRUCT, out))                                                         \
  X(device_synchronize, A(IN, DEVICE, device) A(IN, NANOSECONDS, timeout_ns))                                         \
  X(device_reset, A(IN, DEVICE, device))                                                                              \
  X(peer_query, A(IN, DEVICE, device) A(IN, DEVICE, peer) A(OUT, NUMBER, can_access))                                 \
  X(peer_enable, A(IN, DEVICE, device) A(IN, DEVICE, peer))                                                           \
  X(peer_disable, A(IN, DEVICE, device) A(IN, DEVICE, peer))                                                          \
  X(stream_create, A(IN, DEVICE, device) A(IN, STRUCT, desc) A(OUT, STREAM, out))                                     \
  X(stream_default, A(IN, DEVICE, device) A(IN, STRUCT, desc) A(OUT, STREAM, out))                                    \
  X(stream_from_native, A(IN, DEVICE, device) A(IN, NATIVE, native) A(IN, STRUCT, desc) A(OUT, STREAM, out))          \
  X(stream_native, A(IN, STREAM, stream) A(OUT, NATIVE, native))                                                      \
  X(stream_destroy, A(END, STREAM, stream))                                                                           \
  X(stream_query, A(IN, STREAM, stream) A(OUT, NUMBER, done))                                                         \
  X(stream_synchronize, A(IN, STREAM, stream) A(IN, NANOSECONDS, timeout_ns))                                         \
  X(stream_wait_event, A(IN, STREAM, stream) A(IN, EVENT, event))                                                     \
  X(stream_host_function, A(IN, STREAM, stream) A(IN, FUNCTION, function) A(IN, USER, user))                          \
  X(gate_create, A(IN, DEVICE, device) A(OUT, GATE, out))                                                             \
  X(gate_open, A(IN, GATE, gate))                                                                                     \
  X(gate_destroy, A(END, GATE, gate))                                                                                 \
  X(stream_wait_gate, A(IN, STREAM, stream) A(IN, GATE, gate))                                                        \
  X(event_create, A(IN, DEVICE, device) A(IN, STRUCT, desc) A(OUT, EVENT, out))                                       \
  X(event_destroy, A(END, EVENT, event))                                                                              \
  X(event_record, A(IN, EVENT, event) A(IN, STREAM, stream))                                                          \
  X(event_query, A(IN, EVENT, event) A(OUT, NUMBER, done))                                                            \
  X(event_synchronize, A(IN, EVENT, event) A(IN, NANOSECONDS, timeout_ns))                                            \
  X(event_elapsed, A(IN, EVENT, start) A(IN, EVENT, end) A(OUT, MILLISECONDS, milliseconds))                          \
  X(event_native, A(IN, EVENT, event) A(OUT, NATIVE, native))                                                         \
  X(memory_allocate, A(IN, DEVICE, device) A(IN, NUMBER, kind) A(IN, BYTES, bytes) A(OUT, ADDRESS, out))              \
  X(memory_free, A(IN, DEVICE, device) A(IN, NUMBER, kind) A(END, ADDRESS, address))                                  \
  X(memory_allocate_async, A(IN, STREAM, stream) A(IN, BYTES, bytes) A(OUT, ADDRESS, out))                            \
  X(memory_free_async, A(IN, STREAM, stream) A(END, ADDRESS, address))                                                \
  X(host_register, A(IN, DEVICE, device) A(IN, HOST_ADDRESS, address) A(IN, BYTES, bytes))                            \
  X(host_unregister, A(IN, DEVICE, device) A(END, HOST_ADDRESS, address))                                             \
  X(memory_copy,                                                                                                      \
    A(IN, STREAM, stream) A(IN, ADDRESS, destination) A(IN, ADDRESS, source) A(IN, BYTES, bytes) A(IN, NUMBER, kind)) \
  X(memory_copy_2d, A(IN, STREAM, stream) A(IN, STRUCT, copy))                                                        \
  X(memory_copy_peer, A(IN, STREAM, stream) A(IN, DEVICE, destination_device) A(IN, ADDRESS, destination)             \
                          A(IN, DEVICE, source_device) A(IN, ADDRESS, source) A(IN, BYTES, bytes))                    \
  X(memory_set,                                                                                                       \
    A(IN, STREAM, stream) A(IN, ADDRESS, address) A(IN, NUMBER, value) A(IN, NUMBER, width) A(IN, NUMBER, count))     \
  X(module_load, A(IN, DEVICE, device) A(IN, STRUCT, desc) A(OUT, MODULE, out))                                       \
  X(module_unload, A(END, MODULE, module))                                                                            \
  X(module_kernel, A(IN, MODULE, module) A(IN, TEXT, name) A(OUT, KERNEL, out))                                       \
  X(kernel_from_host,                                                                                                 \
    A(IN, DEVICE, device) A(IN, FUNCTION, function) A(IN, USER, user) A(IN, FUNCTION, release) A(OUT, KERNEL, out))   \
  X(kernel_destroy, A(END, KERNEL, kernel))                                                                           \
  X(kernel_launch, A(IN, STREAM, stream) A(IN, KERNEL, kernel) A(IN, STRUCT, launch))                                 \
  X(virtual_granularity, A(IN, DEVICE, device) A(OUT, BYTES, bytes))                                                  \
  X(virtual_reserve, A(IN, DEVICE, device) A(IN, BYTES, bytes) A(OUT, ADDRESS, out))                                  \
  X(virtual_release, A(IN, DEVICE, device) A(END, ADDRESS, address) A(IN, BYTES, bytes))                              \
  X(physical_create, A(IN, DEVICE, device) A(IN, BYTES, bytes) A(OUT, PHYSICAL, out))                                 \
  X(physical_destroy, A(END, PHYSICAL, physical))                                                                     \
  X(virtual_map, A(IN, DEVICE, device) A(IN, ADDRESS, address) A(IN, PHYSICAL, physical))                             \
  X(virtual_unmap, A(IN, DEVICE, device) A(END, ADDRESS, address) A(IN, BYTES, bytes))                                \
  X(list_processes, A(IN, DEVICE, device) A(OUT, STRUCT, processes) A(IN, NUMBER, stride) A(INOUT, NUMBER, count))    \
  X(virtual_map_all, A(IN, DEVICE, device) A(IN, ADDRESS, address) A(IN, STRUCT, physicals) A(IN, NUMBER, count))     \
  X(event_timestamp, A(IN, EVENT, event) A(OUT, NANOSECONDS, nanoseconds))                                            \
  X(device_clock, A(IN, DEVICE, device) A(OUT, STRUCT, out))                                                          \
  X(event_from_native, A(IN, DEVICE, device) A(IN, NATIVE, native) A(IN, NUMBER, flags) A(OUT, EVENT, out))           \
  X(module_native, A(IN, MODULE, module) A(OUT, NATIVE, native))                                                      \
  X(kernel_native, A(IN, KERNEL, kernel) A(OUT, NATIVE, native))                                                      \
  X(kernel_attributes, A(IN, KERNEL, kernel) A(OUT, STRUCT, out))                                                     \
  X(kernel_occupancy, A(IN, KERNEL, kernel) A(IN, NUMBER, threads) A(IN, BYTES, shared_bytes) A(OUT, NUMBER, blocks)) \
  X(module_global, A(IN, MODULE, module) A(IN, TEXT, name) A(OUT, STRUCT, out))                                       \
  X(graph_create, A(IN, DEVICE, device) A(IN, STRUCT, desc) A(OUT, GRAPH, out))                                       \
  X(graph_update, A(IN, GRAPH, graph) A(IN, STRUCT, desc))                                                            \
  X(graph_launch, A(IN, GRAPH, graph) A(IN, STREAM, stream))                                                          \
  X(graph_destroy, A(END, GRAPH, graph))                                                                              \
  X(memory_export, A(IN, DEVICE, device) A(IN, ADDRESS, address) A(IN, BYTES, bytes) A(OUT, STRUCT, out))             \
  X(memory_export_end, A(IN, DEVICE, device) A(IN, ADDRESS, address) A(IN, STRUCT, handle))                           \
  X(memory_import, A(IN, DEVICE, device) A(IN, STRUCT, handle) A(OUT, ADDRESS, out))                                  \
  X(memory_import_end, A(IN, DEVICE, device) A(END, ADDRESS, address))                                                \
  X(event_export, A(IN, EVENT, event) A(OUT, STRUCT, out))                                                            \
  X(event_import, A(IN, DEVICE, device) A(IN, STRUCT, handle) A(OUT, EVENT, out))                                     \
  X(device_sample, A(IN, DEVICE, device) A(OUT, STRUCT, out))
