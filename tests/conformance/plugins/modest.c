/* SPDX-License-Identifier: Apache-2.0
 * Claims nothing that is optional: what a first backend of a vendor's may look like. It conforms.
 */
#include "forward.h"
#include "support/table_entries.h"

static anyplace_status device_properties(void* self, int32_t device, anyplace_device_properties* out) {
  const anyplace_status status = cpu_sim.device_properties(self, device, out);
  out->capabilities = 0;
  out->image_formats = 0;
  out->least_priority = 0;
  out->greatest_priority = 0;
  return status;
}

static anyplace_status memory_allocate(void* self, int32_t device, uint32_t kind, uint64_t bytes,
                                       anyplace_address* out) {
  if (kind != ANYPLACE_MEMORY_DEVICE) return ANYPLACE_STATUS_UNSUPPORTED;
  return cpu_sim.memory_allocate(self, device, kind, bytes, out);
}

anyplace_status anyplace_backend_entry(const anyplace_host* host, anyplace_backend_table* table) {
  const anyplace_status status = forward_cpu_sim(host, table, "modest");
  table->device_properties = device_properties;
  table->memory_allocate = memory_allocate;
  remove_entries(table, ~UINT64_C(0));
  return status;
}
