// SPDX-License-Identifier: Apache-2.0
// Claims a reset and events between processes, and has neither.
#include "support/layer.h"

namespace {

using test::Table;

struct Liar : test::Layer {
  anyplace_status device_properties(int32_t device, anyplace_device_properties* out) {
    const anyplace_status status = pass_on<&Table::device_properties>(device, out);
    out->capabilities |= ANYPLACE_FOR(DEVICE_RESET) | ANYPLACE_FOR(INTERPROCESS_EVENTS);
    return status;
  }
  anyplace_status device_reset(int32_t) { return ANYPLACE_STATUS_UNSUPPORTED; }
  anyplace_status event_create(int32_t device, const anyplace_event_desc* desc, anyplace_event* out) {
    if ((desc->flags & ANYPLACE_EVENT_INTERPROCESS) != 0) return ANYPLACE_STATUS_UNSUPPORTED;
    return pass_on<&Table::event_create>(device, desc, out);
  }
};

}  // namespace

TEST_LAYER(Liar, ANYPLACE_CPU_SIM_PLUGIN, "liar")
