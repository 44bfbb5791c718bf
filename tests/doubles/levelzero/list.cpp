// SPDX-License-Identifier: Apache-2.0
//
// Command lists and queues, and the order of what is appended to them. In a list without the flag for it, commands have
// no order: each runs as soon as the events that it waits for are signalled and the barriers ahead of it are done, with
// all others in whatever order the engine draws. What isn't waited for therefore shows.
#include "list.h"

#include <algorithm>

namespace anyplace::doubles::levelzero {
namespace {

constexpr ze_command_queue_flags_t in_order = 1U << 1U;  // ZE_COMMAND_QUEUE_FLAG_IN_ORDER

ze_result_t find_event(const CommandList& list, ze_event_handle_t handle, EventRef& event) {
  event = state().events.find(handle);
  if (event == nullptr)
    return misuse("a command was given an event that was destroyed", ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT);
  if (event->pool->context != list.context)
    return misuse("a command was given an event of another context", ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT);
  const auto& devices = event->pool->devices;
  const bool visible = devices.empty() || std::any_of(devices.begin(), devices.end(), [&list](int index) {
                         return serves(*state().devices[static_cast<std::size_t>(index)], *list.device);
                       });
  if (!visible) {
    return misuse("a command was given an event of a pool that its device doesn't see",
                  ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT);
  }
  return ZE_RESULT_SUCCESS;
}

void prune(std::vector<CompletionRef>& completions) {
  completions.erase(std::remove_if(completions.begin(), completions.end(),
                                   [](const CompletionRef& one) { return state().engine.is_done(one); }),
                    completions.end());
}

/// What the operation comes behind; State::mutex is held.
ze_result_t collect(const CommandList& list, const Events& events, Order order, Operation& operation,
                    std::vector<EventRef>& awaited) {
  if (events.waits == nullptr && events.count != 0) return ZE_RESULT_ERROR_INVALID_SIZE;
  for (uint32_t i = 0; i < events.count; ++i) {
    EventRef event;
    LEVELZERO_DOUBLE_TRY(find_event(list, events.waits[i], event));
    operation.after.push_back(event->signal);
    awaited.push_back(std::move(event));
  }
  if (list.in_order) return ZE_RESULT_SUCCESS;
  if (list.barrier != nullptr) operation.after.push_back(list.barrier);
  if (order == Order::barrier && events.count == 0) {
    operation.after.insert(operation.after.end(), list.outstanding.begin(), list.outstanding.end());
  }
  return ZE_RESULT_SUCCESS;
}

/// The event is as new for what is submitted from now on: what signals it and what waits for it has to be in front of
/// the list's last barrier, behind which the reset comes. State::mutex is held.
ze_result_t reset_in_order(const CommandList& list, ze_event_handle_t handle, const Operation& operation) {
  EventRef event;
  LEVELZERO_DOUBLE_TRY(find_event(list, handle, event));
  const auto is_ahead = [&](const CompletionRef& one) {
    const auto& before = list.barrier_after;
    return state().engine.is_done(one) || one == list.barrier ||
           std::find(before.begin(), before.end(), one) != before.end() ||
           std::find(operation.after.begin(), operation.after.end(), one) != operation.after.end();
  };
  const bool signalled = !event->signalled_by_command || is_ahead(event->signal);
  if (!signalled || !std::all_of(event->waits.begin(), event->waits.end(), is_ahead)) {
    return misuse("a command resets an event that another one signals or waits for, without an order between them");
  }
  event->signal = std::make_shared<Completion>();
  event->signalled_by_command = false;
  event->waits.clear();
  return ZE_RESULT_SUCCESS;
}

ze_result_t enqueue(CommandList& list, const Events& events, Order order, ze_event_handle_t reset, Operation operation,
                    CompletionRef& done) {
  const Locked lock(state().mutex);
  std::vector<EventRef> awaited;
  LEVELZERO_DOUBLE_TRY(collect(list, events, order, operation, awaited));
  operation.done = done = std::make_shared<Completion>();
  if (reset != nullptr) LEVELZERO_DOUBLE_TRY(reset_in_order(list, reset, operation));
  EventRef signalled;
  if (events.signal != nullptr) {
    EventRef event;
    LEVELZERO_DOUBLE_TRY(find_event(list, events.signal, event));
    if (event->signalled_by_command || state().engine.is_done(event->signal)) {
      // Of a device that was lost since append() asked, the host may have signalled every event, so that nobody waits.
      LEVELZERO_DOUBLE_TRY(health_of(*list.device));
      return misuse("a command is to signal an event that wasn't reset since it was signalled");
    }
    if (std::find(operation.after.begin(), operation.after.end(), event->signal) != operation.after.end()) {
      return misuse("a command waits for the event that it is to signal",
                    ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT);
    }
    event->signalled_by_command = true;
    event->device = list.device;
    signalled = std::move(event);
  }
  for (const EventRef& event : awaited) {
    prune(event->waits);
    event->waits.push_back(operation.done);
  }
  if (list.outstanding.size() > 64) prune(list.outstanding);
  list.outstanding.push_back(operation.done);
  if (order == Order::barrier) {
    list.barrier = operation.done;
    list.barrier_after = operation.after;
  }
  const QueueRef queue =
      list.in_order ? list.queue : std::make_shared<Queue>(list.device->index, list.priority, list.device->fault);
  state().engine.submit(queue, std::move(operation));
  if (signalled == nullptr) return ZE_RESULT_SUCCESS;
  // Apart from the command: the host may signal the event while the command runs.
  Operation signal;
  signal.work = Work::pass;
  signal.done = signalled->signal;
  state().engine.submit(queue, std::move(signal));
  return ZE_RESULT_SUCCESS;
}

ze_result_t record(CommandList& list, const Events& events, Order order, ze_event_handle_t reset, Operation operation) {
  if (list.closed) return misuse("a command was appended to a list that was closed");
  if (events.waits == nullptr && events.count != 0) return ZE_RESULT_ERROR_INVALID_SIZE;
  Recorded made{events.signal, {}, order == Order::barrier, reset, std::move(operation)};
  if (events.count != 0) made.waits.assign(events.waits, events.waits + events.count);
  const Locked lock(state().mutex);
  EventRef event;
  for (const ze_event_handle_t wait : made.waits) LEVELZERO_DOUBLE_TRY(find_event(list, wait, event));
  if (made.signal != nullptr) LEVELZERO_DOUBLE_TRY(find_event(list, made.signal, event));
  if (reset != nullptr) LEVELZERO_DOUBLE_TRY(find_event(list, reset, event));
  list.recorded.push_back(std::move(made));
  return ZE_RESULT_SUCCESS;
}

}  // namespace

ze_result_t append(CommandList& list, const Events& events, Order order, Operation operation, ze_event_handle_t reset) {
  const OneAtATime alone(list.busy, "command list");
  LEVELZERO_DOUBLE_TRY(alone.result());
  LEVELZERO_DOUBLE_TRY(health_of(*list.device));
  if (!list.immediate) return record(list, events, order, reset, std::move(operation));
  CompletionRef done;
  LEVELZERO_DOUBLE_TRY(enqueue(list, events, order, reset, std::move(operation), done));
  if (!list.synchronous) return ZE_RESULT_SUCCESS;
  state().engine.wait({done}, {list.device->fault});
  return health_of(*list.device);
}

ze_result_t find_list(ze_command_list_handle_t handle, CommandListRef& list) {
  return find(state().lists, handle, list, "command list");
}

ze_result_t append_task(CommandList& list, const Events& events, const char* what, std::vector<Use> uses,
                        std::function<int()> task) {
  Operation operation;
  operation.run = [what, uses = std::move(uses), task = std::move(task)] { return run_on(uses, what, task); };
  return append(list, events, Order::command, std::move(operation));
}

// ---- Lists
// -----------------------------------------------------------------------------------------------------------

ze_result_t do_zeCommandListCreateImmediate(ze_context_handle_t context_handle, ze_device_handle_t device_handle,
                                            const ze_command_queue_desc_t* desc, ze_command_list_handle_t* out) {
  ContextRef context;
  DeviceRef device;
  LEVELZERO_DOUBLE_TRY(find(state().contexts, context_handle, context, "context"));
  LEVELZERO_DOUBLE_TRY(find(state().device_table, device_handle, device, "device"));
  LEVELZERO_DOUBLE_TRY(check_desc(desc, ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC, "ze_command_queue_desc_t"));
  if (out == nullptr) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  LEVELZERO_DOUBLE_TRY(health_of(*device));
  const ze_command_queue_flags_t known = has_in_order_lists() ? 3 : 1;
  if ((desc->flags & ~known) != 0 || desc->mode > 2 || desc->priority > 2) return ZE_RESULT_ERROR_INVALID_ENUMERATION;
  if (desc->ordinal != 2 || desc->index >= state().config.queues) {
    return misuse("a command list was asked for on a queue group that takes no kernels, or a queue that isn't there");
  }
  auto list = std::make_shared<CommandList>();
  list->context = context;
  list->device = device;
  list->in_order = (desc->flags & in_order) != 0;
  list->synchronous = desc->mode == ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS;
  list->priority = desc->priority == ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_HIGH  ? -1
                   : desc->priority == ZE_COMMAND_QUEUE_PRIORITY_PRIORITY_LOW ? 1
                                                                              : 0;
  list->queue = std::make_shared<Queue>(device->index, list->priority, device->fault);
  const Locked lock(state().mutex);
  *out = state().lists.add(std::move(list));
  return ZE_RESULT_SUCCESS;
}

ze_result_t do_zeCommandListCreate(ze_context_handle_t context_handle, ze_device_handle_t device_handle,
                                   const ze_command_list_desc_t* desc, ze_command_list_handle_t* out) {
  auto list = std::make_shared<CommandList>();
  LEVELZERO_DOUBLE_TRY(find(state().contexts, context_handle, list->context, "context"));
  LEVELZERO_DOUBLE_TRY(find(state().device_table, device_handle, list->device, "device"));
  LEVELZERO_DOUBLE_TRY(check_desc(desc, ZE_STRUCTURE_TYPE_COMMAND_LIST_DESC, "ze_command_list_desc_t"));
  if (out == nullptr) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  LEVELZERO_DOUBLE_TRY(health_of(*list->device));
  if (desc->flags > 7) return ZE_RESULT_ERROR_INVALID_ENUMERATION;
  if (desc->commandQueueGroupOrdinal != 2) {
    return misuse("a command list was asked for on a queue group that takes no kernels");
  }
  list->immediate = false;
  list->ordinal = desc->commandQueueGroupOrdinal;
  const Locked lock(state().mutex);
  *out = state().lists.add(std::move(list));
  return ZE_RESULT_SUCCESS;
}

ze_result_t do_zeCommandListClose(ze_command_list_handle_t handle) {
  CommandListRef list;
  LEVELZERO_DOUBLE_TRY(find_list(handle, list));
  const OneAtATime alone(list->busy, "command list");
  LEVELZERO_DOUBLE_TRY(alone.result());
  LEVELZERO_DOUBLE_TRY(health_of(*list->device));
  if (list->immediate) return misuse("an immediate command list was closed");
  if (list->closed) return misuse("a command list was closed twice");
  list->closed = true;
  return ZE_RESULT_SUCCESS;
}

ze_result_t do_zeCommandListDestroy(ze_command_list_handle_t handle) {
  CommandListRef list;
  LEVELZERO_DOUBLE_TRY(find_list(handle, list));
  const OneAtATime alone(list->busy, "command list");
  if (alone.result() != ZE_RESULT_SUCCESS) return ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE;
  const Locked lock(state().mutex);
  prune(list->outstanding);
  const bool over =
      list->outstanding.empty() || health_of(*list->device) != ZE_RESULT_SUCCESS || state().engine.stopped();
  if (!over) return misuse("a command list was destroyed while its commands ran", ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE);
  state().lists.remove(handle);
  return ZE_RESULT_SUCCESS;
}

ze_result_t do_zeCommandListIsImmediate(ze_command_list_handle_t handle, ze_bool_t* immediate) {
  CommandListRef list;
  LEVELZERO_DOUBLE_TRY(find_list(handle, list));
  if (immediate == nullptr) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  *immediate = list->immediate ? 1 : 0;
  return ZE_RESULT_SUCCESS;
}

ze_result_t do_zeCommandListGetDeviceHandle(ze_command_list_handle_t handle, ze_device_handle_t* device) {
  CommandListRef list;
  LEVELZERO_DOUBLE_TRY(find_list(handle, list));
  if (device == nullptr) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  *device = list->device->handle;
  return ZE_RESULT_SUCCESS;
}

// ---- Queues
// -----------------------------------------------------------------------------------------------------------

ze_result_t do_zeCommandQueueCreate(ze_context_handle_t context_handle, ze_device_handle_t device_handle,
                                    const ze_command_queue_desc_t* desc, ze_command_queue_handle_t* out) {
  auto queue = std::make_shared<CommandQueue>();
  LEVELZERO_DOUBLE_TRY(find(state().contexts, context_handle, queue->context, "context"));
  LEVELZERO_DOUBLE_TRY(find(state().device_table, device_handle, queue->device, "device"));
  LEVELZERO_DOUBLE_TRY(check_desc(desc, ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC, "ze_command_queue_desc_t"));
  if (out == nullptr) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  LEVELZERO_DOUBLE_TRY(health_of(*queue->device));
  if (desc->flags > 1 || desc->mode > 2 || desc->priority > 2) return ZE_RESULT_ERROR_INVALID_ENUMERATION;
  if (desc->ordinal != 2 || desc->index >= state().config.queues) {
    return misuse("a queue was asked for of a queue group that takes no kernels, or one that isn't there");
  }
  queue->ordinal = desc->ordinal;
  const Locked lock(state().mutex);
  *out = state().queues.add(std::move(queue));
  return ZE_RESULT_SUCCESS;
}

ze_result_t do_zeCommandQueueDestroy(ze_command_queue_handle_t handle) {
  std::shared_ptr<CommandQueue> queue;
  LEVELZERO_DOUBLE_TRY(find(state().queues, handle, queue, "command queue"));
  const Locked lock(state().mutex);
  prune(queue->outstanding);
  const bool over =
      queue->outstanding.empty() || health_of(*queue->device) != ZE_RESULT_SUCCESS || state().engine.stopped();
  if (!over) return misuse("a queue was destroyed while its lists ran", ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE);
  state().queues.remove(handle);
  return ZE_RESULT_SUCCESS;
}

namespace {

/// What the application must see to before a list is executed.
ze_result_t check_execution(const CommandQueue& queue, CommandList& list) {
  if (list.immediate) {
    return misuse("an immediate command list was given to a queue", ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE);
  }
  if (!list.closed) return misuse("a command list was executed that wasn't closed");
  if (list.context != queue.context || !serves(*queue.device, *list.device) || list.ordinal != queue.ordinal) {
    return misuse("a command list was executed on a queue of another context, device or group");
  }
  const Locked lock(state().mutex);
  prune(list.outstanding);
  if (!list.outstanding.empty()) return misuse("a command list was executed while the device ran it");
  list.barrier = nullptr;
  list.barrier_after.clear();
  return ZE_RESULT_SUCCESS;
}

ze_result_t execute(CommandQueue& queue, CommandList& list) {
  const OneAtATime alone(list.busy, "command list");
  LEVELZERO_DOUBLE_TRY(alone.result());
  LEVELZERO_DOUBLE_TRY(check_execution(queue, list));
  for (Recorded& one : list.recorded) {
    CompletionRef done;
    const Events events{one.signal, static_cast<uint32_t>(one.waits.size()), one.waits.data()};
    LEVELZERO_DOUBLE_TRY(
        enqueue(list, events, one.is_barrier ? Order::barrier : Order::command, one.reset, one.operation, done));
    const Locked lock(state().mutex);
    if (queue.outstanding.size() > 64) prune(queue.outstanding);
    queue.outstanding.push_back(std::move(done));
  }
  return ZE_RESULT_SUCCESS;
}

}  // namespace

ze_result_t do_zeCommandQueueExecuteCommandLists(ze_command_queue_handle_t handle, uint32_t count,
                                                 ze_command_list_handle_t* lists, ze_fence_handle_t fence) {
  std::shared_ptr<CommandQueue> queue;
  LEVELZERO_DOUBLE_TRY(find(state().queues, handle, queue, "command queue"));
  if (lists == nullptr) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  if (count == 0) return ZE_RESULT_ERROR_INVALID_SIZE;
  if (fence != nullptr) return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
  LEVELZERO_DOUBLE_TRY(health_of(*queue->device));
  for (uint32_t i = 0; i < count; ++i) {
    CommandListRef list;
    LEVELZERO_DOUBLE_TRY(find_list(lists[i], list));
    LEVELZERO_DOUBLE_TRY(execute(*queue, *list));
  }
  return ZE_RESULT_SUCCESS;
}

}  // namespace anyplace::doubles::levelzero
