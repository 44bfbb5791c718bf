/* SPDX-License-Identifier: Apache-2.0
 *
 * The contract, entry by entry, and the one symbol that the plugin exports. <anyplace/backend/abi.h> says what each
 * entry has to do. An entry that stays null is a capability that newname lacks.
 *
 * Nothing may be started or opened before it is needed: anyplace_backend_entry runs when the name is first used, and a
 * process that only lists devices uses it too. */
#include <anyplace/backend/abi.h>
#include <stdio.h>
#include <string.h>

#include "device.h"
#include "event.h"
#include "stream.h"
#include "timeline.h"

enum { DEVICES = 2 };

/* The object that every entry gets as `self`. There is one, for the life of the process. */
typedef struct backend {
  const anyplace_host* host;
  device devices[DEVICES];
} backend;

static const anyplace_host* host_of(void* self) { return ((backend*)self)->host; }
static device* device_of(void* self, int32_t index) { return &((backend*)self)->devices[index]; }
static stream* stream_of(anyplace_stream handle) { return (stream*)(uintptr_t)handle; }
static event* event_of(anyplace_event handle) { return (event*)(uintptr_t)handle; }
static uint64_t handle_of(void* object) { return (uint64_t)(uintptr_t)object; }

static anyplace_status no_memory(void* self) {
  return fail(host_of(self), ANYPLACE_STATUS_OUT_OF_MEMORY, "the host has no memory for an object");
}

/* How many bytes of a struct may be written: the smaller of anyplace's size and this plugin's. */
static uint32_t common_size(uint32_t theirs, size_t ours) { return theirs < ours ? theirs : (uint32_t)ours; }

/* ---- Life and devices */

static anyplace_status shutdown_entry(void* self, uint64_t timeout_ns) {
  const deadline until = deadline_after(timeout_ns);
  anyplace_status status = ANYPLACE_STATUS_OK;
  for (int32_t i = 0; i < DEVICES; ++i) {
    const anyplace_status one = device_shut_down(device_of(self, i), &until);
    if (one != ANYPLACE_STATUS_OK) status = one;
  }
  return status;
}

static anyplace_status device_count(void* self, int32_t* count) {
  (void)self;
  *count = DEVICES;
  return ANYPLACE_STATUS_OK;
}

static anyplace_status device_properties(void* self, int32_t index, anyplace_device_properties* out) {
  anyplace_device_properties own;
  memset(&own, 0, sizeof(own));
  device_describe(device_of(self, index), &own);
  own.struct_size = common_size(out->struct_size, sizeof(own));
  memcpy(out, &own, own.struct_size);
  return ANYPLACE_STATUS_OK;
}

static anyplace_status device_memory(void* self, int32_t index, anyplace_memory_info* out) {
  heap* const memory = device_heap(device_of(self, index), ANYPLACE_MEMORY_DEVICE);
  anyplace_memory_info own = {.free_bytes = heap_free_bytes(memory), .total_bytes = memory->total};
  own.struct_size = common_size(out->struct_size, sizeof(own));
  memcpy(out, &own, own.struct_size);
  return ANYPLACE_STATUS_OK;
}

static anyplace_status device_synchronize(void* self, int32_t index, uint64_t timeout_ns) {
  const deadline until = deadline_after(timeout_ns);
  return device_wait(device_of(self, index), &until);
}

/* ---- Streams */

/* Waits for the point and releases its share. */
static anyplace_status wait_and_release(point until, uint64_t timeout_ns) {
  const deadline end = deadline_after(timeout_ns);
  const bool reached = point_wait(until, &end);
  point_release(until);
  return reached ? ANYPLACE_STATUS_OK : ANYPLACE_STATUS_TIMEOUT;
}

static anyplace_status query_and_release(point until, int32_t* done) {
  *done = point_reached(until) ? 1 : 0;
  point_release(until);
  return ANYPLACE_STATUS_OK;
}

/* Makes a stream for stream_create and stream_default: the null stream is one that is never destroyed. */
static anyplace_status stream_create(void* self, int32_t index, const anyplace_stream_desc* desc,
                                     anyplace_stream* out) {
  stream* const one = stream_open(device_of(self, index), desc->cookie);
  if (one == NULL) return no_memory(self);
  *out = handle_of(one);
  return ANYPLACE_STATUS_OK;
}

static anyplace_status stream_destroy(void* self, anyplace_stream handle) {
  (void)self;
  stream_close(stream_of(handle));
  stream_release(stream_of(handle));
  return ANYPLACE_STATUS_OK;
}

static anyplace_status stream_query(void* self, anyplace_stream handle, int32_t* done) {
  (void)self;
  return query_and_release(stream_mark(stream_of(handle)), done);
}

static anyplace_status stream_synchronize(void* self, anyplace_stream handle, uint64_t timeout_ns) {
  (void)self;
  return wait_and_release(stream_mark(stream_of(handle)), timeout_ns);
}

static anyplace_status stream_wait_event(void* self, anyplace_stream handle, anyplace_event waited) {
  (void)self;
  return stream_wait_for(stream_of(handle), event_latest(event_of(waited)));
}

static anyplace_status stream_host_function(void* self, anyplace_stream handle, anyplace_host_function call,
                                            void* user) {
  (void)self;
  const command what = {.kind = COMMAND_FUNCTION, .as.function = {call, user}};
  return stream_submit(stream_of(handle), what, NULL);
}

/* ---- Gates: timelines that go from 0 to 1 */

static timeline* gate_of(anyplace_gate handle) { return (timeline*)(uintptr_t)handle; }

static anyplace_status gate_create(void* self, int32_t index, anyplace_gate* out) {
  (void)index;
  timeline* const one = timeline_create();
  if (one == NULL) return no_memory(self);
  *out = handle_of(one);
  return ANYPLACE_STATUS_OK;
}

static anyplace_status gate_open(void* self, anyplace_gate gate) {
  (void)self;
  timeline_advance(gate_of(gate));
  return ANYPLACE_STATUS_OK;
}

static anyplace_status gate_destroy(void* self, anyplace_gate gate) {
  (void)self;
  timeline_release(gate_of(gate));
  return ANYPLACE_STATUS_OK;
}

static anyplace_status stream_wait_gate(void* self, anyplace_stream handle, anyplace_gate gate) {
  (void)self;
  return stream_wait_for(stream_of(handle), point_retain((point){gate_of(gate), 1}));
}

/* ---- Events */

static anyplace_status event_create(void* self, int32_t index, const anyplace_event_desc* desc, anyplace_event* out) {
  (void)index;
  event* const one = event_open((desc->flags & ANYPLACE_EVENT_TIMING) != 0);
  if (one == NULL) return no_memory(self);
  *out = handle_of(one);
  return ANYPLACE_STATUS_OK;
}

static anyplace_status event_destroy(void* self, anyplace_event handle) {
  (void)self;
  event_close(event_of(handle));
  return ANYPLACE_STATUS_OK;
}

static anyplace_status event_record(void* self, anyplace_event handle, anyplace_stream on) {
  (void)self;
  return event_record_on(event_of(handle), stream_of(on));
}

static anyplace_status event_query(void* self, anyplace_event handle, int32_t* done) {
  (void)self;
  return query_and_release(event_latest(event_of(handle)), done);
}

static anyplace_status event_synchronize(void* self, anyplace_event handle, uint64_t timeout_ns) {
  (void)self;
  return wait_and_release(event_latest(event_of(handle)), timeout_ns);
}

static anyplace_status event_elapsed(void* self, anyplace_event start, anyplace_event end, double* milliseconds) {
  int64_t from = 0;
  int64_t to = 0;
  anyplace_status status = event_time(event_of(start), host_of(self), &from);
  if (status == ANYPLACE_STATUS_OK) status = event_time(event_of(end), host_of(self), &to);
  if (status == ANYPLACE_STATUS_OK) *milliseconds = (double)(to - from) / 1e6;
  return status;
}

/* ---- Memory, copies and fills. Every address is in the host's memory here, so the kind of a copy makes no
 * difference. */

static anyplace_status memory_allocate(void* self, int32_t index, uint32_t kind, uint64_t bytes,
                                       anyplace_address* out) {
  heap* const memory = device_heap(device_of(self, index), kind);
  if (memory != NULL) return heap_allocate(memory, host_of(self), bytes, out);
  return fail(host_of(self), ANYPLACE_STATUS_UNSUPPORTED, "newname has device and pinned memory only");
}

static anyplace_status memory_free(void* self, int32_t index, uint32_t kind, anyplace_address address) {
  heap_free(device_heap(device_of(self, index), kind), address);
  return ANYPLACE_STATUS_OK;
}

static anyplace_status memory_copy(void* self, anyplace_stream handle, anyplace_address destination,
                                   anyplace_address source, uint64_t bytes, uint32_t kind) {
  (void)self;
  (void)kind;
  const command what = {.kind = COMMAND_COPY,
                        .as.copy = {(void*)(uintptr_t)destination, (const void*)(uintptr_t)source, bytes}};
  return stream_submit(stream_of(handle), what, NULL);
}

static anyplace_status memory_set(void* self, anyplace_stream handle, anyplace_address address, uint32_t value,
                                  uint32_t width, uint64_t count) {
  (void)self;
  const command what = {.kind = COMMAND_FILL, .as.fill = {(unsigned char*)(uintptr_t)address, value, width, count}};
  return stream_submit(stream_of(handle), what, NULL);
}

/* ---- The table */

static const anyplace_backend_table entries = {
    .abi_major = ANYPLACE_ABI_MAJOR,
    .abi_minor = ANYPLACE_ABI_MINOR,
    .name = "newname",
    .version = NEWNAME_BACKEND_VERSION,
    .description = "Newname devices",
    .shutdown = shutdown_entry,
    .device_count = device_count,
    .device_properties = device_properties,
    .device_memory = device_memory,
    .device_synchronize = device_synchronize,
    .stream_create = stream_create,
    .stream_default = stream_create,
    .stream_destroy = stream_destroy,
    .stream_query = stream_query,
    .stream_synchronize = stream_synchronize,
    .stream_wait_event = stream_wait_event,
    .stream_host_function = stream_host_function,
    .gate_create = gate_create,
    .gate_open = gate_open,
    .gate_destroy = gate_destroy,
    .stream_wait_gate = stream_wait_gate,
    .event_create = event_create,
    .event_destroy = event_destroy,
    .event_record = event_record,
    .event_query = event_query,
    .event_synchronize = event_synchronize,
    .event_elapsed = event_elapsed,
    .memory_allocate = memory_allocate,
    .memory_free = memory_free,
    .memory_copy = memory_copy,
    .memory_set = memory_set,
};

/* Open the vendor's library here, and refuse the plugin if it can't be used:
 *   return fail(host, ANYPLACE_STATUS_LIBRARY_MISSING, "libnewname.so.1 isn't installed"); */
anyplace_status anyplace_backend_entry(const anyplace_host* host, anyplace_backend_table* table) {
  static backend self;
  self.host = host;
  for (int32_t i = 0; i < DEVICES; ++i) {
    if (!device_init(&self.devices[i], i, host)) return no_memory(&self);
  }
  anyplace_backend_table own = entries;
  own.self = &self;
  own.struct_size = common_size(table->struct_size, sizeof(own));
  memcpy(table, &own, own.struct_size);
  return ANYPLACE_STATUS_OK;
}
