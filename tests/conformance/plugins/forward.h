/* SPDX-License-Identifier: Apache-2.0
 *
 * A backend that is cpu_sim under another name: its table, and in it the entries that a test replaces.
 */
#pragma once

#include <anyplace/backend/abi.h>
#include <dlfcn.h>
#include <string.h>

/* What cpu_sim filled, with its own self; forward_cpu_sim sets it. */
static anyplace_backend_table cpu_sim;

/* Fills `table` as cpu_sim does, under `name`. */
static anyplace_status forward_cpu_sim(const anyplace_host* host, anyplace_backend_table* table, const char* name) {
  void* const library = dlopen(ANYPLACE_CPU_SIM_PLUGIN, RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) return ANYPLACE_STATUS_LIBRARY_MISSING;
  void* const symbol = dlsym(library, ANYPLACE_ENTRY_SYMBOL);
  if (symbol == NULL) return ANYPLACE_STATUS_LIBRARY_MISSING;
  anyplace_backend_entry_function entry = NULL;
  memcpy(&entry, &symbol, sizeof(entry));
  const anyplace_status status = entry(host, table);
  if (status != ANYPLACE_STATUS_OK) return status;
  memset(table->name, 0, sizeof(table->name));
  memcpy(table->name, name, strlen(name));
  cpu_sim = *table;
  return ANYPLACE_STATUS_OK;
}
