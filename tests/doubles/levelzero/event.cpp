// SPDX-License-Identifier: Apache-2.0
//
// Event pools and events. An event is signalled once, by a command or by the host, and then until it is reset.
//
// Stricter than the reference: a second command that signals an event without a reset in between is noted; so is
// resetting or destroying one while a command is to signal it, or waits for it.
#include <algorithm>
#include <chrono>
#include <thread>

#include "state.h"

namespace anyplace::doubles::levelzero {
namespace {

/// Why the event can't be reset or destroyed; null if it can. The commands of a lost device never end, and are no
/// hindrance.
const char* in_use(const Event& event) {
  Engine& engine = state().engine;
  if (any_device_lost() || engine.stopped()) return nullptr;
  if (event.signalled_by_command && !engine.is_done(event.signal)) return "a command is to signal it";
  const bool awaited = std::any_of(event.waits.begin(), event.waits.end(),
                                   [&engine](const CompletionRef& wait) { return !engine.is_done(wait); });
  return awaited ? "a command waits for it" : nullptr;
}

/// The event lets go of its signal; State::mutex is held. Commands that wait for one that doesn't come any more stay
/// known, so that they are no leak.
void give_up(Event& event) {
  if (!event.waits.empty() && !state().engine.is_done(event.signal)) state().given_up.push_back(event.signal);
  event.waits.clear();
}

}  // namespace

ze_result_t do_zeEventPoolCreate(ze_context_handle_t context_handle, const ze_event_pool_desc_t* desc, uint32_t count,
                                 ze_device_handle_t* devices, ze_event_pool_handle_t* out) {
  ContextRef context;
  LEVELZERO_DOUBLE_TRY(find(state().contexts, context_handle, context, "context"));
  LEVELZERO_DOUBLE_TRY(check_desc(desc, ZE_STRUCTURE_TYPE_EVENT_POOL_DESC, "ze_event_pool_desc_t"));
  if (out == nullptr) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  if (desc->count == 0 || (devices == nullptr && count > 0)) return ZE_RESULT_ERROR_INVALID_SIZE;
  if (desc->flags > 7) return ZE_RESULT_ERROR_INVALID_ENUMERATION;
  auto pool = std::make_shared<EventPool>();
  pool->context = context;
  pool->count = desc->count;
  pool->flags = desc->flags;
  pool->used.resize(desc->count);
  for (uint32_t i = 0; i < count; ++i) {
    DeviceRef device;
    LEVELZERO_DOUBLE_TRY(find(state().device_table, devices[i], device, "device"));
    pool->devices.push_back(device->index);
  }
  const Locked lock(state().mutex);
  *out = state().pools.add(std::move(pool));
  return ZE_RESULT_SUCCESS;
}

ze_result_t do_zeEventPoolDestroy(ze_event_pool_handle_t handle) {
  EventPoolRef pool;
  LEVELZERO_DOUBLE_TRY(find(state().pools, handle, pool, "event pool"));
  const Locked lock(state().mutex);
  if (std::find(pool->used.begin(), pool->used.end(), true) != pool->used.end()) {
    return misuse("an event pool was destroyed before its events", ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE);
  }
  state().pools.remove(handle);
  return ZE_RESULT_SUCCESS;
}

ze_result_t do_zeEventCreate(ze_event_pool_handle_t pool_handle, const ze_event_desc_t* desc, ze_event_handle_t* out) {
  EventPoolRef pool;
  LEVELZERO_DOUBLE_TRY(find(state().pools, pool_handle, pool, "event pool"));
  LEVELZERO_DOUBLE_TRY(check_desc(desc, ZE_STRUCTURE_TYPE_EVENT_DESC, "ze_event_desc_t"));
  if (out == nullptr) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  if (desc->signal > 7 || desc->wait > 7) return ZE_RESULT_ERROR_INVALID_ENUMERATION;
  const Locked lock(state().mutex);
  if (desc->index >= pool->count) return misuse("an event's index is past its pool's count");
  if (pool->used[desc->index]) return misuse("two events of a pool have one index");
  pool->used[desc->index] = true;
  auto event = std::make_shared<Event>();
  event->pool = pool;
  event->index = desc->index;
  *out = state().events.add(std::move(event));
  return ZE_RESULT_SUCCESS;
}

ze_result_t do_zeEventDestroy(ze_event_handle_t handle) {
  EventRef event;
  LEVELZERO_DOUBLE_TRY(find(state().events, handle, event, "event"));
  const Locked lock(state().mutex);
  if (const char* const why = in_use(*event))
    return misuse(std::string("an event was destroyed while ") + why, ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE);
  give_up(*event);
  event->pool->used[event->index] = false;
  state().events.remove(handle);
  return ZE_RESULT_SUCCESS;
}

ze_result_t do_zeEventHostSignal(ze_event_handle_t handle) {
  EventRef event;
  LEVELZERO_DOUBLE_TRY(find(state().events, handle, event, "event"));
  const Locked lock(state().mutex);
  const bool lost = event->device != nullptr && health_of(*event->device) != ZE_RESULT_SUCCESS;
  if (event->signalled_by_command && !lost && !state().engine.is_done(event->signal)) {
    misuse("the host signalled an event that a command is to signal");
  }
  state().engine.complete(event->signal);
  return ZE_RESULT_SUCCESS;
}

ze_result_t do_zeEventHostReset(ze_event_handle_t handle) {
  EventRef event;
  LEVELZERO_DOUBLE_TRY(find(state().events, handle, event, "event"));
  const Locked lock(state().mutex);
  if (const char* const why = in_use(*event)) misuse(std::string("an event was reset while ") + why);
  give_up(*event);
  event->signal = std::make_shared<Completion>();
  event->signalled_by_command = false;
  event->device = nullptr;
  return ZE_RESULT_SUCCESS;
}

namespace {

/// What the host sees of an event, at once.
ze_result_t status_of(const Event& event) {
  // Before the device's health: behind a fault commands are dropped, and their events are done.
  const bool done = state().engine.is_done(event.signal);
  if (event.device != nullptr) LEVELZERO_DOUBLE_TRY(health_of(*event.device));
  return done && !state().config.stuck ? ZE_RESULT_SUCCESS : ZE_RESULT_NOT_READY;
}

ze_result_t find_visible(ze_event_handle_t handle, EventRef& event) {
  LEVELZERO_DOUBLE_TRY(find(state().events, handle, event, "event"));
  const bool visible = (event->pool->flags & ZE_EVENT_POOL_FLAG_HOST_VISIBLE) != 0;
  if (visible) return ZE_RESULT_SUCCESS;
  return misuse("the host asked for an event that it can't see", ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT);
}

}  // namespace

ze_result_t do_zeEventQueryStatus(ze_event_handle_t handle) {
  EventRef event;
  LEVELZERO_DOUBLE_TRY(find_visible(handle, event));
  const Locked lock(state().mutex);
  return status_of(*event);
}

ze_result_t do_zeEventHostSynchronize(ze_event_handle_t handle, uint64_t timeout) {
  EventRef event;
  LEVELZERO_DOUBLE_TRY(find_visible(handle, event));
  CompletionRef signal;
  std::shared_ptr<FaultDomain> domain;
  {
    const Locked lock(state().mutex);
    signal = event->signal;
    if (event->device != nullptr) domain = event->device->fault;
  }
  if (state().config.stuck) {
    const auto end =
        std::chrono::steady_clock::now() + std::chrono::nanoseconds(std::min<uint64_t>(timeout, INT64_MAX / 2));
    while (!state().engine.stopped() && std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return ZE_RESULT_NOT_READY;
  }
  const bool done = state().engine.wait_for(signal, domain, timeout);
  if (domain != nullptr && domain->code.load() != 0) return ZE_RESULT_ERROR_DEVICE_LOST;
  return done ? ZE_RESULT_SUCCESS : ZE_RESULT_NOT_READY;
}

}  // namespace anyplace::doubles::levelzero
