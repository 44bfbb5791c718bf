/* SPDX-License-Identifier: Apache-2.0
 * A layer in C, as it is least, under whatever name its file has: the variable ODD_LAYER says what is wrong with it,
 * and ODD_LAYER_NAME what it calls itself. */
#include <anyplace/backend/layer.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static int is(const char* what) {
  const char* const told = getenv("ODD_LAYER");
  return told != NULL && strcmp(told, what) == 0;
}

/* It has no state of its own: each call goes to the backend. */
static anyplace_status begin(void* self, const anyplace_host* host, const anyplace_backend_table* next,
                             anyplace_backend_table* table) {
  const uint32_t room = table->struct_size;
  (void)self;
  if (is("begin fails")) {
    host->leave_message(host->context, 7, "ODD", "it doesn't like the backend");
    return ANYPLACE_STATUS_BACKEND_FAILED;
  }
  memcpy(table, next, sizeof(*table));
  table->struct_size = is("claims more") ? room + 8 : room;
  if (is("lacks an entry")) table->event_record = NULL;
  if (is("renames the backend")) strcpy(table->name, "other");
  if (is("writes past the table")) memset((char*)table + room, 0, 8);
  return ANYPLACE_STATUS_OK;
}

anyplace_status anyplace_layer_entry(const anyplace_layer_host* host, anyplace_layer_table* table) {
  const char* const name = getenv("ODD_LAYER_NAME");
  if (is("entry fails")) {
    host->leave_message(host->context, 0, NULL, "it refuses to be loaded\nask for another one");
    return ANYPLACE_STATUS_UNSUPPORTED;
  }
  table->struct_size = is("shorter") ? 16 : (uint32_t)sizeof(*table);
  if (is("ends before annotations")) table->struct_size = (uint32_t)offsetof(anyplace_layer_table, annotation);
  table->abi_major = is("another major") ? 2 : ANYPLACE_LAYER_ABI_MAJOR;
  table->abi_minor = ANYPLACE_LAYER_ABI_MINOR;
  table->backend_abi_major = is("another backend major") ? 2 : ANYPLACE_ABI_MAJOR;
  table->backend_table_size = (uint32_t)sizeof(anyplace_backend_table) - (is("an older backend table") ? 8 : 0);
  strncpy(table->name, name == NULL ? "odd" : name, sizeof(table->name) - 1);
  strcpy(table->version, "1");
  strcpy(table->description, "Passes all calls on");
  if (is("an endless name")) memset(table->name, 'a', sizeof(table->name));
  table->begin = is("no begin") ? NULL : begin;
  return ANYPLACE_STATUS_OK;
}
