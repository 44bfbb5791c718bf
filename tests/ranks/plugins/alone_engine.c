/* SPDX-License-Identifier: Apache-2.0
 *
 * The least engine that there is: of one rank alone, on the host, in C. What the rank sends is what it gets. An engine
 * with ranks elsewhere starts its operations in operation_start, and says in operation_test whether they are done.
 */
#include <string.h>

#include "anyplace/backend/engine.h"

static const anyplace_engine_host* host;

static anyplace_status refuse(anyplace_status status, const char* text) {
  host->leave_message(host->context, 0, 0, text);
  return status;
}

/* There is no library to open. The texts live as long as the process. */
static anyplace_status library(void* self, anyplace_engine_library* out) {
  (void)self;
  out->path = "none";
  out->version = "1";
  return ANYPLACE_STATUS_OK;
}

/* What other ranks would need to find this one. */
static anyplace_status identify(void* self, const anyplace_engine_device* device, anyplace_engine_id* out) {
  (void)self;
  (void)device;
  out->byte_count = 0;
  return ANYPLACE_STATUS_OK;
}

static anyplace_status group_create(void* self, const anyplace_engine_group_desc* desc, anyplace_engine_group* out) {
  (void)self;
  if (desc->size != 1) return refuse(ANYPLACE_STATUS_UNSUPPORTED, "the engine alone has one rank");
  out->flags = 0; /* it gets memory of the host, to which the core copies */
  out->rank = 0;
  out->size = 1;
  out->group = 1;
  out->at_once_bytes = 0;
  return ANYPLACE_STATUS_OK;
}

static anyplace_status group_split(void* self, anyplace_group group, int32_t color, int32_t key,
                                   anyplace_engine_group* out) {
  const anyplace_engine_group_desc desc = {sizeof(desc), 0, 1, 0, 0, 0};
  (void)group;
  (void)key;
  return color < 0 ? ANYPLACE_STATUS_OK : group_create(self, &desc, out);
}

static anyplace_status group_destroy(void* self, anyplace_group group) {
  (void)self;
  (void)group;
  return ANYPLACE_STATUS_OK;
}

static anyplace_status part_check(void* self, const anyplace_engine_part* part) {
  (void)self;
  if (part->collective != ANYPLACE_COLLECTIVE_SEND && part->collective != ANYPLACE_COLLECTIVE_RECV) {
    return ANYPLACE_STATUS_OK;
  }
  return refuse(ANYPLACE_STATUS_UNSUPPORTED, "the engine alone has nobody to send to\nleave the engine's name empty");
}

static uint64_t bytes_of(const anyplace_engine_part* part) {
#define BYTES(upper, lower, number, bytes) bytes,
  static const uint64_t bytes[] = {ANYPLACE_DTYPE_LIST(BYTES)};
#undef BYTES
  return part->collective == ANYPLACE_COLLECTIVE_BARRIER ? 0 : part->count * bytes[part->type];
}

static anyplace_status operation_start(void* self, anyplace_group group, const anyplace_engine_part* parts,
                                       uint32_t count, uint32_t stride, anyplace_operation* out) {
  (void)self;
  (void)group;
  for (uint32_t i = 0; i < count; ++i) {
    const anyplace_engine_part* const part =
        (const anyplace_engine_part*)(const void*)((const char*)parts + (uint64_t)i * stride);
    if (part->source != part->destination) {
      memcpy((void*)(uintptr_t)part->destination, (const void*)(uintptr_t)part->source, bytes_of(part));
    }
  }
  *out = 1;
  return ANYPLACE_STATUS_OK;
}

static anyplace_status operation_test(void* self, anyplace_operation operation, uint32_t* state) {
  (void)self;
  (void)operation;
  *state = ANYPLACE_OPERATION_DONE;
  return ANYPLACE_STATUS_OK;
}

anyplace_status anyplace_engine_entry(const anyplace_engine_host* offered, anyplace_engine_table* table) {
  host = offered;
  table->struct_size = sizeof(*table);
  table->abi_major = ANYPLACE_ENGINE_ABI_MAJOR;
  table->abi_minor = ANYPLACE_ENGINE_ABI_MINOR;
  table->kind = ANYPLACE_ENGINE_ON_HOST;
  strcpy(table->name, "alone");
  strcpy(table->title, "alone");
  strcpy(table->version, "1");
  strcpy(table->description, "one rank alone");
  strcpy(table->backends, "cpu_sim");
  table->library = library;
  table->identify = identify;
  table->group_create = group_create;
  table->group_split = group_split;
  table->group_destroy = group_destroy;
  table->part_check = part_check;
  table->operation_start = operation_start;
  table->operation_test = operation_test;
  return ANYPLACE_STATUS_OK;
}
