// SPDX-License-Identifier: Apache-2.0
// Mutations of streams: their order, the null stream, priorities, host functions, gates, native handles, destruction.
#include <atomic>
#include <chrono>
#include <thread>

#include "mutation.h"

namespace anyplace::mutants {
namespace {

std::mutex host_function_mutex;
Notes<anyplace_stream, bool> destroyed_streams;
Notes<uint64_t, anyplace_stream> stream_of_native;
Notes<anyplace_stream, anyplace_stream> wrapped_streams;

struct HostCall {
  anyplace_host_function function;
  void* user;
  anyplace_stream stream;
};

/// Submits `runner(HostCall*)` in the place of the function; the runner deletes it.
Status submit_instead(void* self, anyplace_stream stream, anyplace_host_function function, void* user,
                      anyplace_host_function runner) {
  auto* const call = new HostCall{function, user, stream};
  const Status status = real.stream_host_function(self, stream, runner, call);
  if (status != ok) delete call;
  return status;
}

/// `later` waits for all that `earlier` was given so far.
void order(void* self, int32_t device, anyplace_stream earlier, anyplace_stream later) {
  const anyplace_event event = new_event(self, device);
  real.event_record(self, event, earlier);
  real.stream_wait_event(self, later, event);
  real.event_destroy(self, event);
}

void make_null_stream_ordinary(Table& table) {
  note_streams(table);
  table.stream_default = [](void* self, int32_t device, const anyplace_stream_desc* desc, anyplace_stream* out) {
    const Status status = real.stream_create(self, device, desc, out);
    if (status == ok) streams.set(*out, {device, desc->flags, desc->cookie, true});
    return status;
  };
}

template <class Body>
void for_streams_like(anyplace_stream stream, bool null, Body&& body) {
  const StreamNote own = streams.get(stream);
  for (const auto& [other, note] : streams.all()) {
    const bool wanted = null ? note.null : (note.flags & ANYPLACE_STREAM_BLOCKING) != 0;
    if (other != stream && note.device == own.device && wanted) body(other);
  }
}

const Mutation order_mutations[] = {
    {"fills_jump_the_queue", "fills don't wait for the stream's earlier work",
     "streams: nothing after a closed gate runs before it opens",
     [](Table& table) {
       note_streams(table);
       table.memory_set = [](void* self, anyplace_stream stream, anyplace_address address, uint32_t value,
                             uint32_t width, uint64_t count) {
         const anyplace_stream side = side_stream(self, stream);
         const Status status = real.memory_set(self, side, address, value, width, count);
         return status == ok ? real.stream_synchronize(self, side, ANYPLACE_FOREVER) : status;
       };
     }},
    {"submission_waits", "a submission returns when the stream has nothing left to do",
     "streams: submitting to a stream that is held back doesn't wait",
     [](Table& table) {
       before_submissions(table, [](void* self, anyplace_stream stream) {
         return real.stream_synchronize(self, stream, ANYPLACE_FOREVER);
       });
     }},
    {"null_stream_rule_dropped", "blocking streams are ordinary ones",
     "streams: work of the default stream waits for earlier work of a blocking stream",
     [](Table& table) {
       table.stream_create = [](void* self, int32_t device, const anyplace_stream_desc* desc, anyplace_stream* out) {
         anyplace_stream_desc plain = *desc;
         plain.flags &= ~static_cast<uint32_t>(ANYPLACE_STREAM_BLOCKING);
         return real.stream_create(self, device, &plain, out);
       };
     }},
    {"null_stream_rule_for_all", "every stream synchronises with the null stream",
     "streams: a stream that isn't blocking isn't held up by the default stream",
     [](Table& table) {
       table.stream_create = [](void* self, int32_t device, const anyplace_stream_desc* desc, anyplace_stream* out) {
         anyplace_stream_desc blocking = *desc;
         blocking.flags |= ANYPLACE_STREAM_BLOCKING;
         return real.stream_create(self, device, &blocking, out);
       };
     }},
    {"null_stream_is_ordinary", "the null stream is a stream like any other",
     "streams: the default stream waits for every blocking stream", make_null_stream_ordinary},
    {"null_stream_waits_only", "the null stream waits for blocking streams, and they don't wait for it",
     "streams: work of a blocking stream waits for earlier work of the default stream",
     [](Table& table) {
       make_null_stream_ordinary(table);
       table.stream_create = [](void* self, int32_t device, const anyplace_stream_desc* desc, anyplace_stream* out) {
         anyplace_stream_desc plain = *desc;
         plain.flags = 0;
         const Status status = real.stream_create(self, device, &plain, out);
         if (status == ok) streams.set(*out, {device, desc->flags, desc->cookie, false});
         return status;
       };
       before_submissions(table, [](void* self, anyplace_stream stream) {
         const StreamNote note = streams.get(stream);
         if (!note.null) return ok;
         for_streams_like(stream, false, [&](anyplace_stream other) { order(self, note.device, other, stream); });
         return ok;
       });
     }},
    {"null_stream_is_waited_for_only", "blocking streams wait for the null stream, and it doesn't wait for them",
     "streams: work of the default stream waits for earlier work of a blocking stream",
     [](Table& table) {
       make_null_stream_ordinary(table);
       before_submissions(table, [](void* self, anyplace_stream stream) {
         const StreamNote note = streams.get(stream);
         if ((note.flags & ANYPLACE_STREAM_BLOCKING) == 0) return ok;
         for_streams_like(stream, true, [&](anyplace_stream other) { order(self, note.device, other, stream); });
         return ok;
       });
     }},
    {"null_stream_missed_by_records", "a record in a blocking stream that is idle doesn't wait for the null stream",
     "streams: an event recorded in a blocking stream waits for the default stream",
     [](Table& table) {
       note_streams(table);
       table.event_record = [](void* self, anyplace_event event, anyplace_stream stream) {
         const StreamNote note = streams.get(stream);
         int32_t idle = 0;
         const bool blocking = !note.null && (note.flags & ANYPLACE_STREAM_BLOCKING) != 0;
         if (blocking) real.stream_query(self, stream, &idle);
         return real.event_record(self, event, idle != 0 ? side_stream(self, stream) : stream);
       };
     }},
    {"current_device_leaks", "a stream is made on the device that any thread used last",
     "host functions: those of two devices run at the same time",
     [](Table& table) {
       static std::atomic<int32_t> current{0};
       table.memory_allocate = [](void* self, int32_t device, uint32_t kind, uint64_t bytes, anyplace_address* out) {
         current = device;
         return real.memory_allocate(self, device, kind, bytes, out);
       };
       table.stream_create = [](void* self, int32_t, const anyplace_stream_desc* desc, anyplace_stream* out) {
         return real.stream_create(self, current, desc, out);
       };
     }},

    // -- Priorities.
    {"priority_reversed", "a higher number runs first",
     "streams: where compute units are scarce the higher priority goes first",
     [](Table& table) {
       table.stream_create = [](void* self, int32_t device, const anyplace_stream_desc* desc, anyplace_stream* out) {
         anyplace_device_properties properties{};
         properties.struct_size = sizeof(properties);
         real.device_properties(self, device, &properties);
         anyplace_stream_desc reversed = *desc;
         reversed.priority = properties.least_priority + properties.greatest_priority - desc->priority;
         return real.stream_create(self, device, &reversed, out);
       };
     }},
    {"priority_ignored", "every stream has the same priority",
     "streams: where compute units are scarce the higher priority goes first",
     [](Table& table) {
       table.stream_create = [](void* self, int32_t device, const anyplace_stream_desc* desc, anyplace_stream* out) {
         anyplace_stream_desc plain = *desc;
         plain.priority = 0;
         return real.stream_create(self, device, &plain, out);
       };
     }},
    {"lowest_priority_refused", "the end of the range is taken for past it",
     "streams: every priority of the range is kept as it is",
     [](Table& table) {
       table.stream_create = [](void* self, int32_t device, const anyplace_stream_desc* desc, anyplace_stream* out) {
         anyplace_device_properties properties{};
         properties.struct_size = sizeof(properties);
         real.device_properties(self, device, &properties);
         if (desc->priority == properties.least_priority) return Status{ANYPLACE_STATUS_INVALID_ARGUMENT};
         return real.stream_create(self, device, desc, out);
       };
     }},
};

const Mutation host_function_mutations[] = {
    {"host_function_before_work", "a host function doesn't wait for the work before it",
     "host functions: one doesn't run before an earlier fill of its stream is done",
     [](Table& table) {
       note_streams(table);
       table.stream_host_function = [](void* self, anyplace_stream stream, anyplace_host_function function,
                                       void* user) {
         return real.stream_host_function(self, side_stream(self, stream), function, user);
       };
     }},
    {"host_function_holds_nothing_back", "work after a host function doesn't wait for it",
     "host functions: later work of the stream waits for it",
     [](Table& table) {
       note_streams(table);
       table.stream_host_function = [](void* self, anyplace_stream stream, anyplace_host_function function,
                                       void* user) {
         const anyplace_stream side = side_stream(self, stream);
         order(self, streams.get(stream).device, stream, side);
         return real.stream_host_function(self, side, function, user);
       };
     }},
    {"host_function_twice", "a host function is called twice", "host functions: each runs exactly once",
     [](Table& table) {
       table.stream_host_function = [](void* self, anyplace_stream stream, anyplace_host_function function,
                                       void* user) {
         const Status status = real.stream_host_function(self, stream, function, user);
         return status == ok ? real.stream_host_function(self, stream, function, user) : status;
       };
     }},
    {"host_function_never", "host functions aren't called", "host functions: each runs exactly once",
     [](Table& table) {
       table.stream_host_function = [](void*, anyplace_stream, anyplace_host_function, void*) { return ok; };
     }},
    {"host_function_on_submitter", "a host function is called by the thread that submits it",
     "host functions: none runs on a thread that synchronises or submits",
     [](Table& table) {
       table.stream_host_function = [](void* self, anyplace_stream stream, anyplace_host_function function,
                                       void* user) {
         const Status status = real.stream_synchronize(self, stream, ANYPLACE_FOREVER);
         if (status == ok) function(user, ok);
         return status;
       };
     }},
    {"host_function_waits_for_synchronize", "a host function runs when somebody synchronises",
     "host functions: it runs without anybody synchronising",
     [](Table& table) {
       static std::atomic<anyplace_gate> gate{0};
       table.stream_host_function = [](void* self, anyplace_stream stream, anyplace_host_function function,
                                       void* user) {
         anyplace_gate made = 0;
         real.gate_create(self, 0, &made);
         real.stream_wait_gate(self, stream, made);
         gate = made;
         return real.stream_host_function(self, stream, function, user);
       };
       table.stream_synchronize = [](void* self, anyplace_stream stream, uint64_t timeout) {
         if (const anyplace_gate made = gate.exchange(0); made != 0) real.gate_open(self, made);
         return real.stream_synchronize(self, stream, timeout);
       };
     }},
    {"host_functions_share_a_thread", "host functions of all devices run one at a time",
     "host functions: those of two devices run at the same time",
     [](Table& table) {
       table.stream_host_function = [](void* self, anyplace_stream stream, anyplace_host_function function,
                                       void* user) {
         return submit_instead(self, stream, function, user, [](void* data, Status status) {
           auto* const call = static_cast<HostCall*>(data);
           const std::lock_guard lock(host_function_mutex);
           call->function(call->user, status);
           delete call;
         });
       };
     }},
    {"host_function_blocks_copies", "copies and fills of other streams wait for a host function",
     "streams: a blocked host function stops no copy of another stream",
     [](Table& table) {
       static std::atomic<anyplace_event> last{0};
       note_streams(table);
       table.stream_host_function = [](void* self, anyplace_stream stream, anyplace_host_function function,
                                       void* user) {
         const Status status = real.stream_host_function(self, stream, function, user);
         const anyplace_event event = new_event(self, streams.get(stream).device);
         real.event_record(self, event, stream);
         last = event;
         return status;
       };
       table.memory_copy = [](void* self, anyplace_stream stream, anyplace_address to, anyplace_address from,
                              uint64_t bytes, uint32_t kind) {
         if (last != 0) real.stream_wait_event(self, stream, last);
         return real.memory_copy(self, stream, to, from, bytes, kind);
       };
     }},
    {"host_function_blocks_kernels", "kernels of other streams wait for a host function",
     "streams: a blocked host function stops no kernel of another stream",
     [](Table& table) {
       static std::atomic<anyplace_event> last{0};
       note_streams(table);
       table.stream_host_function = [](void* self, anyplace_stream stream, anyplace_host_function function,
                                       void* user) {
         const Status status = real.stream_host_function(self, stream, function, user);
         const anyplace_event event = new_event(self, streams.get(stream).device);
         real.event_record(self, event, stream);
         last = event;
         return status;
       };
       table.kernel_launch = [](void* self, anyplace_stream stream, anyplace_kernel kernel,
                                const anyplace_launch* launch) {
         if (last != 0) real.stream_wait_event(self, stream, last);
         return real.kernel_launch(self, stream, kernel, launch);
       };
     }},
};

const Mutation life_mutations[] = {
    // -- Gates.
    {"gate_never_opens", "opening a gate does nothing", "capabilities: gates: waits for another backend hold back",
     [](Table& table) { table.gate_open = [](void*, anyplace_gate) { return ok; }; }},
    {"gate_holds_nothing_back", "a wait for a gate is no wait",
     "capabilities: gates: waits for another backend hold back",
     [](Table& table) { table.stream_wait_gate = [](void*, anyplace_stream, anyplace_gate) { return ok; }; }},
    {"gate_open_from_the_start", "a gate is open when it is made", "streams: a wait for another backend holds back",
     [](Table& table) {
       table.gate_create = [](void* self, int32_t device, anyplace_gate* out) {
         const Status status = real.gate_create(self, device, out);
         return status == ok ? real.gate_open(self, *out) : status;
       };
       table.gate_open = [](void*, anyplace_gate) { return ok; };
     }},

    // -- Destruction.
    {"stream_destroy_drops_work", "what a destroyed stream had still to do is dropped",
     "streams: host functions of a destroyed stream run",
     [](Table& table) {
       table.stream_destroy = [](void* self, anyplace_stream stream) {
         destroyed_streams.set(stream, true);
         return real.stream_destroy(self, stream);
       };
       table.stream_host_function = [](void* self, anyplace_stream stream, anyplace_host_function function,
                                       void* user) {
         destroyed_streams.set(stream, false);
         return submit_instead(self, stream, function, user, [](void* data, Status status) {
           auto* const call = static_cast<HostCall*>(data);
           if (!destroyed_streams.get(call->stream)) call->function(call->user, status);
           delete call;
         });
       };
     }},
    {"stream_destroy_waits", "destroying a stream waits for its work",
     "streams: the work of a destroyed stream completes",
     [](Table& table) {
       table.stream_destroy = [](void* self, anyplace_stream stream) {
         real.stream_synchronize(self, stream, ANYPLACE_FOREVER);
         return real.stream_destroy(self, stream);
       };
     }},
    {"device_forgets_destroyed_streams", "synchronising a device doesn't wait for streams that were destroyed",
     "streams: synchronising the device waits for destroyed streams too",
     [](Table& table) {
       note_streams(table);
       table.stream_destroy = [](void* self, anyplace_stream stream) {
         streams.take(stream);
         return real.stream_destroy(self, stream);
       };
       table.device_synchronize = [](void* self, int32_t device, uint64_t timeout) {
         for (const auto& [stream, note] : streams.all()) {
           if (note.device != device) continue;
           if (const Status status = real.stream_synchronize(self, stream, timeout); status != ok) return status;
         }
         return ok;
       };
     }},
    {"shutdown_hangs", "shutting down waits without a limit", "streams: a process may end with work pending",
     [](Table& table) {
       table.shutdown = [](void*, uint64_t) -> Status {
         for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
       };
     }},

    // -- Native handles.
    {"native_handle_changes", "a stream's native handle is another one each time",
     "capabilities: native_handles: claimed and works",
     [](Table& table) {
       table.stream_native = [](void*, anyplace_stream, uint64_t* native) {
         static std::atomic<uint64_t> last{1};
         *native = ++last;
         return ok;
       };
     }},
    {"native_handle_shared", "two streams have one native handle", "streams: two streams have different native handles",
     [](Table& table) {
       table.stream_native = [](void*, anyplace_stream, uint64_t* native) {
         *native = 1;
         return ok;
       };
     }},
    {"from_native_destroys", "destroying a wrapper destroys the stream that it wraps",
     "streams: destroying the wrapper leaves the stream alone",
     [](Table& table) {
       table.stream_native = [](void* self, anyplace_stream stream, uint64_t* native) {
         const Status status = real.stream_native(self, stream, native);
         if (status == ok) stream_of_native.set(*native, stream);
         return status;
       };
       table.stream_from_native = [](void* self, int32_t device, uint64_t native, const anyplace_stream_desc* desc,
                                     anyplace_stream* out) {
         const Status status = real.stream_from_native(self, device, native, desc, out);
         if (status == ok) wrapped_streams.set(*out, stream_of_native.get(native));
         return status;
       };
       table.stream_destroy = [](void* self, anyplace_stream stream) {
         const anyplace_stream wrapped = wrapped_streams.take(stream);
         if (wrapped != 0) destroyed_streams.set(wrapped, true);
         return real.stream_destroy(self, stream);
       };
       before_submissions(table, [](void*, anyplace_stream stream) {
         return destroyed_streams.get(stream) ? Status{ANYPLACE_STATUS_INVALID_HANDLE} : ok;
       });
     }},
    {"from_native_makes_another", "wrapping a native stream makes a new one",
     "streams: a wrapped stream is the same stream to the device",
     [](Table& table) {
       table.stream_from_native = [](void* self, int32_t device, uint64_t, const anyplace_stream_desc* desc,
                                     anyplace_stream* out) { return real.stream_create(self, device, desc, out); };
     }},
};

std::vector<Mutation> joined() {
  std::vector<Mutation> all(std::begin(order_mutations), std::end(order_mutations));
  all.insert(all.end(), std::begin(host_function_mutations), std::end(host_function_mutations));
  all.insert(all.end(), std::begin(life_mutations), std::end(life_mutations));
  return all;
}

}  // namespace

std::span<const Mutation> stream_mutations() noexcept {
  static const std::vector<Mutation> all = joined();
  return all;
}

}  // namespace anyplace::mutants
