/* SPDX-License-Identifier: Apache-2.0
 *
 * The least table that works, in C by hand: one device, whose memory is the host's and whose work is done when the call
 * returns. Included by plugins after the header that they are built against; they replace what they are about, and add
 * the entry. Each object is allocated, so that a leak checker sees one that is never destroyed. */
#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_ALIGNMENT = 256 };

static const anyplace_host* least_host;

static inline anyplace_status least_refuse(anyplace_status status, int64_t code, const char* name, const char* text) {
  least_host->leave_message(least_host->context, code, name, text);
  return status;
}

/* Copies as much of a struct of the plugin's as the core has room for. */
static inline void least_give(void* out, uint32_t room, const void* filled, size_t size) {
  const uint32_t given = room < size ? room : (uint32_t)size;
  memcpy(out, filled, given);
  memcpy(out, &given, sizeof(given));
}

static anyplace_status least_device_count(void* self, int32_t* count) {
  (void)self;
  *count = 1;
  return ANYPLACE_STATUS_OK;
}

static anyplace_status least_device_properties(void* self, int32_t device, anyplace_device_properties* out) {
  (void)self;
  (void)device;
  anyplace_device_properties filled;
  memset(&filled, 0, sizeof(filled));
  filled.compute_units = 1;
  filled.total_memory = ANYPLACE_UNKNOWN;
  filled.address_alignment = LEAST_ALIGNMENT;
  strcpy(filled.name, "least");
  least_give(out, out->struct_size, &filled, sizeof(filled));
  return ANYPLACE_STATUS_OK;
}

static anyplace_status least_device_memory(void* self, int32_t device, anyplace_memory_info* out) {
  (void)self;
  (void)device;
  const anyplace_memory_info filled = {0, 0, ANYPLACE_UNKNOWN, ANYPLACE_UNKNOWN};
  least_give(out, out->struct_size, &filled, sizeof(filled));
  return ANYPLACE_STATUS_OK;
}

static anyplace_status least_device_synchronize(void* self, int32_t device, uint64_t timeout_ns) {
  (void)self;
  (void)device;
  (void)timeout_ns;
  return ANYPLACE_STATUS_OK;
}

/* Streams and events are bytes: there is nothing to remember about work that is always done. */
static anyplace_status least_make(uint64_t* out) {
  void* const object = malloc(1);
  if (object == NULL) return least_refuse(ANYPLACE_STATUS_OUT_OF_MEMORY, 0, NULL, "the host is out of memory");
  *out = (uint64_t)(uintptr_t)object;
  return ANYPLACE_STATUS_OK;
}

static anyplace_status least_stream_create(void* self, int32_t device, const anyplace_stream_desc* desc,
                                           anyplace_stream* out) {
  (void)self;
  (void)device;
  (void)desc;
  return least_make(out);
}

static anyplace_status least_stream_default(void* self, int32_t device, const anyplace_stream_desc* desc,
                                            anyplace_stream* out) {
  static char the_stream;
  (void)self;
  (void)device;
  (void)desc;
  *out = (uint64_t)(uintptr_t)&the_stream;
  return ANYPLACE_STATUS_OK;
}

static anyplace_status least_destroy(void* self, uint64_t handle) {
  (void)self;
  free((void*)(uintptr_t)handle);
  return ANYPLACE_STATUS_OK;
}

static anyplace_status least_query(void* self, uint64_t handle, int32_t* done) {
  (void)self;
  (void)handle;
  *done = 1;
  return ANYPLACE_STATUS_OK;
}

static anyplace_status least_synchronize(void* self, uint64_t handle, uint64_t timeout_ns) {
  (void)self;
  (void)handle;
  (void)timeout_ns;
  return ANYPLACE_STATUS_OK;
}

/* A wait or a record, of which nothing has to be remembered. */
static anyplace_status least_two_handles(void* self, uint64_t first, uint64_t second) {
  (void)self;
  (void)first;
  (void)second;
  return ANYPLACE_STATUS_OK;
}

static anyplace_status least_event_create(void* self, int32_t device, const anyplace_event_desc* desc,
                                          anyplace_event* out) {
  (void)self;
  (void)device;
  (void)desc;
  return least_make(out);
}

static anyplace_status least_memory_allocate(void* self, int32_t device, uint32_t kind, uint64_t bytes,
                                             anyplace_address* out) {
  (void)self;
  (void)device;
  (void)kind;
  if (bytes > SIZE_MAX - LEAST_ALIGNMENT) {
    return least_refuse(ANYPLACE_STATUS_OUT_OF_MEMORY, 0, NULL, "more than there are addresses");
  }
  const size_t rounded = ((size_t)bytes + LEAST_ALIGNMENT - 1) / LEAST_ALIGNMENT * LEAST_ALIGNMENT;
  void* const memory = aligned_alloc(LEAST_ALIGNMENT, rounded);
  if (memory == NULL) return least_refuse(ANYPLACE_STATUS_OUT_OF_MEMORY, 0, NULL, "the host is out of memory");
  *out = (anyplace_address)(uintptr_t)memory;
  return ANYPLACE_STATUS_OK;
}

static anyplace_status least_memory_free(void* self, int32_t device, uint32_t kind, anyplace_address address) {
  (void)self;
  (void)device;
  (void)kind;
  free((void*)(uintptr_t)address);
  return ANYPLACE_STATUS_OK;
}

static anyplace_status least_memory_copy(void* self, anyplace_stream stream, anyplace_address destination,
                                         anyplace_address source, uint64_t bytes, uint32_t kind) {
  (void)self;
  (void)stream;
  (void)kind;
  memcpy((void*)(uintptr_t)destination, (const void*)(uintptr_t)source, (size_t)bytes);
  return ANYPLACE_STATUS_OK;
}

static anyplace_status least_memory_set(void* self, anyplace_stream stream, anyplace_address address, uint32_t value,
                                        uint32_t width, uint64_t count) {
  (void)self;
  (void)stream;
  unsigned char* to = (unsigned char*)(uintptr_t)address;
  for (uint64_t i = 0; i < count * width; ++i) to[i] = (unsigned char)(value >> (8 * (i % width)));
  return ANYPLACE_STATUS_OK;
}

/* Everything but struct_size, which the plugin's least_give() writes when it gives the table to the core. */
static inline void least_fill(const anyplace_host* host, const char* name, const char* description,
                              anyplace_backend_table* table) {
  least_host = host;
  memset(table, 0, sizeof(*table));
  table->abi_major = ANYPLACE_ABI_MAJOR;
  table->abi_minor = ANYPLACE_ABI_MINOR;
  strncpy(table->name, name, sizeof(table->name) - 1);
  strncpy(table->version, "1.0", sizeof(table->version) - 1);
  strncpy(table->description, description, sizeof(table->description) - 1);
  table->device_count = least_device_count;
  table->device_properties = least_device_properties;
  table->device_memory = least_device_memory;
  table->device_synchronize = least_device_synchronize;
  table->stream_create = least_stream_create;
  table->stream_default = least_stream_default;
  table->stream_destroy = least_destroy;
  table->stream_query = least_query;
  table->stream_synchronize = least_synchronize;
  table->stream_wait_event = least_two_handles;
  table->event_create = least_event_create;
  table->event_destroy = least_destroy;
  table->event_record = least_two_handles;
  table->event_query = least_query;
  table->event_synchronize = least_synchronize;
  table->memory_allocate = least_memory_allocate;
  table->memory_free = least_memory_free;
  table->memory_copy = least_memory_copy;
  table->memory_set = least_memory_set;
}
