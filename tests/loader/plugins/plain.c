/* SPDX-License-Identifier: Apache-2.0
 *
 * A backend written by hand in C, which shows how a table is filled without device_backend.h: the least table, and a
 * device that has pinned memory and can be told from others.
 */
#include "anyplace/backend/abi.h"
#include "support/least_table.h"

static anyplace_status plain_device_properties(void* self, int32_t device, anyplace_device_properties* out) {
  (void)self;
  (void)device;
  anyplace_device_properties filled;
  memset(&filled, 0, sizeof(filled));
  filled.compute_units = 1;
  filled.capabilities = 1u << ANYPLACE_CAPABILITY_BIT_PINNED_MEMORY;
  filled.total_memory = ANYPLACE_UNKNOWN;
  filled.address_alignment = LEAST_ALIGNMENT;
  strcpy(filled.name, "plain");
  strcpy(filled.uuid, "PLAIN-Aa-01");
  strcpy(filled.pci, "0000:17:0a.0");
  least_give(out, out->struct_size, &filled, sizeof(filled));
  return ANYPLACE_STATUS_OK;
}

static anyplace_status plain_memory_allocate(void* self, int32_t device, uint32_t kind, uint64_t bytes,
                                             anyplace_address* out) {
  if (kind == ANYPLACE_MEMORY_MANAGED) {
    return least_refuse(ANYPLACE_STATUS_UNSUPPORTED, 0, NULL, "plain has no managed memory");
  }
  return least_memory_allocate(self, device, kind, bytes, out);
}

static void plain_fill(const anyplace_host* host, const char* name, anyplace_backend_table* table) {
  least_fill(host, name, "a backend written in C, for the tests", table);
  table->device_properties = plain_device_properties;
  table->memory_allocate = plain_memory_allocate;
}

#ifndef PLAIN_WITHOUT_ENTRY
anyplace_status anyplace_backend_entry(const anyplace_host* host, anyplace_backend_table* table) {
  anyplace_backend_table filled;
  plain_fill(host, "plain", &filled);
  least_give(table, table->struct_size, &filled, sizeof(filled));
  return ANYPLACE_STATUS_OK;
}
#endif
