// SPDX-License-Identifier: Apache-2.0
// Mutations of what several processes share.
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>

#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <thread>

#include "mutation.h"

namespace anyplace::mutants {
namespace {

/// Which events were imported.
Notes<anyplace_event, bool> imported_events;

Status import_and_note(void* self, int32_t device, const anyplace_ipc_handle* handle, anyplace_event* out) {
  const Status status = real.event_import(self, device, handle, out);
  if (status == ok) imported_events.set(*out, true);
  return status;
}

struct LateWait {
  void* self;
  anyplace_event event;
};

/// Waits, when the stream comes to it, for whatever is the most recent record then, and again after each look.
void wait_for_latest(void* user, anyplace_status) {
  const std::unique_ptr<LateWait> wait(static_cast<LateWait*>(user));
  int32_t done = 0;
  while (real.event_query(wait->self, wait->event, &done) == ok && done == 0) std::this_thread::yield();
}

/// Shareable memory that there is, and its bytes.
Notes<anyplace_address, uint64_t> shareable;

Status allocate_and_note(void* self, int32_t device, uint32_t kind, uint64_t bytes, anyplace_address* out) {
  const Status status = real.memory_allocate(self, device, kind, bytes, out);
  if (status == ok && kind == ANYPLACE_MEMORY_SHAREABLE) shareable.set(*out, bytes);
  return status;
}

/// A wait whose time, if it is too long for a number with a sign, is over.
Status synchronize_signed(void* self, anyplace_event event, uint64_t timeout) {
  const bool negative = timeout > INT64_MAX && timeout != ANYPLACE_FOREVER;
  return real.event_synchronize(self, event, imported_events.get(event) && negative ? 0 : timeout);
}

/// Of PEER_GONE nothing is told, and the work counts as complete.
void keep_gone_peers_quiet() {
  cpu_sim_host.stream_fault = [](void* context, uint64_t cookie, anyplace_status status, int64_t code, const char* name,
                                 const char* text) {
    if (status != ANYPLACE_STATUS_PEER_GONE) core_host->stream_fault(context, cookie, status, code, name, text);
  };
}

const std::vector<Mutation> mutations = {
    {"ipc_memory_private", "another process's memory is memory of its own",
     "ipc: memory of another process: both see what either writes",
     [](Table& table) {
       table.memory_import = [](void* self, int32_t device, const anyplace_ipc_handle* handle, anyplace_address* out) {
         return real.memory_allocate(self, device, ANYPLACE_MEMORY_DEVICE, handle->size, out);
       };
       table.memory_import_end = [](void* self, int32_t device, anyplace_address address) {
         return real.memory_free(self, device, ANYPLACE_MEMORY_DEVICE, address);
       };
     }},
    {"ipc_memory_elsewhere", "another process's memory is mapped a page further on",
     "ipc: memory of another process: both see what either writes",
     [](Table& table) {
       table.memory_import = [](void* self, int32_t device, const anyplace_ipc_handle* handle, anyplace_address* out) {
         const Status status = real.memory_import(self, device, handle, out);
         *out += 4096;
         return status;
       };
       table.memory_import_end = [](void* self, int32_t device, anyplace_address address) {
         return real.memory_import_end(self, device, address - 4096);
       };
     }},
    {"ipc_segment_offset_lost", "a buffer that lies in shared pages is where these begin",
     "ipc: a buffer that wasn't made to be shared, beside another one in a page, is shared whole, or refused with "
     "advice",
     [](Table& table) {
       table.memory_export = [](void* self, int32_t device, anyplace_address address, uint64_t bytes,
                                anyplace_ipc_handle* out) {
         const Status status = real.memory_export(self, device, address, bytes, out);
         out->offset = 0;
         return status;
       };
     }},
    {"ipc_memory_opened_once", "memory that was closed can't be opened again",
     "ipc: memory that another process closed can be opened again",
     [](Table& table) {
       static std::atomic<bool> was_closed{false};
       table.memory_import = [](void* self, int32_t device, const anyplace_ipc_handle* handle, anyplace_address* out) {
         if (was_closed) return Status{ANYPLACE_STATUS_BACKEND_FAILED};
         return real.memory_import(self, device, handle, out);
       };
       table.memory_import_end = [](void* self, int32_t device, anyplace_address address) {
         was_closed = true;
         return real.memory_import_end(self, device, address);
       };
     }},
    {"ipc_event_seen_late", "another process's record is seen to be complete at the second look",
     "ipc: a record that one process saw complete is complete for the other one at once",
     [](Table& table) {
       static Notes<anyplace_event, bool> unseen;  // of imported events
       table.event_import = [](void* self, int32_t device, const anyplace_ipc_handle* handle, anyplace_event* out) {
         const Status status = real.event_import(self, device, handle, out);
         if (status == ok) unseen.set(*out, true);
         return status;
       };
       table.event_query = [](void* self, anyplace_event event, int32_t* done) {
         const Status status = real.event_query(self, event, done);
         if (status == ok && *done != 0 && unseen.take(event)) *done = 0;
         return status;
       };
     }},
    {"ipc_shareable_refused", "memory that was made to be shared can't be",
     "capabilities: interprocess_memory: claimed and works, or refused",
     [](Table& table) {
       table.memory_export = [](void*, int32_t, anyplace_address, uint64_t, anyplace_ipc_handle*) {
         return Status{ANYPLACE_STATUS_UNSUPPORTED};
       };
     }},
    {"ipc_event_private", "another process's event is an event of its own",
     "ipc: another process's pending record is waited for, by hosts and by streams",
     [](Table& table) {
       table.event_import = [](void* self, int32_t device, const anyplace_ipc_handle*, anyplace_event* out) {
         anyplace_event_desc desc{};
         desc.struct_size = sizeof(desc);
         desc.flags = ANYPLACE_EVENT_INTERPROCESS;
         return real.event_create(self, device, &desc, out);
       };
     }},
    {"ipc_ended_peer_loses_device", "a process that ended with a record pending counts as a lost device",
     "ipc: waits for the pending record of a process that is killed end, and the stream goes on",
     [](Table& table) {
       table.event_synchronize = [](void* self, anyplace_event event, uint64_t timeout) {
         const Status status = real.event_synchronize(self, event, timeout);
         return status == ANYPLACE_STATUS_PEER_GONE ? Status{ANYPLACE_STATUS_DEVICE_LOST} : status;
       };
     }},
    {"ipc_event_record_kept", "a record of another process's event stays in this process",
     "ipc: another process's event is recorded here, and that process waits for it",
     [](Table& table) {
       static Notes<anyplace_event, anyplace_event> records;
       table.event_import = [](void* self, int32_t device, const anyplace_ipc_handle* handle, anyplace_event* out) {
         const Status status = real.event_import(self, device, handle, out);
         anyplace_event_desc desc{};
         desc.struct_size = sizeof(desc);
         anyplace_event own = 0;
         if (status == ok && real.event_create(self, device, &desc, &own) == ok) records.set(*out, own);
         return status;
       };
       table.event_record = [](void* self, anyplace_event event, anyplace_stream stream) {
         return real.event_record(self, records.get(event, event), stream);
       };
     }},
    {"ipc_wait_for_latest", "a stream's wait for another process's event follows later records",
     "ipc: a record by the process that waits that is complete doesn't end a wait for an earlier one that isn't",
     [](Table& table) {
       table.event_import = import_and_note;
       table.stream_wait_event = [](void* self, anyplace_stream stream, anyplace_event event) {
         if (!imported_events.get(event)) return real.stream_wait_event(self, stream, event);
         return real.stream_host_function(self, stream, wait_for_latest, new LateWait{self, event});
       };
     }},
    {"ipc_wait_moved", "a wait for another process's event is moved on by what that process records later",
     "ipc: a later record of another process that is pending doesn't hold back a wait of a stream that has work to do "
     "first",
     [](Table& table) {
       table.event_import = import_and_note;
       table.stream_wait_event = [](void* self, anyplace_stream stream, anyplace_event event) {
         if (!imported_events.get(event)) return real.stream_wait_event(self, stream, event);
         return real.stream_host_function(self, stream, wait_for_latest, new LateWait{self, event});
       };
     }},
    {"ipc_first_record_only", "another process's event that was complete once is complete for ever",
     "ipc: each record of an event that two processes record in turn is waited for",
     [](Table& table) {
       static Notes<anyplace_event, bool> complete;
       table.event_import = import_and_note;
       table.event_query = [](void* self, anyplace_event event, int32_t* done) {
         *done = 1;
         if (complete.get(event)) return ok;
         const Status status = real.event_query(self, event, done);
         if (status == ok && *done != 0 && imported_events.get(event)) complete.set(event, true);
         return status;
       };
     }},
    {"ipc_wait_at_import", "waits for another process's event take the record that there was when it was opened",
     "ipc: each record of an event that two processes record in turn is waited for",
     [](Table& table) {
       table.event_import = import_and_note;
       table.stream_wait_event = [](void* self, anyplace_stream stream, anyplace_event event) {
         return imported_events.get(event) ? ok : real.stream_wait_event(self, stream, event);
       };
     }},
    {"ipc_wait_unlimited", "a wait for another process's record forgets its limit",
     "ipc: a limited wait for another process's pending record is over in time",
     [](Table& table) {
       table.event_import = import_and_note;
       table.event_synchronize = [](void* self, anyplace_event event, uint64_t timeout) {
         return real.event_synchronize(self, event, imported_events.get(event) ? ANYPLACE_FOREVER : timeout);
       };
     }},
    {"ipc_wait_says_ok", "a wait for another process's record whose time ran out is OK",
     "ipc: a limited wait for another process's pending record is over in time",
     [](Table& table) {
       table.event_import = import_and_note;
       table.event_synchronize = [](void* self, anyplace_event event, uint64_t timeout) {
         const Status status = real.event_synchronize(self, event, timeout);
         return imported_events.get(event) && status == ANYPLACE_STATUS_TIMEOUT ? ok : status;
       };
     }},
    {"ipc_wait_signed", "a wait for another process's record takes its limit for a number with a sign",
     "ipc: the longest limits are enough for another process's record to be waited for",
     [](Table& table) {
       table.event_import = import_and_note;
       table.event_synchronize = synchronize_signed;
     }},
    {"ipc_ended_peer_untold", "a stream that waited for a process that ended isn't told so",
     "ipc: waits for the pending record of a process that is killed end, and the stream goes on",
     [](Table&) { keep_gone_peers_quiet(); }},
    {"ipc_ended_peer_is_done", "what a process that ended had still to do is complete, to those who ask",
     "ipc: waits for the pending record of a process that is killed end, and the stream goes on",
     [](Table& table) {
       table.event_query = [](void* self, anyplace_event event, int32_t* done) {
         const Status status = real.event_query(self, event, done);
         if (status != ANYPLACE_STATUS_PEER_GONE) return status;
         *done = 1;
         return ok;
       };
     }},
    {"ipc_ended_peer_takes_all", "nothing of a process that ended is complete",
     "ipc: what a process completed before it was killed is complete, and holds nobody back",
     [](Table& table) {
       static Notes<anyplace_event, uint32_t> makers;
       table.event_import = [](void* self, int32_t device, const anyplace_ipc_handle* handle, anyplace_event* out) {
         const Status status = real.event_import(self, device, handle, out);
         uint32_t maker = 0;
         std::memcpy(&maker, handle->bytes + 2 * sizeof(uint64_t), sizeof(maker));  // cpu_sim's bytes name it there
         if (status == ok) makers.set(*out, maker);
         return status;
       };
       table.event_query = [](void* self, anyplace_event event, int32_t* done) {
         const uint32_t maker = makers.get(event);
         if (maker != 0 && kill(static_cast<pid_t>(maker), 0) != 0) return Status{ANYPLACE_STATUS_PEER_GONE};
         return real.event_query(self, event, done);
       };
     }},
    {"ipc_events_leak", "another process's event that is let go of stays open",
     "books: another process's event that is opened thousands of times leaves nothing behind",
     [](Table& table) {
       table.event_import = import_and_note;
       table.event_destroy = [](void* self, anyplace_event event) {
         return imported_events.take(event) ? ok : real.event_destroy(self, event);
       };
     }},
    {"ipc_exported_events_run_out", "of a thousand events that were shared none can be shared again",
     "books: thousands of events that are shared leave nothing behind",
     [](Table& table) {
       table.event_export = [](void* self, anyplace_event event, anyplace_ipc_handle* out) {
         static int left = 3000;
         if (--left < 0) return Status{ANYPLACE_STATUS_OUT_OF_MEMORY};
         return real.event_export(self, event, out);
       };
     }},
    {"ipc_recorders_leak", "what a stream counts its records of another process's event with is kept",
     "books: thousands of streams that record another process's event leave nothing behind",
     [](Table& table) {
       static std::atomic<bool> recorded{false};
       table.event_record = [](void* self, anyplace_event event, anyplace_stream stream) {
         recorded = true;
         return real.event_record(self, event, stream);
       };
       table.stream_destroy = [](void* self, anyplace_stream stream) {
         return recorded ? ok : real.stream_destroy(self, stream);
       };
     }},
    {"ipc_memory_leaks_mapping", "another process's memory that is closed stays mapped",
     "books: another process's memory that is opened thousands of times leaves nothing behind",
     [](Table& table) {
       table.memory_import_end = [](void* self, int32_t device, anyplace_address address) {
         mmap(nullptr, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
         mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
         return real.memory_import_end(self, device, address);
       };
     }},
    {"ipc_memory_leaks_descriptor", "the descriptor of another process's memory that is closed stays open",
     "books: another process's mapped memory that is opened and closed leaves nothing behind",
     [](Table& table) {
       table.memory_import_end = [](void* self, int32_t device, anyplace_address address) {
         static_cast<void>(open("/dev/null", O_RDONLY | O_CLOEXEC));
         return real.memory_import_end(self, device, address);
       };
     }},
    {"ipc_exports_leak", "each export keeps a descriptor",
     "books: thousands of memories that are shared leave nothing behind",
     [](Table& table) {
       table.memory_export = [](void* self, int32_t device, anyplace_address address, uint64_t bytes,
                                anyplace_ipc_handle* out) {
         static_cast<void>(open("/dev/null", O_RDONLY | O_CLOEXEC));
         return real.memory_export(self, device, address, bytes, out);
       };
     }},
    {"ipc_shareable_leaks", "shareable memory that is freed is kept", "books: shareable memory leaves nothing behind",
     [](Table& table) {
       table.memory_allocate = allocate_and_note;
       table.memory_free = [](void* self, int32_t device, uint32_t kind, anyplace_address address) {
         return shareable.get(address) != 0 ? ok : real.memory_free(self, device, kind, address);
       };
     }},
    {"ipc_shareable_not_counted", "shareable memory is said to be free still",
     "ipc: shareable memory isn't said to be free, exported or not, until it is freed",
     [](Table& table) {
       table.memory_allocate = allocate_and_note;
       table.memory_free = [](void* self, int32_t device, uint32_t kind, anyplace_address address) {
         shareable.take(address);
         return real.memory_free(self, device, kind, address);
       };
       table.device_memory = [](void* self, int32_t device, anyplace_memory_info* out) {
         const Status status = real.device_memory(self, device, out);
         for (const auto& [address, bytes] : shareable.all()) out->free_bytes += bytes;
         return status;
       };
     }},
};

}  // namespace

std::span<const Mutation> ipc_mutations() noexcept { return mutations; }

}  // namespace anyplace::mutants
