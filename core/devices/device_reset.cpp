// SPDX-License-Identifier: Apache-2.0
// Device::reset. It is in this room because it ends the objects that all lower rooms have of the device.
#include <fmt/format.h>

#include <cstdint>

#include "anyplace/device.h"
#include "graphs/live_graphs.h"
#include "handles/deferred_release.h"
#include "kernels/kernel_state.h"
#include "memory/allocator/device_allocator.h"
#include "memory/deferred_free.h"
#include "memory/event_pool.h"
#include "memory/host_pool.h"
#include "memory/memory_state.h"
#include "plugins/device_properties.h"
#include "runtime/call.h"
#include "streams/captured.h"
#include "streams/device_clock.h"
#include "streams/event_state.h"
#include "streams/helper_streams.h"
#include "streams/stream_state.h"

namespace anyplace {

namespace detail {
namespace {

template <class State>
void close_all(SlotTable<State>& table, const DeviceState& device) {
  for (const std::uint64_t id : table.open_handles([&](const State& state) { return state.device == &device; })) {
    table.close(id);
  }
}

void close_streams(const DeviceState& device) {
  const auto is_its_own = [&](const StreamState& state) {
    return state.device == &device && state.id != device.default_stream_id.load();
  };
  for (const std::uint64_t id : streams().open_handles(is_its_own)) streams().close(id);
}

/// HostBuffers must be gone before a reset: their memory ends with it, and unlike a handle a HostBuffer can't be marked
/// invalid.
void require_no_host_buffers(const DeviceState& device, const char* operation) {
  const std::uint64_t there = device.host_pool->stats().allocations;
  if (there == 0) return;
  fail(ErrorCode::invalid_argument, device.place, operation,
       fmt::format("{} of its HostBuffers {} in use\nlet them go first", there, there == 1 ? "is" : "are"));
}

}  // namespace
}  // namespace detail

void Device::reset() const {
  using namespace detail;
  constexpr const char* operation = "Device::reset";
  enter(operation);
  require_usable(*state_, operation);
  require_capability(*state_, Capability::device_reset, operation);
  require_no_host_buffers(*state_, operation);
  refuse_captures(*state_, operation);
  static_cast<void>(detail::synchronize(*state_, ANYPLACE_FOREVER, operation));
  state_->resets.fetch_add(1, std::memory_order_acq_rel);
  end_graphs_of(*state_);
  drop_idle_helper_streams(*state_);
  close_all(kernels(), *state_);
  close_all(modules(), *state_);
  close_all(buffers(), *state_);
  close_streams(*state_);
  close_all(events(), *state_);
  state_->clock->forget();
  release_all_unused();
  static_cast<void>(wait_for_deferred_frees(*state_));
  release_host_pool(*state_);
  state_->allocator->device_resets();
  drop_idle_events(*state_);
  check(state_->table->device_reset(state_->self, state_->index), *state_, operation);
}

}  // namespace anyplace
