// SPDX-License-Identifier: Apache-2.0
// Mutations that are right for thousands of times: rings that are full, pools that end, counters that come round. And
// one that is wrong of an event only beside other threads.
#include <atomic>
#include <chrono>
#include <thread>

#include "mutation.h"

namespace anyplace::mutants {
namespace {

/// The place after the last of a ring of 4096.
constexpr uint64_t last = 4096;

std::atomic<uint64_t> count{0};
bool comes_round() { return ++count == last; }
bool is_over() { return ++count > last; }

Status next_copy_dropped(void* self, anyplace_stream stream, anyplace_address to, anyplace_address from, uint64_t bytes,
                         uint32_t kind) {
  return comes_round() ? ok : real.memory_copy(self, stream, to, from, bytes, kind);
}

/// Work that goes to another stream, and is waited for by none.
Status next_copy_astray(void* self, anyplace_stream stream, anyplace_address to, anyplace_address from, uint64_t bytes,
                        uint32_t kind) {
  return real.memory_copy(self, comes_round() ? side_stream(self, stream) : stream, to, from, bytes, kind);
}

/// How much was submitted to the one stream that is looked at, and how much of it is done.
std::atomic<uint64_t> submitted{0};
std::atomic<uint64_t> done{0};

struct Call {
  anyplace_host_function function;
  void* user;
};
void run_counted(void* user, Status status) {
  const Call call = *static_cast<Call*>(user);
  delete static_cast<Call*>(user);
  call.function(call.user, status);
  ++done;
}

Notes<anyplace_event, bool> known_complete;

template <auto Entry, class... Args>
Status until_pool_ends(void* self, Args... args) {
  return is_over() ? Status{ANYPLACE_STATUS_OUT_OF_MEMORY} : (real.*Entry)(self, args...);
}
template <auto Entry, class... Args>
void end_pool(Table& table, Status (*Table::*)(void*, Args...)) {
  table.*Entry = until_pool_ends<Entry, Args...>;
}
template <auto Entry>
void pool_of(Table& table) {
  end_pool<Entry>(table, Entry);
}

constexpr const char* copies = "lengths: thousands of copies of one stream run in their order, as they come";
constexpr const char* copies_held =
    "lengths: thousands of copies of one stream run in their order, behind work that is held back";
constexpr const char* fills = "lengths: thousands of fills of one stream all run, as they come";
constexpr const char* calls =
    "lengths: thousands of host functions of one stream run once each and in their order, as they come";
constexpr const char* records = "lengths: each of thousands of records of one event is pending until its work is done";
constexpr const char* waits = "lengths: each of thousands of waits holds its stream back";
constexpr const char* launches =
    "lengths: thousands of launches of a callable run once each and in their order, as they come";
constexpr const char* graphs =
    "lengths: thousands of launches of one graph run once each and in their order, as they come";
constexpr const char* updates = "lengths: each of thousands of updates is that of the next launch";

const Mutation mutations[] = {
    // -- Submissions.
    {"copy_4096_dropped", "the 4096th copy is left out", copies,
     [](Table& table) { table.memory_copy = next_copy_dropped; }},
    {"copy_4096_astray", "the 4096th copy is in no order", copies_held,
     [](Table& table) {
       note_streams(table);
       table.memory_copy = next_copy_astray;
     }},
    {"fill_4096_dropped", "the 4096th fill is left out", fills,
     [](Table& table) {
       table.memory_set = [](void* self, anyplace_stream stream, anyplace_address address, uint32_t value,
                             uint32_t width, uint64_t elements) {
         return comes_round() ? ok : real.memory_set(self, stream, address, value, width, elements);
       };
     }},
    {"host_function_4096_lost", "the 4096th host function is never called", calls,
     [](Table& table) {
       table.stream_host_function = [](void* self, anyplace_stream stream, anyplace_host_function function,
                                       void* user) {
         return comes_round() ? ok : real.stream_host_function(self, stream, function, user);
       };
     }},
    {"host_functions_4096_deep", "of host functions that are pending there are 4096 at most, and others are dropped",
     "lengths: thousands of host functions of one stream run once each and in their order, behind work that is held "
     "back",
     [](Table& table) {
       table.stream_host_function = [](void* self, anyplace_stream stream, anyplace_host_function function,
                                       void* user) {
         if (submitted - done >= last) return ok;
         ++submitted;
         return real.stream_host_function(self, stream, run_counted, new Call{function, user});
       };
     }},
    {"launch_4096_dropped", "the 4096th launch of a kernel is left out", launches,
     [](Table& table) {
       table.kernel_launch = [](void* self, anyplace_stream stream, anyplace_kernel kernel,
                                const anyplace_launch* launch) {
         return comes_round() ? ok : real.kernel_launch(self, stream, kernel, launch);
       };
     }},
    {"module_launch_4096_dropped", "the same of a module's kernel",
     "lengths: thousands of launches of a module's kernel each have their own arguments, as they come",
     [](Table& table) {
       table.kernel_launch = [](void* self, anyplace_stream stream, anyplace_kernel kernel,
                                const anyplace_launch* launch) {
         return comes_round() ? ok : real.kernel_launch(self, stream, kernel, launch);
       };
     }},

    // -- Events.
    {"record_4096_dropped", "the 4096th record of an event marks nothing", records,
     [](Table& table) {
       table.event_record = [](void* self, anyplace_event event, anyplace_stream stream) {
         return comes_round() ? ok : real.event_record(self, event, stream);
       };
     }},
    {"records_over_after_4096", "after 4096 records an event is complete for good", records,
     [](Table& table) {
       table.event_record = [](void* self, anyplace_event event, anyplace_stream stream) {
         return is_over() ? ok : real.event_record(self, event, stream);
       };
     }},
    {"waits_over_after_4096", "after 4096 waits none holds anything back", waits,
     [](Table& table) {
       table.stream_wait_event = [](void* self, anyplace_stream stream, anyplace_event event) {
         return is_over() ? ok : real.stream_wait_event(self, stream, event);
       };
     }},
    {"events_4096_at_once", "the 4097th event that is there is the first again",
     "lengths: thousands of events exist at once, each with a record of its own",
     [](Table& table) {
       table.event_create = [](void* self, int32_t device, const anyplace_event_desc* desc, anyplace_event* out) {
         static std::atomic<anyplace_event> first{0};
         *out = first;
         if (is_over()) return ok;
         const Status status = real.event_create(self, device, desc, out);
         if (first == 0) first = *out;
         return status;
       };
     }},
    {"completion_remembered", "that an event is complete is remembered, now and then past its next record",
     "lengths: what many threads see of an event holds for the record that they know of",
     [](Table& table) {
       table.event_record = [](void* self, anyplace_event event, anyplace_stream stream) {
         const Status status = real.event_record(self, event, stream);
         known_complete.set(event, false);
         return status;
       };
       table.event_query = [](void* self, anyplace_event event, int32_t* complete) {
         *complete = 1;
         if (known_complete.get(event)) return ok;
         const Status status = real.event_query(self, event, complete);
         std::this_thread::sleep_for(std::chrono::microseconds(20));  // a record of another thread's may come here
         if (*complete != 0) known_complete.set(event, true);
         return status;
       };
     }},
    {"record_of_many_threads_lost", "an event that several threads recorded takes no more records",
     "lengths: an event that many threads recorded is pending until the record that follows is complete",
     [](Table& table) {
       table.event_record = [](void* self, anyplace_event event, anyplace_stream stream) {
         static Notes<anyplace_event, std::thread::id> recorders;
         static Notes<anyplace_event, bool> stuck;
         const std::thread::id mine = std::this_thread::get_id();
         if (recorders.get(event, mine) != mine) stuck.set(event, true);
         recorders.set(event, mine);
         const bool main_again = stuck.get(event) && ++count > 1000;
         return main_again ? ok : real.event_record(self, event, stream);
       };
     }},

    // -- Graphs.
    {"graph_launch_4096_dropped", "the 4096th launch of a graph does nothing", graphs,
     [](Table& table) {
       table.graph_launch = [](void* self, anyplace_graph graph, anyplace_stream stream) {
         return comes_round() ? ok : real.graph_launch(self, graph, stream);
       };
     }},
    {"graph_update_4096_dropped", "the 4096th update of a graph changes nothing", updates,
     [](Table& table) {
       table.graph_update = [](void* self, anyplace_graph graph, const anyplace_graph_desc* desc) {
         return comes_round() ? ok : real.graph_update(self, graph, desc);
       };
     }},

    // -- Handles.
    {"streams_at_most_4096", "after 4096 streams there are no more, though they ended",
     "lengths: thousands of streams are made, used and ended, one after the other", pool_of<&Table::stream_create>},
    {"events_at_most_4096", "after 4096 events there are no more, though they ended",
     "lengths: thousands of events are made, used and ended, one after the other", pool_of<&Table::event_create>},
    {"gates_at_most_4096", "after 4096 gates there are no more, though they ended",
     "lengths: thousands of gates are made, used and ended, one after the other", pool_of<&Table::gate_create>},
    {"allocations_at_most_4096", "after 4096 allocations there are no more, though they were freed",
     "lengths: thousands of allocations are made, used and ended, one after the other",
     pool_of<&Table::memory_allocate>},
    {"ordered_allocations_at_most_4096", "after 4096 allocations in a stream's order there are no more",
     "lengths: thousands of allocations in a stream's order are made, used and ended, one after the other",
     pool_of<&Table::memory_allocate_async>},
    {"callables_at_most_4096", "after 4096 callables there are no more, though they ended",
     "lengths: thousands of callables are made, used and ended, one after the other",
     pool_of<&Table::kernel_from_host>},
    {"graphs_at_most_4096", "after 4096 graphs there are no more, though they ended",
     "lengths: thousands of graphs are made, used and ended, one after the other", pool_of<&Table::graph_create>},

    // -- Fills of the host's memory.
    {"host_fill_at_submission", "a fill of the host's memory runs when it is submitted",
     "submission: fills of the host's memory are in their places in the stream",
     [](Table& table) {
       note_streams(table);
       table.memory_set = [](void* self, anyplace_stream stream, anyplace_address address, uint32_t value,
                             uint32_t width, uint64_t elements) {
         return real.memory_set(self, side_stream(self, stream), address, value, width, elements);
       };
     }},
};

}  // namespace

std::span<const Mutation> length_mutations() noexcept { return mutations; }

}  // namespace anyplace::mutants
