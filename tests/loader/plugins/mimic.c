/* SPDX-License-Identifier: Apache-2.0
 *
 * A plugin that misbehaves as it is told. It takes the name of its own file, so that a copy under any name is a backend
 * of that name, and the environment variable MIMIC_<name> says what it does:
 *
 *   good            nothing wrong                       count=N         N devices
 *   major           an ABI major too high               minor           a newer minor, with a longer table
 *   size=N          says that it filled N bytes         overrun         writes past the table
 *   name=TEXT       calls itself TEXT                   long_name       a name without an end
 *   without=ENTRY   lacks an entry                      half=ENTRY      has one entry of a group
 *   status=N        its entry returns N, with a message count_status=N  likewise device_count
 *   claims=N        its device has capabilities N       wait=FIFO       waits until FIFO was opened and closed
 *   lose            stream_query finds the device lost  strange         stream_query returns a status that there isn't
 *   shutdown=N      has a shutdown, which returns N     once=FILE       fails if FILE is there, and makes it
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "anyplace/backend/entries.h"

#define PLAIN_WITHOUT_ENTRY
#include "plain.c"

static char mimic_name[32]; /* the table's has no more room */
static const char* mimic_does = "good";

/* What stands behind "word=" if that is what it does, else null. */
static const char* mimic_value(const char* word) {
  const size_t length = strlen(word);
  return strncmp(mimic_does, word, length) == 0 && mimic_does[length] == '=' ? mimic_does + length + 1 : NULL;
}

static int mimic_is(const char* word) { return strcmp(mimic_does, word) == 0; }

static void mimic_find_out(void) {
  static const char prefix[] = "libanyplace_backend_";
  Dl_info info;
  if (dladdr((const void*)&mimic_name, &info) == 0) return;
  const char* file = strrchr(info.dli_fname, '/') + 1;
  strncpy(mimic_name, file + strlen(prefix), sizeof(mimic_name) - 1);
  *strrchr(mimic_name, '.') = '\0';
  char variable[80];
  snprintf(variable, sizeof(variable), "MIMIC_%s", mimic_name);
  const char* value = getenv(variable);
  if (value != NULL) mimic_does = strdup(value);
}

static anyplace_status mimic_fail(const char* status) {
  return least_refuse((anyplace_status)atoi(status), 35, "MIMIC_ERROR", "the vendor says no");
}

static anyplace_status mimic_device_count(void* self, int32_t* count) {
  const char* number = mimic_value("count");
  if (mimic_value("count_status") != NULL) return mimic_fail(mimic_value("count_status"));
  if (number == NULL) return least_device_count(self, count);
  *count = (int32_t)strtol(number, NULL, 10);
  return ANYPLACE_STATUS_OK;
}

static anyplace_status mimic_device_properties(void* self, int32_t device, anyplace_device_properties* out) {
  const anyplace_status status = plain_device_properties(self, device, out);
  if (mimic_value("claims") != NULL) out->capabilities = strtoull(mimic_value("claims"), NULL, 0);
  return status;
}

static anyplace_status mimic_stream_query(void* self, anyplace_stream stream, int32_t* done) {
  if (mimic_is("lose")) return mimic_fail("12");
  if (mimic_is("strange")) return mimic_fail("4711");
  return least_query(self, stream, done);
}

static anyplace_status mimic_shutdown(void* self, uint64_t timeout_ns) {
  (void)self;
  (void)timeout_ns;
  return mimic_fail(mimic_value("shutdown"));
}

/* An entry that nobody calls: a table with half of a group is refused. */
static void mimic_entry(void) {}

static void mimic_add(anyplace_backend_table* table, const char* entry) {
  void (*const added)(void) = mimic_entry;
#define MIMIC_ADD(name, presence, capabilities) \
  if (strcmp(entry, #name) == 0) memcpy(&table->name, &added, sizeof(added));
  ANYPLACE_ENTRY_LIST(MIMIC_ADD)
#undef MIMIC_ADD
}

static void mimic_remove(anyplace_backend_table* table, const char* entry) {
#define MIMIC_REMOVE(name, presence, capabilities) \
  if (strcmp(entry, #name) == 0) table->name = NULL;
  ANYPLACE_ENTRY_LIST(MIMIC_REMOVE)
#undef MIMIC_REMOVE
}

static void mimic_distort(anyplace_backend_table* table) {
  if (mimic_is("major")) table->abi_major = ANYPLACE_ABI_MAJOR + 1;
  if (mimic_is("minor")) table->abi_minor = ANYPLACE_ABI_MINOR + 1;
  if (mimic_is("long_name")) memset(table->name, 'x', sizeof(table->name));
  if (mimic_value("name") != NULL) strcpy(table->name, mimic_value("name"));
  if (mimic_value("without") != NULL) mimic_remove(table, mimic_value("without"));
  if (mimic_value("half") != NULL) mimic_add(table, mimic_value("half"));
  if (mimic_value("shutdown") != NULL) table->shutdown = mimic_shutdown;
}

static void mimic_wait(const char* fifo) {
  char byte;
  const int descriptor = open(fifo, O_RDONLY);
  while (read(descriptor, &byte, 1) > 0) continue;
  close(descriptor);
}

/* A failure that the vendor has got over by the next process, but not in this one. */
static int mimic_was_here(const char* file) { return close(open(file, O_CREAT | O_EXCL | O_WRONLY, 0600)) != 0; }

anyplace_status anyplace_backend_entry(const anyplace_host* host, anyplace_backend_table* table) {
  struct {
    anyplace_backend_table table;
    void (*of_the_next_minor[4])(void);
  } filled;
  least_host = host;
  mimic_find_out();
  if (mimic_value("status") != NULL) return mimic_fail(mimic_value("status"));
  if (mimic_value("wait") != NULL) mimic_wait(mimic_value("wait"));
  if (mimic_value("once") != NULL && mimic_was_here(mimic_value("once"))) return mimic_fail("21");
  memset(&filled, 0, sizeof(filled));
  plain_fill(host, mimic_name, &filled.table);
  filled.table.device_count = mimic_device_count;
  filled.table.device_properties = mimic_device_properties;
  filled.table.stream_query = mimic_stream_query;
  mimic_distort(&filled.table);
  const uint32_t room = table->struct_size;
  const uint32_t own = mimic_is("minor") ? sizeof(filled) : sizeof(filled.table);
  least_give(table, room, &filled, own);
  if (mimic_is("overrun")) ((char*)table)[room] = 0;
  if (mimic_value("size") != NULL) table->struct_size = (uint32_t)strtoul(mimic_value("size"), NULL, 10);
  return ANYPLACE_STATUS_OK;
}
