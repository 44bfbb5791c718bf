// SPDX-License-Identifier: Apache-2.0
// Mutations that leave something behind: memory, handles, descriptors, threads.
#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include "mutation.h"

namespace anyplace::mutants {
namespace {

/// The entry, which loses memory at each call.
template <auto Entry, class... Args>
Status losing(void* self, Args... args) {
  lose();
  return (real.*Entry)(self, args...);
}

template <auto Entry, class... Args>
void make_lose(Table& table, Status (*Table::*)(void*, Args...)) {
  table.*Entry = losing<Entry, Args...>;
}

template <uint32_t Kind>
void keep_kind(Table& table) {
  table.memory_free = [](void* self, int32_t device, uint32_t kind, anyplace_address address) {
    return kind == Kind ? ok : real.memory_free(self, device, kind, address);
  };
}

const Mutation mutations[] = {
    {"events_leak", "events that are destroyed are kept",
     "books: an event that is made and destroyed leaves nothing behind",
     [](Table& table) { table.event_destroy = [](void*, anyplace_event) { return ok; }; }},
    {"streams_leak", "streams that are destroyed are kept",
     "books: a stream that is made and destroyed leaves nothing behind",
     [](Table& table) { table.stream_destroy = [](void*, anyplace_stream) { return ok; }; }},
    {"gates_leak", "gates that are destroyed are kept", "books: a gate that nothing waits for leaves nothing behind",
     [](Table& table) { table.gate_destroy = [](void*, anyplace_gate) { return ok; }; }},
    {"modules_leak", "modules that are unloaded are kept", "books: a module leaves nothing behind",
     [](Table& table) { table.module_unload = [](void*, anyplace_module) { return ok; }; }},
    {"pinned_memory_leaks", "pinned memory that is freed is kept", "books: pinned memory leaves nothing behind",
     keep_kind<ANYPLACE_MEMORY_PINNED>},
    {"managed_memory_leaks", "managed memory that is freed is kept", "books: managed memory leaves nothing behind",
     keep_kind<ANYPLACE_MEMORY_MANAGED>},
    {"addresses_leak", "addresses that are released are kept",
     "books: addresses and memory that are refused or unused leave nothing behind",
     [](Table& table) { table.virtual_release = [](void*, int32_t, anyplace_address, uint64_t) { return ok; }; }},
    {"refused_memory_leaks", "memory that is refused is taken from what is free",
     "books: memory that is refused leaves nothing behind",
     [](Table& table) {
       table.memory_allocate = [](void* self, int32_t device, uint32_t kind, uint64_t bytes, anyplace_address* out) {
         const Status status = real.memory_allocate(self, device, kind, bytes, out);
         anyplace_address kept = 0;
         if (status != ok) real.memory_allocate(self, device, kind, 4096, &kept);
         return status;
       };
     }},
    {"descriptors_leak", "each stream opens a file and never closes it",
     "books: a stream that is made and destroyed leaves nothing behind",
     [](Table& table) {
       table.stream_create = [](void* self, int32_t device, const anyplace_stream_desc* desc, anyplace_stream* out) {
         static_cast<void>(open("/dev/null", O_RDONLY | O_CLOEXEC));
         return real.stream_create(self, device, desc, out);
       };
     }},
    {"threads_leak", "each stream starts a thread that never ends",
     "books: a stream that is made and destroyed leaves nothing behind",
     [](Table& table) {
       table.stream_create = [](void* self, int32_t device, const anyplace_stream_desc* desc, anyplace_stream* out) {
         std::thread([] {
           for (;;) pause();
         }).detach();
         return real.stream_create(self, device, desc, out);
       };
     }},
    {"records_leak", "each record of an event is kept",
     "books: recording one event again and waiting for it leaves nothing behind",
     [](Table& table) { make_lose<&Table::event_record>(table, &Table::event_record); }},
    {"waits_leak", "each wait for a stream is kept", "books: a stream that is used leaves nothing behind",
     [](Table& table) { make_lose<&Table::stream_synchronize>(table, &Table::stream_synchronize); }},
    {"host_functions_leak", "each host function is kept", "books: a host function leaves nothing behind",
     [](Table& table) { make_lose<&Table::stream_host_function>(table, &Table::stream_host_function); }},
    {"launches_leak", "each launch is kept", "books: launches of a module's kernel leave nothing behind",
     [](Table& table) { make_lose<&Table::kernel_launch>(table, &Table::kernel_launch); }},
    {"copies_leak", "each copy is kept", "books: copies leaves nothing behind",
     [](Table& table) { make_lose<&Table::memory_copy>(table, &Table::memory_copy); }},
    {"pitched_copies_leak", "each pitched copy is kept", "books: pitched copies leaves nothing behind",
     [](Table& table) { make_lose<&Table::memory_copy_2d>(table, &Table::memory_copy_2d); }},
    {"registrations_leak", "each registration is kept", "books: registered memory leaves nothing behind",
     [](Table& table) { make_lose<&Table::host_register>(table, &Table::host_register); }},
    {"peer_access_leaks", "each change of peer access is kept",
     "books: peer access and copies between devices leave nothing behind",
     [](Table& table) { make_lose<&Table::peer_enable>(table, &Table::peer_enable); }},
    {"refused_images_leak", "an image that is refused is kept", "books: an image that is refused leaves nothing behind",
     [](Table& table) {
       table.module_load = [](void* self, int32_t device, const anyplace_module_desc* desc, anyplace_module* out) {
         const Status status = real.module_load(self, device, desc, out);
         if (status != ok) lose();
         return status;
       };
     }},
    {"wrappers_leak", "wrappers of native streams are kept",
     "books: a wrapper of a native stream leaves nothing behind",
     [](Table& table) {
       static Notes<anyplace_stream, bool> wrappers;
       table.stream_from_native = [](void* self, int32_t device, uint64_t native, const anyplace_stream_desc* desc,
                                     anyplace_stream* out) {
         const Status status = real.stream_from_native(self, device, native, desc, out);
         if (status == ok) wrappers.set(*out, true);
         return status;
       };
       table.stream_destroy = [](void* self, anyplace_stream stream) {
         return wrappers.get(stream) ? ok : real.stream_destroy(self, stream);
       };
     }},
    {"memory_fragments", "of freed memory a part isn't used again",
     "books: memory that was used up can all be allocated again",
     [](Table& table) {
       table.memory_free = [](void* self, int32_t device, uint32_t kind, anyplace_address address) {
         static int count = 0;
         if (kind == ANYPLACE_MEMORY_DEVICE && ++count % 2 == 0) return ok;
         return real.memory_free(self, device, kind, address);
       };
     }},
};

}  // namespace

std::span<const Mutation> book_mutations() noexcept { return mutations; }

}  // namespace anyplace::mutants
