// SPDX-License-Identifier: Apache-2.0
// Mutations of waiting: events, queries, synchronising, time.
#include <atomic>
#include <chrono>
#include <cmath>
#include <thread>

#include "mutation.h"

namespace anyplace::mutants {
namespace {

Notes<anyplace_event, anyplace_stream> recorded_on;
Notes<anyplace_event, int32_t> event_devices;
Notes<anyplace_event, bool> destroyed_events;
std::mutex one_at_a_time;

void note_records(Table& table) {
  table.event_record = [](void* self, anyplace_event event, anyplace_stream stream) {
    recorded_on.set(event, stream);
    return real.event_record(self, event, stream);
  };
}

void note_events(Table& table) {
  table.event_create = [](void* self, int32_t device, const anyplace_event_desc* desc, anyplace_event* out) {
    const Status status = real.event_create(self, device, desc, out);
    if (status == ok) event_devices.set(*out, device);
    return status;
  };
}

/// Holds the stream back by a gate, which a thread opens once `passes` is true of the event.
Status wait_by_looking(void* self, anyplace_stream stream, anyplace_event event,
                       bool (*passes)(void* self, anyplace_event event)) {
  anyplace_gate gate = 0;
  Status status = real.gate_create(self, 0, &gate);
  if (status == ok) status = real.stream_wait_gate(self, stream, gate);
  if (status != ok) return status;
  std::thread([=] {
    // Later than a re-record that follows the wait.
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    while (!passes(self, event)) std::this_thread::sleep_for(std::chrono::microseconds(100));
    real.gate_open(self, gate);
  }).detach();
  return ok;
}

bool is_complete_now(void* self, anyplace_event event) {
  int32_t done = 0;
  real.event_query(self, event, &done);
  return done != 0;
}

/// What waits by looking needs its event for as long.
void keep_events(Table& table) {
  table.event_destroy = [](void*, anyplace_event event) {
    destroyed_events.set(event, true);
    return ok;
  };
}

const Mutation mutations[] = {
    // -- Waits for events.
    {"waits_ignored", "waiting for an event holds nothing back", "streams: later work waits for the event",
     [](Table& table) { table.stream_wait_event = [](void*, anyplace_stream, anyplace_event) { return ok; }; }},
    {"wait_resolved_late", "a re-record moves an earlier wait to the new record",
     "streams: a re-record on a free stream doesn't release an earlier wait",
     [](Table& table) {
       keep_events(table);
       table.stream_wait_event = [](void* self, anyplace_stream stream, anyplace_event event) {
         return wait_by_looking(self, stream, event, is_complete_now);
       };
     }},
    {"rerecord_prolongs_wait", "a wait lasts until a later re-record is complete too",
     "streams: a re-record on a held stream doesn't hold back an earlier wait",
     [](Table& table) {
       keep_events(table);
       table.stream_wait_event = [](void* self, anyplace_stream stream, anyplace_event event) {
         return wait_by_looking(self, stream, event, is_complete_now);
       };
     }},
    {"rerecord_ignored", "an event keeps its first record", "streams: a wait after a re-record takes the new record",
     [](Table& table) {
       table.event_record = [](void* self, anyplace_event event, anyplace_stream stream) {
         if (recorded_on.get(event) != 0) return ok;
         recorded_on.set(event, stream);
         return real.event_record(self, event, stream);
       };
     }},
    {"wait_blocks_host", "waiting for an event waits on the calling thread",
     "streams: waiting for an event never blocks the host",
     [](Table& table) {
       table.stream_wait_event = [](void* self, anyplace_stream, anyplace_event event) {
         return real.event_synchronize(self, event, ANYPLACE_FOREVER);
       };
     }},
    {"wait_takes_whole_stream", "a wait is for all that the recording stream has to do by then",
     "streams: a wait doesn't cover what was submitted after the record",
     [](Table& table) {
       note_records(table);
       table.stream_wait_event = [](void* self, anyplace_stream stream, anyplace_event event) {
         if (recorded_on.get(event) != 0) real.event_record(self, event, recorded_on.get(event));
         return real.stream_wait_event(self, stream, event);
       };
     }},
    {"wait_across_devices_ignored", "a wait for another device's event holds nothing back",
     "streams: an event of another device is waited for",
     [](Table& table) {
       note_streams(table);
       note_events(table);
       table.stream_wait_event = [](void* self, anyplace_stream stream, anyplace_event event) {
         const bool same = streams.get(stream).device == event_devices.get(event);
         return same ? real.stream_wait_event(self, stream, event) : ok;
       };
     }},
    {"wait_once", "an event holds back the first stream that waits for it alone",
     "streams: several streams wait for one event",
     [](Table& table) {
       table.stream_wait_event = [](void* self, anyplace_stream stream, anyplace_event event) {
         if (destroyed_events.get(event)) return ok;
         destroyed_events.set(event, true);
         return real.stream_wait_event(self, stream, event);
       };
     }},
    {"unrecorded_wait_hangs", "a wait for an event that was never recorded never ends",
     "events: a stream doesn't wait for an event that was never recorded",
     [](Table& table) {
       note_records(table);
       table.stream_wait_event = [](void* self, anyplace_stream stream, anyplace_event event) {
         if (recorded_on.get(event) != 0) return real.stream_wait_event(self, stream, event);
         return wait_by_looking(self, stream, event, [](void*, anyplace_event) { return false; });
       };
     }},
    {"event_destroy_releases_waits", "destroying an event lets go what waits for it",
     "events: a stream that waits for an event still waits when the event was destroyed",
     [](Table& table) {
       keep_events(table);
       table.stream_wait_event = [](void* self, anyplace_stream stream, anyplace_event event) {
         return wait_by_looking(self, stream, event, [](void* me, anyplace_event one) {
           return destroyed_events.get(one) || is_complete_now(me, one);
         });
       };
     }},

    // -- Events.
    {"event_query_always_true", "query says that every event is complete",
     "events: an event is incomplete until the work before it is done",
     [](Table& table) {
       table.event_query = [](void*, anyplace_event, int32_t* done) {
         *done = 1;
         return ok;
       };
     }},
    {"event_query_never_true", "query says that no event is complete",
     "events: query of an event that was never recorded is true",
     [](Table& table) {
       table.event_query = [](void*, anyplace_event, int32_t* done) {
         *done = 0;
         return ok;
       };
     }},
    {"record_completes_at_once", "a record is complete when it was submitted",
     "events: recording again makes a complete event incomplete",
     [](Table& table) { table.event_record = [](void*, anyplace_event, anyplace_stream) { return ok; }; }},
    {"event_is_its_stream", "an event is complete when its stream is idle",
     "events: an event doesn't wait for work after it",
     [](Table& table) {
       note_records(table);
       table.event_query = [](void* self, anyplace_event event, int32_t* done) {
         const anyplace_stream stream = recorded_on.get(event);
         return stream == 0 ? real.event_query(self, event, done) : real.stream_query(self, stream, done);
       };
     }},
    {"event_synchronize_early", "synchronising an event returns at once",
     "events: synchronize doesn't return while the work before it is held back",
     [](Table& table) { table.event_synchronize = [](void*, anyplace_event, uint64_t) { return ok; }; }},
    {"event_timeout_ignored", "synchronising an event for a limited time takes as long as it takes",
     "events: synchronize with a timeout says when time ran out",
     [](Table& table) {
       table.event_synchronize = [](void* self, anyplace_event event, uint64_t) {
         return real.event_synchronize(self, event, ANYPLACE_FOREVER);
       };
     }},
    {"event_timeout_is_done", "a timeout of an event is reported as done",
     "events: synchronize with a timeout says when time ran out",
     [](Table& table) {
       table.event_synchronize = [](void* self, anyplace_event event, uint64_t timeout) {
         const Status status = real.event_synchronize(self, event, timeout);
         return status == ANYPLACE_STATUS_TIMEOUT ? ok : status;
       };
     }},

    // -- Elapsed time.
    {"elapsed_in_seconds", "elapsed time is in seconds",
     "elapsed time: it is what the host's clock says, in milliseconds",
     [](Table& table) {
       table.event_elapsed = [](void* self, anyplace_event start, anyplace_event end, double* out) {
         const Status status = real.event_elapsed(self, start, end, out);
         *out /= 1000;
         return status;
       };
     }},
    {"elapsed_in_microseconds", "elapsed time is in microseconds",
     "elapsed time: it is what the host's clock says, in milliseconds",
     [](Table& table) {
       table.event_elapsed = [](void* self, anyplace_event start, anyplace_event end, double* out) {
         const Status status = real.event_elapsed(self, start, end, out);
         *out *= 1000;
         return status;
       };
     }},
    {"elapsed_zero", "elapsed time is always 0", "elapsed time: it is what the host's clock says, in milliseconds",
     [](Table& table) {
       table.event_elapsed = [](void*, anyplace_event, anyplace_event, double* out) {
         *out = 0;
         return ok;
       };
     }},
    {"elapsed_backwards", "elapsed time is from the end to the start", "elapsed time: it grows along a stream",
     [](Table& table) {
       table.event_elapsed = [](void* self, anyplace_event start, anyplace_event end, double* out) {
         return real.event_elapsed(self, end, start, out);
       };
     }},
    {"elapsed_unsigned", "elapsed time is never negative", "elapsed time: it is negative when the end came first",
     [](Table& table) {
       table.event_elapsed = [](void* self, anyplace_event start, anyplace_event end, double* out) {
         const Status status = real.event_elapsed(self, start, end, out);
         *out = std::abs(*out);
         return status;
       };
     }},
    {"elapsed_never_recorded", "elapsed time of an event that was never recorded is an invalid handle",
     "elapsed time: a plugin, too, says of an event that was never recorded that it wasn't",
     [](Table& table) {
       table.event_elapsed = [](void* self, anyplace_event start, anyplace_event end, double* out) {
         const Status status = real.event_elapsed(self, start, end, out);
         return status == ANYPLACE_STATUS_NOT_RECORDED ? Status{ANYPLACE_STATUS_INVALID_HANDLE} : status;
       };
     }},
    {"elapsed_to_now", "elapsed time grows with each question", "elapsed time: it is the same when it is asked again",
     [](Table& table) {
       table.event_elapsed = [](void* self, anyplace_event start, anyplace_event end, double* out) {
         static std::atomic<int> asked{0};
         const Status status = real.event_elapsed(self, start, end, out);
         *out += ++asked;
         return status;
       };
     }},

    // -- Streams: query and synchronise.
    {"stream_query_always_true", "query says that every stream is idle",
     "streams: query is false while work is pending and true when it is done",
     [](Table& table) {
       table.stream_query = [](void*, anyplace_stream, int32_t* done) {
         *done = 1;
         return ok;
       };
     }},
    {"stream_query_never_true", "query says that no stream is idle", "streams: query of a new stream is true",
     [](Table& table) {
       table.stream_query = [](void*, anyplace_stream, int32_t* done) {
         *done = 0;
         return ok;
       };
     }},
    {"stream_query_waits", "query waits for the stream's work", "streams: query submits nothing and waits for nothing",
     [](Table& table) {
       table.stream_query = [](void* self, anyplace_stream stream, int32_t* done) {
         *done = 1;
         return real.stream_synchronize(self, stream, ANYPLACE_FOREVER);
       };
     }},
    {"stream_query_not_ready_is_an_error", "query fails while work is pending",
     "streams: query is false while work is pending and true when it is done",
     [](Table& table) {
       table.stream_query = [](void* self, anyplace_stream stream, int32_t* done) {
         const Status status = real.stream_query(self, stream, done);
         return status == ok && *done == 0 ? ANYPLACE_STATUS_NOT_READY : status;
       };
     }},
    {"stream_synchronize_early", "synchronising a stream returns at once",
     "streams: synchronize doesn't return while a host function runs",
     [](Table& table) { table.stream_synchronize = [](void*, anyplace_stream, uint64_t) { return ok; }; }},
    {"stream_timeout_ignored", "synchronising a stream for a limited time takes as long as it takes",
     "streams: synchronize with a timeout returns false when time ran out",
     [](Table& table) {
       table.stream_synchronize = [](void* self, anyplace_stream stream, uint64_t) {
         return real.stream_synchronize(self, stream, ANYPLACE_FOREVER);
       };
     }},
    {"stream_timeout_is_done", "a timeout of a stream is reported as done",
     "streams: synchronize with a timeout returns false when time ran out",
     [](Table& table) {
       table.stream_synchronize = [](void* self, anyplace_stream stream, uint64_t timeout) {
         const Status status = real.stream_synchronize(self, stream, timeout);
         return status == ANYPLACE_STATUS_TIMEOUT ? ok : status;
       };
     }},
    {"stream_timeout_in_microseconds", "a stream's timeout is taken for a thousandth of what it is",
     "streams: synchronize never times out early",
     [](Table& table) {
       table.stream_synchronize = [](void* self, anyplace_stream stream, uint64_t timeout) {
         return real.stream_synchronize(self, stream, timeout == ANYPLACE_FOREVER ? timeout : timeout / 1000);
       };
     }},
    {"synchronize_holds_a_lock", "one thread that synchronises keeps all others out",
     "threads: a thread that waits for work blocks no other thread",
     [](Table& table) {
       table.stream_synchronize = [](void* self, anyplace_stream stream, uint64_t timeout) {
         const std::lock_guard lock(one_at_a_time);
         return real.stream_synchronize(self, stream, timeout);
       };
       before_submissions(table, [](void*, anyplace_stream) {
         const std::lock_guard lock(one_at_a_time);
         return ok;
       });
     }},

    // -- Devices: synchronise.
    {"device_synchronize_early", "synchronising a device returns at once",
     "devices: synchronising a device doesn't return while a host function runs",
     [](Table& table) { table.device_synchronize = [](void*, int32_t, uint64_t) { return ok; }; }},
    {"device_timeout_is_done", "a timeout of a device is reported as done",
     "devices: synchronising a device with a timeout says when time ran out, and the work goes on",
     [](Table& table) {
       table.device_synchronize = [](void* self, int32_t device, uint64_t timeout) {
         const Status status = real.device_synchronize(self, device, timeout);
         return status == ANYPLACE_STATUS_TIMEOUT ? ok : status;
       };
     }},
    {"device_timeout_ignored", "synchronising a device for a limited time takes as long as it takes",
     "devices: synchronising a device with a timeout says when time ran out, and the work goes on",
     [](Table& table) {
       table.device_synchronize = [](void* self, int32_t device, uint64_t) {
         return real.device_synchronize(self, device, ANYPLACE_FOREVER);
       };
     }},
    {"device_synchronize_waits_for_all", "synchronising a device waits for every device",
     "devices: synchronising a device doesn't wait for another device",
     [](Table& table) {
       table.device_synchronize = [](void* self, int32_t, uint64_t timeout) {
         const Status status = real.device_synchronize(self, 0, timeout);
         return status == ok ? real.device_synchronize(self, 1, timeout) : status;
       };
     }},
    {"device_synchronize_null_stream_only", "synchronising a device waits for its null stream alone",
     "devices: synchronising a device waits for the work of every stream",
     [](Table& table) {
       note_streams(table);
       table.device_synchronize = [](void* self, int32_t device, uint64_t timeout) {
         for (const auto& [stream, note] : streams.all()) {
           if (note.null && note.device == device) return real.stream_synchronize(self, stream, timeout);
         }
         return ok;
       };
     }},
};

}  // namespace

std::span<const Mutation> wait_mutations() noexcept { return mutations; }

}  // namespace anyplace::mutants
