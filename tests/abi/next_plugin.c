/* SPDX-License-Identifier: Apache-2.0
 *
 * A plugin of one minor version from now: its table and its structs are longer than today's. */
#include "next_abi.h"
#include "tiny_backend.h"

static anyplace_status next_graph_create(void* self, int32_t device, uint64_t* out) {
  (void)self;
  (void)device;
  *out = 1;
  return ANYPLACE_STATUS_OK;
}

static anyplace_status next_device_properties_entry(void* self, int32_t device, anyplace_device_properties* out) {
  (void)self;
  (void)device;
  next_device_properties own;
  memset(&own, 0, sizeof(own));
  tiny_properties(&own.today);
  own.graph_nodes = 1000;
  least_give(out, out->struct_size, &own, sizeof(own));
  return ANYPLACE_STATUS_OK;
}

static anyplace_status next_device_memory_entry(void* self, int32_t device, anyplace_memory_info* out) {
  (void)self;
  (void)device;
  next_memory_info own = {{0, 0, ANYPLACE_UNKNOWN, TINY_TOTAL}, 12345};
  least_give(out, out->struct_size, &own, sizeof(own));
  return ANYPLACE_STATUS_OK;
}

anyplace_status anyplace_backend_entry(const anyplace_host* host, anyplace_backend_table* table) {
  next_backend_table own;
  memset(&own, 0, sizeof(own));
  tiny_fill(host, "abi_next", &own.today);
  own.today.device_properties = next_device_properties_entry;
  own.today.device_memory = next_device_memory_entry;
  own.graph_create = next_graph_create;
  own.graph_launch = least_two_handles;
  own.today.abi_minor = NEXT_ABI_MINOR;
  least_give(table, table->struct_size, &own, sizeof(own));
  return ANYPLACE_STATUS_OK;
}
