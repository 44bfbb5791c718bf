/* SPDX-License-Identifier: Apache-2.0
 *
 * The smallest backend that is one, in C by hand: one device, whose memory is the host's and whose work is done when
 * the call returns. Included by plugins after the header that they are to be built against; they add the entry. Each
 * object is allocated, so that a leak checker sees one that is never destroyed. */
#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { TINY_ALIGNMENT = 256, TINY_TOTAL = 64 << 20 };

static const anyplace_host* tiny_host;

static anyplace_status tiny_make(uint64_t* out) {
  void* object = malloc(1);
  if (object == NULL) return ANYPLACE_STATUS_OUT_OF_MEMORY;
  *out = (uint64_t)(uintptr_t)object;
  return ANYPLACE_STATUS_OK;
}

static anyplace_status tiny_drop(void* self, uint64_t handle) {
  (void)self;
  free((void*)(uintptr_t)handle);
  return ANYPLACE_STATUS_OK;
}

static anyplace_status tiny_device_count(void* self, int32_t* count) {
  (void)self;
  *count = 1;
  return ANYPLACE_STATUS_OK;
}

static void tiny_properties(anyplace_device_properties* own) {
  memset(own, 0, sizeof(*own));
  own->compute_units = 1;
  own->total_memory = TINY_TOTAL;
  own->address_alignment = TINY_ALIGNMENT;
  memcpy(own->name, "tiny", sizeof("tiny"));
  memcpy(own->vendor, "anyplace tests", sizeof("anyplace tests"));
}

static anyplace_status tiny_device_properties(void* self, int32_t device, anyplace_device_properties* out) {
  (void)self;
  (void)device;
  anyplace_device_properties own;
  tiny_properties(&own);
  own.struct_size = out->struct_size < sizeof(own) ? out->struct_size : (uint32_t)sizeof(own);
  memcpy(out, &own, own.struct_size);
  return ANYPLACE_STATUS_OK;
}

static anyplace_status tiny_device_memory(void* self, int32_t device, anyplace_memory_info* out) {
  (void)self;
  (void)device;
  anyplace_memory_info own = {0, 0, ANYPLACE_UNKNOWN, TINY_TOTAL};
  own.struct_size = out->struct_size < sizeof(own) ? out->struct_size : (uint32_t)sizeof(own);
  memcpy(out, &own, own.struct_size);
  return ANYPLACE_STATUS_OK;
}

static anyplace_status tiny_device_synchronize(void* self, int32_t device, uint64_t timeout_ns) {
  (void)self;
  (void)device;
  (void)timeout_ns;
  return ANYPLACE_STATUS_OK;
}

static anyplace_status tiny_stream_create(void* self, int32_t device, const anyplace_stream_desc* desc,
                                          anyplace_stream* out) {
  (void)self;
  (void)device;
  (void)desc;
  return tiny_make(out);
}

static anyplace_status tiny_stream_default(void* self, int32_t device, const anyplace_stream_desc* desc,
                                           anyplace_stream* out) {
  static char the_stream;
  (void)self;
  (void)device;
  (void)desc;
  *out = (uint64_t)(uintptr_t)&the_stream;
  return ANYPLACE_STATUS_OK;
}

static anyplace_status tiny_query(void* self, uint64_t handle, int32_t* done) {
  (void)self;
  (void)handle;
  *done = 1;
  return ANYPLACE_STATUS_OK;
}

static anyplace_status tiny_synchronize(void* self, uint64_t handle, uint64_t timeout_ns) {
  (void)self;
  (void)handle;
  (void)timeout_ns;
  return ANYPLACE_STATUS_OK;
}

static anyplace_status tiny_two_handles(void* self, uint64_t first, uint64_t second) {
  (void)self;
  (void)first;
  (void)second;
  return ANYPLACE_STATUS_OK;
}

static anyplace_status tiny_event_create(void* self, int32_t device, const anyplace_event_desc* desc,
                                         anyplace_event* out) {
  (void)self;
  (void)device;
  (void)desc;
  return tiny_make(out);
}

static anyplace_status tiny_memory_allocate(void* self, int32_t device, uint32_t kind, uint64_t bytes,
                                            anyplace_address* out) {
  (void)self;
  (void)device;
  if (kind != ANYPLACE_MEMORY_DEVICE) {
    tiny_host->leave_message(tiny_host->context, 7, "TINY_NO_KIND", "tiny has device memory only");
    return ANYPLACE_STATUS_UNSUPPORTED;
  }
  if (bytes > TINY_TOTAL / 2) { /* a host that knows TINY_TOTAL need not ask for more than that */
    tiny_host->leave_message(tiny_host->context, 8, "TINY_FULL", "tiny gives 32 MiB at once");
    return ANYPLACE_STATUS_OUT_OF_MEMORY;
  }
  void* memory =
      aligned_alloc(TINY_ALIGNMENT, (size_t)((bytes + TINY_ALIGNMENT - 1) / TINY_ALIGNMENT * TINY_ALIGNMENT));
  if (memory == NULL) return ANYPLACE_STATUS_OUT_OF_MEMORY;
  *out = (uint64_t)(uintptr_t)memory;
  return ANYPLACE_STATUS_OK;
}

static anyplace_status tiny_memory_free(void* self, int32_t device, uint32_t kind, anyplace_address address) {
  (void)self;
  (void)device;
  (void)kind;
  free((void*)(uintptr_t)address);
  return ANYPLACE_STATUS_OK;
}

static anyplace_status tiny_memory_copy(void* self, anyplace_stream stream, anyplace_address destination,
                                        anyplace_address source, uint64_t bytes, uint32_t kind) {
  (void)self;
  (void)stream;
  (void)kind;
  memcpy((void*)(uintptr_t)destination, (const void*)(uintptr_t)source, (size_t)bytes);
  return ANYPLACE_STATUS_OK;
}

static anyplace_status tiny_memory_set(void* self, anyplace_stream stream, anyplace_address address, uint32_t value,
                                       uint32_t width, uint64_t count) {
  (void)self;
  (void)stream;
  unsigned char* to = (unsigned char*)(uintptr_t)address;
  for (uint64_t i = 0; i < count * width; ++i) to[i] = (unsigned char)(value >> (8 * (i % width)));
  return ANYPLACE_STATUS_OK;
}

/* Everything but the sizes and versions, which are what the plugins that include this differ in. */
static void tiny_fill(const anyplace_host* host, const char* name, anyplace_backend_table* table) {
  tiny_host = host;
  memset(table, 0, sizeof(*table));
  strncpy(table->name, name, sizeof(table->name) - 1);
  strncpy(table->version, "1.0", sizeof(table->version) - 1);
  strncpy(table->description, "a test of the plugin boundary", sizeof(table->description) - 1);
  table->device_count = tiny_device_count;
  table->device_properties = tiny_device_properties;
  table->device_memory = tiny_device_memory;
  table->device_synchronize = tiny_device_synchronize;
  table->stream_create = tiny_stream_create;
  table->stream_default = tiny_stream_default;
  table->stream_destroy = tiny_drop;
  table->stream_query = tiny_query;
  table->stream_synchronize = tiny_synchronize;
  table->stream_wait_event = tiny_two_handles;
  table->event_create = tiny_event_create;
  table->event_destroy = tiny_drop;
  table->event_record = tiny_two_handles;
  table->event_query = tiny_query;
  table->event_synchronize = tiny_synchronize;
  table->memory_allocate = tiny_memory_allocate;
  table->memory_free = tiny_memory_free;
  table->memory_copy = tiny_memory_copy;
  table->memory_set = tiny_memory_set;
}
