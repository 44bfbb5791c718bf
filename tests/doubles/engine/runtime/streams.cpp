// SPDX-License-Identifier: Apache-2.0
//
// Streams, and events in them. A record is an operation of its stream; the event keeps the most recent one, and who
// waits keeps the one that was the most recent then.
#include <chrono>
#include <thread>
#include <utility>

#include "captures.h"

namespace anyplace::doubles {
namespace {

// Of an event's flags.
constexpr unsigned blocking_sync = 1, disable_timing = 2, interprocess = 4;

/// Whether the most recent record was another process's.
bool is_recorded_elsewhere(const Event& event) {
  return event.shared != nullptr && event.shared->recorded() != event.number;
}

}  // namespace

int create_stream(WordOut stream, unsigned flags, int priority) {
  constexpr unsigned non_blocking = 1;
  if (stream.is_null() || (flags & ~non_blocking) != 0) return code::invalid_value;
  ContextRef context;
  const int result = current_context(context);
  if (result != 0) return result;
  const Locked lock(state().mutex);
  const StreamRef made = make_stream(lock, context, flags, priority);
  made->handle = state().streams.add(made);
  stream.write(made->handle);
  return 0;
}

int take_stream(Word stream, StreamRef& taken) {
  const Locked lock(state().mutex);
  taken = state().streams.find(stream);
  if (taken == nullptr) {
    misused("of what is no stream, or no longer");
    return vendor.unknown_stream;
  }
  leave_capture(lock, *taken);
  taken->destroyed = true;
  state().streams.remove(stream);
  return fault_of(*taken->context);
}

int query_stream(Word stream) {
  StreamRef found;
  const int result = resolve_stream(stream, found);
  if (result != 0) return result;
  const Locked lock(state().mutex);
  if (const int refused = refuse_captured(lock, *found); refused != 0) return refused;
  for (const CompletionRef& completion : pending(lock, *found)) {
    if (!state().engine.is_done(completion)) return code::not_ready;
  }
  return fault_of(*found->context);
}

int synchronize_stream(Word stream) {
  StreamRef found;
  const int result = resolve_stream(stream, found);
  if (result != 0) return result;
  {
    const Locked lock(state().mutex);
    if (const int refused = refuse_captured(lock, *found); refused != 0) return refused;
  }
  return wait_for_all(*found);
}

int wait_for_event(Word stream, Word event, unsigned flags) {
  if (flags != 0) return code::invalid_value;
  StreamRef found;
  const int result = resolve_stream(stream, found);
  if (result != 0) return result;
  const Locked lock(state().mutex);
  const EventRef waited = state().events.find(event);
  if (waited == nullptr) return code::invalid_handle;
  if (const auto captured = capture_wait(lock, found, *waited)) return *captured;
  if (is_recorded_elsewhere(*waited)) {
    Operation poll;
    poll.work = Work::poll;
    poll.run = [shared = waited->shared, number = waited->shared->recorded()] {
      return shared->is_done(number) ? 0 : not_yet;
    };
    submit(lock, found, std::move(poll));
    return 0;
  }
  if (waited->record == nullptr) return 0;
  Operation operation;
  operation.work = Work::pass;
  operation.after.push_back(waited->record);
  submit(lock, found, std::move(operation));
  return 0;
}

int stream_priority(Word stream, int* priority) {
  if (priority == nullptr) return code::invalid_value;
  StreamRef found;
  const int result = resolve_stream(stream, found);
  if (result == 0) *priority = found->priority;
  return result;
}

int stream_flags(Word stream, unsigned* flags) {
  if (flags == nullptr) return code::invalid_value;
  StreamRef found;
  const int result = resolve_stream(stream, found);
  if (result == 0) *flags = found->flags;
  return result;
}

int call_host(Word stream, std::function<void()> function, std::function<void(int fault)> if_failed) {
  StreamRef found;
  const int result = resolve_stream(stream, found);
  if (result != 0) return result;
  if (const auto captured = capture_node(found, [&](NodeWork& work) { return host_work(function, work); })) {
    return *captured;
  }
  Operation operation;
  operation.work = Work::host;
  operation.run = [function = std::move(function)] {
    function();
    return 0;
  };
  operation.run_failed = std::move(if_failed);
  return submit_and(false, found, std::move(operation));
}

int wait_until(const StreamRef& stream, Uses uses, std::function<bool()> satisfied) {
  Operation operation;
  operation.work = Work::poll;
  operation.run = [uses = std::move(uses), satisfied = std::move(satisfied)] {
    return run_on(uses, "a wait on a value in memory", [&] { return satisfied() ? 0 : not_yet; });
  };
  return submit_and(false, stream, std::move(operation));
}

// -- Events.

int create_event(WordOut event, unsigned flags) {
  if (event.is_null() || (flags & ~(blocking_sync | disable_timing | interprocess)) != 0) return code::invalid_value;
  if ((flags & interprocess) != 0 && (flags & disable_timing) == 0) return code::invalid_value;
  ContextRef context;
  const int result = current_context(context);
  if (result != 0) return result;
  auto made = std::make_shared<Event>();
  made->context = context;
  made->flags = flags;
  if ((flags & interprocess) != 0 && (made->shared = SharedRecords::make()) == nullptr) return code::out_of_memory;
  const Locked lock(state().mutex);
  event.write(state().events.add(std::move(made)));
  return 0;
}

int find_event(const Locked&, uint64_t handle, EventRef& event) {
  event = state().events.find(handle);
  return event == nullptr ? code::invalid_handle : fault_of(*event->context);
}

int record_event(Word event, Word stream) {
  StreamRef found;
  const int result = resolve_stream(stream, found);
  if (result != 0) return result;
  const Locked lock(state().mutex);
  const EventRef recorded = state().events.find(event);
  if (recorded == nullptr || recorded->context != found->context) return code::invalid_handle;
  if (const auto captured = capture_record(lock, found, *recorded)) return *captured;
  Operation operation;
  if (recorded->shared != nullptr) {
    recorded->number = recorded->shared->begin_record();
    operation.run = [shared = recorded->shared, number = recorded->number] {
      shared->end_record(number);
      return 0;
    };
  }
  recorded->record = submit(lock, found, std::move(operation));
  return 0;
}

int query_event(Word event) {
  const Locked lock(state().mutex);
  EventRef found;
  const int result = find_event(lock, event, found);
  if (result != 0) return result;
  if (const int refused = refuse_captured(lock, *found); refused != 0) return refused;
  if (is_recorded_elsewhere(*found)) {
    return found->shared->is_done(found->shared->recorded()) ? fault_of(*found->context) : code::not_ready;
  }
  return state().engine.is_done(found->record) ? fault_of(*found->context) : code::not_ready;
}

int synchronize_event(Word event) {
  EventRef found;
  CompletionRef waited;
  {
    const Locked lock(state().mutex);
    const int result = find_event(lock, event, found);
    if (result != 0) return result;
    if (const int refused = refuse_captured(lock, *found); refused != 0) return refused;
    waited = found->record;
  }
  if (is_recorded_elsewhere(*found)) {
    const uint64_t number = found->shared->recorded();
    while (!found->shared->is_done(number)) std::this_thread::sleep_for(std::chrono::microseconds(50));
    return 0;
  }
  return wait_for({waited}, *found->context);
}

int share_event(void* handle, Word event) {
  if (handle == nullptr) return code::invalid_value;
  const Locked lock(state().mutex);
  EventRef found;
  if (const int result = find_event(lock, event, found); result != 0) return result;
  if (found->shared == nullptr) return code::invalid_handle;
  found->shared->write_handle(handle);
  return 0;
}

int open_event(WordOut event, const void* handle) {
  if (event.is_null()) return code::invalid_value;
  ContextRef context;
  const int result = current_context(context);
  if (result != 0) return result;
  if (SharedRecords::is_own(handle)) return code::invalid_context;
  auto made = std::make_shared<Event>();
  made->context = context;
  made->flags = interprocess | disable_timing;
  made->shared = SharedRecords::open(handle);
  if (made->shared == nullptr) return code::invalid_handle;
  const Locked lock(state().mutex);
  event.write(state().events.add(std::move(made)));
  return 0;
}

int destroy_event(Word event) {
  const Locked lock(state().mutex);
  const EventRef found = state().events.find(event);
  if (found == nullptr) {
    misused("of what is no event, or no longer");
    return code::invalid_handle;
  }
  state().events.remove(event);
  return fault_of(*found->context);
}

int elapsed_time(float* milliseconds, Word start, Word end) {
  if (milliseconds == nullptr) return code::invalid_value;
  const Locked lock(state().mutex);
  EventRef first;
  EventRef second;
  int result = find_event(lock, start, first);
  if (result == 0) result = find_event(lock, end, second);
  if (result == 0) result = refuse_captured(lock, *first);
  if (result == 0) result = refuse_captured(lock, *second);
  if (result != 0) return result;
  const bool timed = ((first->flags | second->flags) & disable_timing) == 0;
  if (!timed || first->context != second->context || first->record == nullptr || second->record == nullptr) {
    return code::invalid_handle;
  }
  const uint64_t from = state().engine.done_at(first->record);
  const uint64_t to = state().engine.done_at(second->record);
  if (from == 0 || to == 0) return code::not_ready;
  *milliseconds = static_cast<float>(static_cast<double>(static_cast<int64_t>(to - from)) / 1e6);
  return 0;
}

}  // namespace anyplace::doubles
