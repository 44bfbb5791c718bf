/* SPDX-License-Identifier: Apache-2.0
 * Engines that are refused, each for what BAD_ENGINE says; engine_plugins_test.cpp has the reasons. */
#include <string.h>

#include "anyplace/backend/engine.h"

#define BAD_NO_SYMBOL 1
#define BAD_VERSION 2
#define BAD_SIZE 3
#define BAD_REFUSES 4
#define BAD_LACKS 5
#define BAD_HALF_WORLD 6
#define BAD_KIND 7
#define BAD_NAME 8
#define BAD_OVERRUN 9
#define BAD_NO_IDENTIFY 10

#if BAD_ENGINE == BAD_NO_SYMBOL
ANYPLACE_PLUGIN_EXPORT int something_else(void);
int something_else(void) { return 0; }
#else

static anyplace_status library(void* self, anyplace_engine_library* out) {
  (void)self;
  (void)out;
  return ANYPLACE_STATUS_OK;
}
static anyplace_status identify(void* self, const anyplace_engine_device* device, anyplace_engine_id* out) {
  (void)self;
  (void)device;
  (void)out;
  return ANYPLACE_STATUS_OK;
}
static anyplace_status begin(void* self, anyplace_engine_world* out) {
  (void)self;
  (void)out;
  return ANYPLACE_STATUS_OK;
}
static anyplace_status create(void* self, const anyplace_engine_group_desc* desc, anyplace_engine_group* out) {
  (void)self;
  (void)desc;
  (void)out;
  return ANYPLACE_STATUS_OK;
}
static anyplace_status split(void* self, anyplace_group group, int32_t color, int32_t key, anyplace_engine_group* out) {
  (void)self;
  (void)group;
  (void)color;
  (void)key;
  (void)out;
  return ANYPLACE_STATUS_OK;
}
static anyplace_status of_group(void* self, anyplace_group group) {
  (void)self;
  (void)group;
  return ANYPLACE_STATUS_OK;
}
static anyplace_status enqueue(void* self, anyplace_group group, uint64_t stream, const anyplace_engine_part* parts,
                               uint32_t count, uint32_t stride) {
  (void)self;
  (void)group;
  (void)stream;
  (void)parts;
  (void)count;
  (void)stride;
  return ANYPLACE_STATUS_OK;
}

anyplace_status anyplace_engine_entry(const anyplace_engine_host* host, anyplace_engine_table* table) {
  const uint32_t room = table->struct_size;
  if (BAD_ENGINE == BAD_REFUSES) {
    host->leave_message(host->context, 0, 0, "it has no licence\nbuy one");
    return ANYPLACE_STATUS_LIBRARY_MISSING;
  }
  table->struct_size = BAD_ENGINE == BAD_SIZE ? 64 : room;
  table->abi_major = ANYPLACE_ENGINE_ABI_MAJOR + (BAD_ENGINE == BAD_VERSION ? 1 : 0);
  table->abi_minor = ANYPLACE_ENGINE_ABI_MINOR;
  table->kind = BAD_ENGINE == BAD_KIND         ? 7
                : BAD_ENGINE == BAD_HALF_WORLD ? ANYPLACE_ENGINE_ON_HOST
                                               : ANYPLACE_ENGINE_ON_STREAM;
  strcpy(table->name, BAD_ENGINE == BAD_NAME ? "another" : BAD_ENGINE_NAME);
  strcpy(table->title, "bad");
  strcpy(table->version, "1");
  strcpy(table->backends, "cpu_sim");
  table->library = library;
  table->begin = BAD_ENGINE == BAD_HALF_WORLD ? begin : 0;
  table->identify = BAD_ENGINE == BAD_NO_IDENTIFY ? 0 : identify;
  table->group_create = create;
  table->group_split = split;
  table->group_destroy = of_group;
  table->group_enqueue = BAD_ENGINE == BAD_LACKS ? 0 : enqueue;
  table->group_error = of_group;
  table->group_abort = of_group;
  if (BAD_ENGINE == BAD_OVERRUN) memset((char*)table + room, 0, 64);
  return ANYPLACE_STATUS_OK;
}
#endif
