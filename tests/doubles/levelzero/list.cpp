// SPDX-License-Identifier: Apache-2.0
//
// Command lists and what is appended to them. In a list without the flag for it, commands have no order: each
// runs as soon as the events that it waits for are signalled and the barriers ahead of it are done, with all others in
// whatever order the engine draws. What isn't waited for therefore shows.
#include <algorithm>
#include <cstring>

#include "state.h"

namespace anyplace::doubles::levelzero {
namespace {

constexpr ze_command_queue_flags_t in_order = 1U << 1U;  // ZE_COMMAND_QUEUE_FLAG_IN_ORDER

struct Events {
  ze_event_handle_t signal = nullptr;
  uint32_t count = 0;
  ze_event_handle_t* waits = nullptr;
};

enum class Order : uint8_t { command, barrier };

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

ze_result_t append(CommandList& list, const Events& events, Order order, Operation operation,
                   ze_event_handle_t reset = nullptr) {
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

/// The counter begins shortly before its end, so that it begins again while tests look.
uint64_t ticks_now() {
  static const uint64_t begin = now_nanoseconds();
  const Config& c = state().config;
  const uint64_t mask = c.timestamp_bits >= 64 ? ~uint64_t{0} : (uint64_t{1} << c.timestamp_bits) - 1;
  const auto since = static_cast<double>(now_nanoseconds() - begin) / 1e9 * static_cast<double>(c.ticks);
  return (static_cast<uint64_t>(since) + mask - c.ticks / 100) & mask;
}

bool is_power_of_two(size_t value) { return value != 0 && (value & (value - 1)) == 0; }

}  // namespace

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

// ---- Order
// -----------------------------------------------------------------------------------------------------------

ze_result_t do_zeCommandListAppendBarrier(ze_command_list_handle_t handle, ze_event_handle_t signal, uint32_t count,
                                          ze_event_handle_t* waits) {
  CommandListRef list;
  LEVELZERO_DOUBLE_TRY(find_list(handle, list));
  Operation operation;
  operation.work = Work::pass;
  return append(*list, {signal, count, waits}, Order::barrier, std::move(operation));
}

ze_result_t do_zeCommandListAppendEventReset(ze_command_list_handle_t handle, ze_event_handle_t event) {
  CommandListRef list;
  LEVELZERO_DOUBLE_TRY(find_list(handle, list));
  if (event == nullptr) return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  Operation operation;
  operation.work = Work::pass;
  return append(*list, {}, Order::command, std::move(operation), event);
}

ze_result_t do_zeCommandListAppendSignalEvent(ze_command_list_handle_t handle, ze_event_handle_t event) {
  CommandListRef list;
  LEVELZERO_DOUBLE_TRY(find_list(handle, list));
  if (event == nullptr) return ZE_RESULT_ERROR_INVALID_NULL_HANDLE;
  Operation operation;
  operation.work = Work::pass;
  return append(*list, {event, 0, nullptr}, Order::command, std::move(operation));
}

ze_result_t do_zeCommandListAppendWaitOnEvents(ze_command_list_handle_t handle, uint32_t count,
                                               ze_event_handle_t* events) {
  CommandListRef list;
  LEVELZERO_DOUBLE_TRY(find_list(handle, list));
  if (events == nullptr) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  if (count == 0) return misuse("a wait for no events");
  Operation operation;
  operation.work = Work::pass;
  return append(*list, {nullptr, count, events}, Order::barrier, std::move(operation));
}

ze_result_t do_zeCommandListAppendWriteGlobalTimestamp(ze_command_list_handle_t handle, uint64_t* address,
                                                       ze_event_handle_t signal, uint32_t count,
                                                       ze_event_handle_t* waits) {
  CommandListRef list;
  LEVELZERO_DOUBLE_TRY(find_list(handle, list));
  std::vector<Use> uses;
  LEVELZERO_DOUBLE_TRY(check_range(*list, address, sizeof(*address), Access::write, uses));
  if (reinterpret_cast<uint64_t>(address) % sizeof(*address) != 0) {
    return misuse("a timestamp's address isn't aligned", ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT);
  }
  return append_task(*list, {signal, count, waits}, "a timestamp", std::move(uses), [address] {
    const uint64_t ticks = ticks_now();
    std::memcpy(address, &ticks, sizeof(ticks));
    return 0;
  });
}

// ---- Copies and fills
// ------------------------------------------------------------------------------------------------

ze_result_t do_zeCommandListAppendMemoryCopy(ze_command_list_handle_t handle, void* to, const void* from, size_t bytes,
                                             ze_event_handle_t signal, uint32_t count, ze_event_handle_t* waits) {
  CommandListRef list;
  LEVELZERO_DOUBLE_TRY(find_list(handle, list));
  if (bytes == 0) return misuse("a copy of no bytes", ZE_RESULT_ERROR_INVALID_SIZE);
  std::vector<Use> uses;
  LEVELZERO_DOUBLE_TRY(check_range(*list, to, bytes, Access::write, uses));
  LEVELZERO_DOUBLE_TRY(check_range(*list, from, bytes, Access::read, uses));
  const auto a = reinterpret_cast<uint64_t>(to);
  const auto b = reinterpret_cast<uint64_t>(from);
  if (a < b + bytes && b < a + bytes) return misuse("a copy's ranges overlap", ZE_RESULT_ERROR_OVERLAPPING_REGIONS);
  return append_task(*list, {signal, count, waits}, "a copy", std::move(uses), [to, from, bytes] {
    std::memcpy(to, from, bytes);
    return 0;
  });
}

namespace {

struct Rows {
  uint64_t start = 0;
  uint64_t pitch = 0;
};

/// Whether a byte of the one region is of the other, too.
bool overlap(const Rows& a, const Rows& b, const ze_copy_region_t& size) {
  for (uint64_t row = 0; row < size.height; ++row) {
    const uint64_t begin = a.start + row * a.pitch;
    const uint64_t end = begin + size.width;
    if (end <= b.start) continue;
    // The first row of b that ends behind `begin`.
    const uint64_t past = b.start + size.width;
    const uint64_t first = begin < past ? 0 : (begin - past) / b.pitch + 1;
    if (first < size.height && b.start + first * b.pitch < end) return true;
  }
  return false;
}

}  // namespace

ze_result_t do_zeCommandListAppendMemoryCopyRegion(ze_command_list_handle_t handle, void* to,
                                                   const ze_copy_region_t* to_region, uint32_t to_pitch, uint32_t,
                                                   const void* from, const ze_copy_region_t* from_region,
                                                   uint32_t from_pitch, uint32_t, ze_event_handle_t signal,
                                                   uint32_t count, ze_event_handle_t* waits) {
  CommandListRef list;
  LEVELZERO_DOUBLE_TRY(find_list(handle, list));
  if (to == nullptr || from == nullptr || to_region == nullptr || from_region == nullptr)
    return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  const ze_copy_region_t& r = *to_region;
  const ze_copy_region_t& s = *from_region;
  if (r.width != s.width || r.height != s.height || r.depth != s.depth)
    return misuse("a copy's regions differ in size");
  if (r.depth > 1 || r.originZ != 0 || s.originZ != 0) return ZE_RESULT_ERROR_UNSUPPORTED_FEATURE;
  if (r.width == 0 || r.height == 0) return misuse("a copy of an empty region");
  if (to_pitch < r.width || from_pitch < r.width) return misuse("a copy's pitch is smaller than its width");
  auto* const out = static_cast<char*>(to) + r.originX + uint64_t{r.originY} * to_pitch;
  const auto* const in = static_cast<const char*>(from) + s.originX + uint64_t{s.originY} * from_pitch;
  std::vector<Use> uses;
  const uint64_t rows = r.height - 1;
  LEVELZERO_DOUBLE_TRY(check_range(*list, out, rows * to_pitch + r.width, Access::write, uses));
  LEVELZERO_DOUBLE_TRY(check_range(*list, in, rows * from_pitch + r.width, Access::read, uses));
  if (overlap({reinterpret_cast<uint64_t>(out), to_pitch}, {reinterpret_cast<uint64_t>(in), from_pitch}, r)) {
    return misuse("a copy's regions overlap", ZE_RESULT_ERROR_OVERLAPPING_REGIONS);
  }
  return append_task(*list, {signal, count, waits}, "a copy", std::move(uses),
                     [out, in, to_pitch, from_pitch, width = r.width, height = r.height] {
                       for (uint64_t row = 0; row < height; ++row) {
                         std::memcpy(out + row * to_pitch, in + row * from_pitch, width);
                       }
                       return 0;
                     });
}

ze_result_t do_zeCommandListAppendMemoryFill(ze_command_list_handle_t handle, void* to, const void* pattern,
                                             size_t pattern_bytes, size_t bytes, ze_event_handle_t signal,
                                             uint32_t count, ze_event_handle_t* waits) {
  CommandListRef list;
  LEVELZERO_DOUBLE_TRY(find_list(handle, list));
  if (pattern == nullptr) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  const bool fits = is_power_of_two(pattern_bytes) && pattern_bytes <= state().config.fill_pattern;
  if (!fits)
    return misuse("a fill's pattern is longer than the queue can do, or no power of two", ZE_RESULT_ERROR_INVALID_SIZE);
  if (bytes == 0 || bytes % pattern_bytes != 0)
    return misuse("a fill isn't a whole number of patterns", ZE_RESULT_ERROR_INVALID_SIZE);
  std::vector<Use> uses;
  LEVELZERO_DOUBLE_TRY(check_range(*list, to, bytes, Access::write, uses));
  // As much of it as a large fill is made of at a time: by patterns of a byte 4 GiB take minutes under a sanitizer.
  constexpr size_t most = 1 << 16;
  std::vector<char> copies(std::min(bytes, most));
  for (size_t at = 0; at < copies.size(); at += pattern_bytes) std::memcpy(&copies[at], pattern, pattern_bytes);
  return append_task(*list, {signal, count, waits}, "a fill", std::move(uses), [to, bytes, copies = std::move(copies)] {
    auto* const out = static_cast<char*>(to);
    for (size_t at = 0; at < bytes; at += copies.size()) {
      std::memcpy(out + at, copies.data(), std::min(copies.size(), bytes - at));
    }
    return 0;
  });
}

// ---- Kernels
// ---------------------------------------------------------------------------------------------------------

namespace {

struct Launch {
  KernelRef kernel;
  KernelShape shape;
  KernelArguments arguments;
  Launch(KernelRef of, const KernelShape& with, KernelArguments values)
      : kernel(std::move(of)), shape(with), arguments(std::move(values)) {
    ++kernel->launches;
  }
  Launch(const Launch&) = delete;
  Launch& operator=(const Launch&) = delete;
  ~Launch() { --kernel->launches; }
};

/// The fault that a test has asked for, if it is this kernel's turn.
int fault_asked_for(Device& device) {
  const Locked lock(state().mutex);
  if (device.kernels_until_fault == 0 || --device.kernels_until_fault != 0) return 0;
  return device.kernel_fault;
}

int run(const Launch& launch, Device& device) {
  if (const int fault = fault_asked_for(device); fault != 0) return fault;
  const bool done =
      run_kernel(launch.kernel->host, launch.shape, launch.arguments, [] { return state().engine.stopped(); });
  return done ? 0 : fault;
}

/// Values of 8 bytes that are addresses of the double's are taken for pointers.
ze_result_t find_uses(const CommandList& list, const KernelArguments& arguments, std::vector<Use>& uses) {
  for (const uint64_t address : arguments.addresses()) {
    const Verdict verdict = state().memory.find(address, 1).verdict;
    if (verdict == Verdict::foreign || verdict == Verdict::out_of_range) continue;
    LEVELZERO_DOUBLE_TRY(check_range(list, reinterpret_cast<const void*>(address), 1, Access::read, uses));  // NOLINT
  }
  return ZE_RESULT_SUCCESS;
}

ze_result_t check_shape(const Kernel& kernel, const ze_group_count_t& groups) {
  const uint64_t threads = uint64_t{kernel.group[0]} * kernel.group[1] * kernel.group[2];
  if (threads == 0) return misuse("a kernel was launched before its group size was set");
  if (threads > 1024) return ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION;
  if (groups.groupCountX == 0 || groups.groupCountY == 0 || groups.groupCountZ == 0) {
    return misuse("a launch of no groups", ZE_RESULT_ERROR_INVALID_GLOBAL_WIDTH_DIMENSION);
  }
  if (kernel.shared_argument >= 0 && kernel.shared_bytes == 0)
    return misuse("a launch without its local memory's size");
  return ZE_RESULT_SUCCESS;
}

}  // namespace

ze_result_t do_zeCommandListAppendLaunchKernel(ze_command_list_handle_t handle, ze_kernel_handle_t kernel_handle,
                                               const ze_group_count_t* groups, ze_event_handle_t signal, uint32_t count,
                                               ze_event_handle_t* waits) {
  CommandListRef list;
  KernelRef kernel;
  LEVELZERO_DOUBLE_TRY(find_list(handle, list));
  LEVELZERO_DOUBLE_TRY(find(state().kernels, kernel_handle, kernel, "kernel"));
  if (groups == nullptr) return ZE_RESULT_ERROR_INVALID_NULL_POINTER;
  const OneAtATime alone(kernel->busy, "kernel");
  LEVELZERO_DOUBLE_TRY(alone.result());
  if (!serves(*kernel->module->device, *list->device) || kernel->module->context != list->context) {
    return misuse("a kernel was launched on another device or context than its module's");
  }
  LEVELZERO_DOUBLE_TRY(check_shape(*kernel, *groups));
  std::vector<const void*> values;
  for (const auto& value : kernel->values) {
    if (value.empty()) return misuse("a kernel was launched before all its arguments were set");
    values.push_back(value.data());
  }
  const KernelShape shape{{groups->groupCountX, groups->groupCountY, groups->groupCountZ},
                          {kernel->group[0], kernel->group[1], kernel->group[2]},
                          kernel->shared_bytes};
  const auto launch = std::make_shared<Launch>(kernel, shape, KernelArguments(kernel->host.sizes, values.data()));
  std::vector<Use> uses;
  LEVELZERO_DOUBLE_TRY(find_uses(*list, launch->arguments, uses));
  return append_task(*list, {signal, count, waits}, "a kernel", std::move(uses),
                     [launch, device = list->device] { return run(*launch, *device); });
}

}  // namespace anyplace::doubles::levelzero
