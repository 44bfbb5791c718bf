/* SPDX-License-Identifier: Apache-2.0
 *
 * A backend written by hand in C: one device whose memory is the host's and whose work is done when the call returns,
 * which is the least that the contract allows. It shows how a table is filled without device_backend.h.
 */
#include <stdlib.h>
#include <string.h>

#include "anyplace/backend/abi.h"

static const anyplace_host* plain_host;

static anyplace_status plain_refuse(anyplace_status status, const char* text) {
  plain_host->leave_message(plain_host->context, 0, NULL, text);
  return status;
}

/* Copies as much of a struct of ours as the core has room for. */
static void plain_give(void* out, uint32_t room, const void* filled, uint32_t size) {
  const uint32_t given = room < size ? room : size;
  memcpy(out, filled, given);
  memcpy(out, &given, sizeof(given));
}

static anyplace_status plain_device_count(void* self, int32_t* count) {
  (void)self;
  *count = 1;
  return ANYPLACE_STATUS_OK;
}

static anyplace_status plain_device_properties(void* self, int32_t device, anyplace_device_properties* out) {
  (void)self;
  (void)device;
  anyplace_device_properties filled;
  memset(&filled, 0, sizeof(filled));
  filled.compute_units = 1;
  filled.capabilities = 1u << ANYPLACE_CAPABILITY_BIT_PINNED_MEMORY;
  filled.total_memory = ANYPLACE_UNKNOWN;
  filled.address_alignment = 256;
  strcpy(filled.name, "plain");
  strcpy(filled.uuid, "PLAIN-Aa-01");
  strcpy(filled.pci, "0000:17:0a.0");
  plain_give(out, out->struct_size, &filled, sizeof(filled));
  return ANYPLACE_STATUS_OK;
}

static anyplace_status plain_device_memory(void* self, int32_t device, anyplace_memory_info* out) {
  (void)self;
  (void)device;
  anyplace_memory_info filled;
  memset(&filled, 0, sizeof(filled));
  filled.free_bytes = ANYPLACE_UNKNOWN;
  filled.total_bytes = ANYPLACE_UNKNOWN;
  plain_give(out, out->struct_size, &filled, sizeof(filled));
  return ANYPLACE_STATUS_OK;
}

static anyplace_status plain_device_synchronize(void* self, int32_t device, uint64_t timeout_ns) {
  (void)self;
  (void)device;
  (void)timeout_ns;
  return ANYPLACE_STATUS_OK;
}

/* Streams and events are bytes: there is nothing to remember about work that is always done. */
static anyplace_status plain_make(uint64_t* out) {
  char* object = malloc(1);
  if (object == NULL) return plain_refuse(ANYPLACE_STATUS_OUT_OF_MEMORY, "the host is out of memory");
  *out = (uint64_t)(uintptr_t)object;
  return ANYPLACE_STATUS_OK;
}

static anyplace_status plain_stream_create(void* self, int32_t device, const anyplace_stream_desc* desc,
                                           anyplace_stream* out) {
  (void)self;
  (void)device;
  (void)desc;
  return plain_make(out);
}

static char plain_null_stream;

static anyplace_status plain_stream_default(void* self, int32_t device, const anyplace_stream_desc* desc,
                                            anyplace_stream* out) {
  (void)self;
  (void)device;
  (void)desc;
  *out = (uint64_t)(uintptr_t)&plain_null_stream;
  return ANYPLACE_STATUS_OK;
}

static anyplace_status plain_destroy(void* self, uint64_t object) {
  (void)self;
  free((void*)(uintptr_t)object);
  return ANYPLACE_STATUS_OK;
}

static anyplace_status plain_query(void* self, uint64_t object, int32_t* done) {
  (void)self;
  (void)object;
  *done = 1;
  return ANYPLACE_STATUS_OK;
}

static anyplace_status plain_synchronize(void* self, uint64_t object, uint64_t timeout_ns) {
  (void)self;
  (void)object;
  (void)timeout_ns;
  return ANYPLACE_STATUS_OK;
}

static anyplace_status plain_stream_wait_event(void* self, anyplace_stream stream, anyplace_event event) {
  (void)self;
  (void)stream;
  (void)event;
  return ANYPLACE_STATUS_OK;
}

static anyplace_status plain_event_create(void* self, int32_t device, const anyplace_event_desc* desc,
                                          anyplace_event* out) {
  (void)self;
  (void)device;
  (void)desc;
  return plain_make(out);
}

static anyplace_status plain_event_record(void* self, anyplace_event event, anyplace_stream stream) {
  (void)self;
  (void)event;
  (void)stream;
  return ANYPLACE_STATUS_OK;
}

static anyplace_status plain_memory_allocate(void* self, int32_t device, uint32_t kind, uint64_t bytes,
                                             anyplace_address* out) {
  (void)self;
  (void)device;
  if (kind == ANYPLACE_MEMORY_MANAGED) return plain_refuse(ANYPLACE_STATUS_UNSUPPORTED, "plain has no managed memory");
  if (bytes > SIZE_MAX - 256) return plain_refuse(ANYPLACE_STATUS_OUT_OF_MEMORY, "more than there are addresses");
  void* memory = aligned_alloc(256, ((size_t)bytes + 255) / 256 * 256);
  if (memory == NULL) return plain_refuse(ANYPLACE_STATUS_OUT_OF_MEMORY, "the host is out of memory");
  *out = (anyplace_address)(uintptr_t)memory;
  return ANYPLACE_STATUS_OK;
}

static anyplace_status plain_memory_free(void* self, int32_t device, uint32_t kind, anyplace_address address) {
  (void)self;
  (void)device;
  (void)kind;
  free((void*)(uintptr_t)address);
  return ANYPLACE_STATUS_OK;
}

static anyplace_status plain_memory_copy(void* self, anyplace_stream stream, anyplace_address destination,
                                         anyplace_address source, uint64_t bytes, uint32_t kind) {
  (void)self;
  (void)stream;
  (void)kind;
  memcpy((void*)(uintptr_t)destination, (const void*)(uintptr_t)source, (size_t)bytes);
  return ANYPLACE_STATUS_OK;
}

static anyplace_status plain_memory_set(void* self, anyplace_stream stream, anyplace_address address, uint32_t value,
                                        uint32_t width, uint64_t count) {
  (void)self;
  (void)stream;
  unsigned char* at = (unsigned char*)(uintptr_t)address;
  for (uint64_t i = 0; i < count; ++i, at += width) {
    if (width == 1) *at = (unsigned char)value;
    if (width == 2) memcpy(at, &(uint16_t){(uint16_t)value}, 2);
    if (width == 4) memcpy(at, &value, 4);
  }
  return ANYPLACE_STATUS_OK;
}

static void plain_fill(anyplace_backend_table* table, const char* name) {
  table->abi_major = ANYPLACE_ABI_MAJOR;
  table->abi_minor = ANYPLACE_ABI_MINOR;
  memcpy(table->name, name, strlen(name) + 1);
  strcpy(table->version, "1.0");
  strcpy(table->description, "a backend written in C, for the tests");
  table->device_count = plain_device_count;
  table->device_properties = plain_device_properties;
  table->device_memory = plain_device_memory;
  table->device_synchronize = plain_device_synchronize;
  table->stream_create = plain_stream_create;
  table->stream_default = plain_stream_default;
  table->stream_destroy = plain_destroy;
  table->stream_query = plain_query;
  table->stream_synchronize = plain_synchronize;
  table->stream_wait_event = plain_stream_wait_event;
  table->event_create = plain_event_create;
  table->event_destroy = plain_destroy;
  table->event_record = plain_event_record;
  table->event_query = plain_query;
  table->event_synchronize = plain_synchronize;
  table->memory_allocate = plain_memory_allocate;
  table->memory_free = plain_memory_free;
  table->memory_copy = plain_memory_copy;
  table->memory_set = plain_memory_set;
}

#ifndef PLAIN_WITHOUT_ENTRY
anyplace_status anyplace_backend_entry(const anyplace_host* host, anyplace_backend_table* table) {
  anyplace_backend_table filled;
  plain_host = host;
  memset(&filled, 0, sizeof(filled));
  plain_fill(&filled, "plain");
  plain_give(table, table->struct_size, &filled, sizeof(filled));
  return ANYPLACE_STATUS_OK;
}
#endif
