/* SPDX-License-Identifier: Apache-2.0
 *
 * The least table with as little memory as every host has, and vendor's errors where it refuses some. Included by
 * plugins after the header that they are to be built against; they add the entry. */
#pragma once

#include "support/least_table.h"

enum { TINY_TOTAL = 64 << 20 };

static void tiny_properties(anyplace_device_properties* own) {
  memset(own, 0, sizeof(*own));
  own->compute_units = 1;
  own->total_memory = TINY_TOTAL;
  own->address_alignment = LEAST_ALIGNMENT;
  strcpy(own->name, "tiny");
  strcpy(own->vendor, "anyplace tests");
}

static anyplace_status tiny_device_properties(void* self, int32_t device, anyplace_device_properties* out) {
  (void)self;
  (void)device;
  anyplace_device_properties own;
  tiny_properties(&own);
  least_give(out, out->struct_size, &own, sizeof(own));
  return ANYPLACE_STATUS_OK;
}

static anyplace_status tiny_device_memory(void* self, int32_t device, anyplace_memory_info* out) {
  (void)self;
  (void)device;
  const anyplace_memory_info own = {0, 0, ANYPLACE_UNKNOWN, TINY_TOTAL};
  least_give(out, out->struct_size, &own, sizeof(own));
  return ANYPLACE_STATUS_OK;
}

static anyplace_status tiny_memory_allocate(void* self, int32_t device, uint32_t kind, uint64_t bytes,
                                            anyplace_address* out) {
  if (kind != ANYPLACE_MEMORY_DEVICE) {
    return least_refuse(ANYPLACE_STATUS_UNSUPPORTED, 7, "TINY_NO_KIND", "tiny has device memory only");
  }
  if (bytes > TINY_TOTAL / 2) { /* a host that knows TINY_TOTAL need not ask for more than that */
    return least_refuse(ANYPLACE_STATUS_OUT_OF_MEMORY, 8, "TINY_FULL", "tiny gives 32 MiB at once");
  }
  return least_memory_allocate(self, device, kind, bytes, out);
}

static void tiny_fill(const anyplace_host* host, const char* name, anyplace_backend_table* table) {
  least_fill(host, name, "a test of the plugin boundary", table);
  table->device_properties = tiny_device_properties;
  table->device_memory = tiny_device_memory;
  table->memory_allocate = tiny_memory_allocate;
}
