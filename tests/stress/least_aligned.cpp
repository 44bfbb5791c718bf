// SPDX-License-Identifier: Apache-2.0
//
// The backend `least_aligned`: cpu_sim, but its device memory is aligned to just what it says, and to no more. That is
// the least that the boundary allows, or what STRESS_ALIGNMENT says. It has no virtual memory, whose pages are larger.
#include <cstdlib>

#include "support/layer.h"
#include "support/shifted_memory.h"

namespace {

using test::Table;

constexpr std::uint64_t absent = ANYPLACE_FOR(VIRTUAL_MEMORY) | ANYPLACE_FOR(STREAM_ORDERED_MEMORY);

struct LeastAligned : test::Layer {
  std::uint64_t alignment = 256;
  test::ShiftedMemory shifted;

  void begin(const anyplace_host*, Table& table) {
    if (const char* const said = std::getenv("STRESS_ALIGNMENT")) alignment = std::strtoull(said, nullptr, 10);
    test::remove_entries(table, absent);
  }

  anyplace_status device_properties(int32_t device, anyplace_device_properties* properties) {
    const anyplace_status status = pass_on<&Table::device_properties>(device, properties);
    if (status != ANYPLACE_STATUS_OK) return status;
    properties->address_alignment = alignment;
    properties->capabilities &= ~absent;
    return status;
  }
  anyplace_status memory_allocate(int32_t device, uint32_t kind, uint64_t bytes, anyplace_address* out) {
    if (kind == ANYPLACE_MEMORY_DEVICE) return shifted.allocate(*this, device, bytes, alignment, out);
    return pass_on<&Table::memory_allocate>(device, kind, bytes, out);
  }
  anyplace_status memory_free(int32_t device, uint32_t kind, anyplace_address address) {
    return pass_on<&Table::memory_free>(device, kind, shifted.take_base(address));
  }
};

}  // namespace

TEST_LAYER(LeastAligned, ANYPLACE_CPU_SIM_PLUGIN, "least_aligned")
