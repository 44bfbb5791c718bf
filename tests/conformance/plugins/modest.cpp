// SPDX-License-Identifier: Apache-2.0
// Claims nothing that is optional: what a first backend of a vendor's may look like. It conforms.
#include "support/layer.h"

namespace {

using test::Table;

struct Modest : test::Layer {
  void begin(const anyplace_host*, Table& table) { test::remove_entries(table, ~std::uint64_t{0}); }

  anyplace_status device_properties(int32_t device, anyplace_device_properties* out) {
    const anyplace_status status = pass_on<&Table::device_properties>(device, out);
    out->capabilities = 0;
    out->image_formats = 0;
    out->least_priority = 0;
    out->greatest_priority = 0;
    return status;
  }
  anyplace_status memory_allocate(int32_t device, uint32_t kind, uint64_t bytes, anyplace_address* out) {
    if (kind != ANYPLACE_MEMORY_DEVICE) return ANYPLACE_STATUS_UNSUPPORTED;
    return pass_on<&Table::memory_allocate>(device, kind, bytes, out);
  }
};

}  // namespace

TEST_LAYER(Modest, ANYPLACE_CPU_SIM_PLUGIN, "modest")
