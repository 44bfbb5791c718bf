// SPDX-License-Identifier: Apache-2.0
// Mutations of what several processes share.
#include "mutation.h"

namespace anyplace::mutants {
namespace {

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
};

}  // namespace

std::span<const Mutation> ipc_mutations() noexcept { return mutations; }

}  // namespace anyplace::mutants
