// SPDX-License-Identifier: Apache-2.0
#include "memory/subsystem.h"

#include "memory/address_book.h"
#include "memory/allocator/device_allocator.h"
#include "memory/copy.h"
#include "memory/deferred_free.h"
#include "memory/device_allocators.h"
#include "memory/event_pool.h"
#include "memory/host_pool.h"
#include "memory/pressure.h"
#include "runtime/backend.h"
#include "runtime/process.h"
#include "streams/stream_state.h"

namespace anyplace::detail {
namespace {

void device_made(DeviceState& device) {
  if (device.event_pool == nullptr) device.event_pool = make_event_pool();
  if (device.pressure == nullptr) device.pressure = new PressureCallbacks(device);
  if (device.deferred_frees == nullptr) device.deferred_frees = make_deferred_frees(device);
  if (device.allocator == nullptr) device.allocator = make_device_allocator(device);
  if (device.allocators == nullptr) device.allocators = make_device_allocators(device);
  if (device.host_pool == nullptr) device.host_pool = make_host_pool(device);
  if (device.addresses == nullptr) device.addresses = make_device_addresses(device);
}

void stream_ended(StreamState& stream) noexcept { stream.device->allocator->stream_ends(stream); }

/// Frees memory whose work is done. Memory that running work uses is kept.
void after_wait(DeviceState& device, bool all_idle) noexcept {
  drain_deferred_frees(device);
  // Entries without an event can be freed now, because the devices are idle.
  if (all_idle) wait_for_deferred_frees(device);
}

/// Frees everything that is kept for reuse. No free and no copy comes after this.
void give_back(DeviceState& device, Subsystem::Clock::time_point deadline) noexcept {
  device.allocator->shut_down(deadline, device.idle_at_exit.load(std::memory_order_acquire));
  drop_idle_events(device);
  device.host_pool->close(deadline);
}

}  // namespace

constinit const Subsystem memory_subsystem{.device_made = device_made,
                                           .stream_ended = stream_ended,
                                           .after_wait = after_wait,
                                           .end_unused = drop_staging,
                                           .give_back = give_back};

}  // namespace anyplace::detail
