/* SPDX-License-Identifier: Apache-2.0
 * Claims a reset and events between processes, and has neither.
 */
#include "forward.h"

static anyplace_status device_properties(void* self, int32_t device, anyplace_device_properties* out) {
  const anyplace_status status = cpu_sim.device_properties(self, device, out);
  out->capabilities |= 1u << ANYPLACE_CAPABILITY_BIT_DEVICE_RESET | 1u << ANYPLACE_CAPABILITY_BIT_INTERPROCESS_EVENTS;
  return status;
}

static anyplace_status device_reset(void* self, int32_t device) {
  (void)self, (void)device;
  return ANYPLACE_STATUS_UNSUPPORTED;
}

static anyplace_status event_create(void* self, int32_t device, const anyplace_event_desc* desc, anyplace_event* out) {
  if ((desc->flags & ANYPLACE_EVENT_INTERPROCESS) != 0) return ANYPLACE_STATUS_UNSUPPORTED;
  return cpu_sim.event_create(self, device, desc, out);
}

anyplace_status anyplace_backend_entry(const anyplace_host* host, anyplace_backend_table* table) {
  const anyplace_status status = forward_cpu_sim(host, table, "liar");
  table->device_properties = device_properties;
  table->device_reset = device_reset;
  table->event_create = event_create;
  return status;
}
