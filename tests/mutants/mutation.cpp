// SPDX-License-Identifier: Apache-2.0
#include "mutation.h"

#include <cstdlib>
#include <memory>

namespace anyplace::mutants {

Table real;
const anyplace_host* core_host = nullptr;
anyplace_host cpu_sim_host;
Notes<anyplace_stream, StreamNote> streams;
Notes<anyplace_kernel, HostKernel*> host_kernels;

namespace {

Notes<anyplace_stream, anyplace_stream> side_streams;
Status (*submission_hook)(void* self, anyplace_stream stream) = nullptr;

/// The entry, with the hook before it. All such entries take the stream first.
template <auto Entry, class... Args>
Status hooked(void* self, anyplace_stream stream, Args... args) {
  const Status status = submission_hook(self, stream);
  return status == ok ? (real.*Entry)(self, stream, args...) : status;
}

template <auto Entry, class... Args>
void hook(Table& table, Status (*Table::*)(void*, anyplace_stream, Args...)) {
  table.*Entry = hooked<Entry, Args...>;
}

Status hooked_record(void* self, anyplace_event event, anyplace_stream stream) {
  const Status status = submission_hook(self, stream);
  return status == ok ? real.event_record(self, event, stream) : status;
}

}  // namespace

std::vector<Mutation> all_mutations() {
  std::vector<Mutation> all;
  for (const auto list :
       {wait_mutations(),           stream_mutations(),     memory_mutations(), allocation_mutations(),
        virtual_memory_mutations(), kernel_mutations(),     fact_mutations(),   device_mutations(),
        book_mutations(),           process_mutations(),    limit_mutations(),  liveness_mutations(),
        pending_mutations(),        graph_mutations(),      ipc_mutations(),    random_mutations(),
        collective_mutations(),     monitoring_mutations(), length_mutations(), text_mutations()}) {
    all.insert(all.end(), list.begin(), list.end());
  }
  return all;
}

void note_streams(Table& table) {
  table.stream_create = [](void* self, int32_t device, const anyplace_stream_desc* desc, anyplace_stream* out) {
    const Status status = real.stream_create(self, device, desc, out);
    if (status == ok) streams.set(*out, {device, desc->flags, desc->cookie, false});
    return status;
  };
  table.stream_default = [](void* self, int32_t device, const anyplace_stream_desc* desc, anyplace_stream* out) {
    const Status status = real.stream_default(self, device, desc, out);
    if (status == ok) streams.set(*out, {device, desc->flags, desc->cookie, true});
    return status;
  };
}

anyplace_stream side_stream(void* self, anyplace_stream stream) {
  anyplace_stream side = side_streams.get(stream);
  if (side != 0) return side;
  const StreamNote note = streams.get(stream);
  anyplace_stream_desc desc{};
  desc.struct_size = sizeof(desc);
  desc.cookie = note.cookie;
  real.stream_create(self, note.device, &desc, &side);
  side_streams.set(stream, side);
  return side;
}

anyplace_event new_event(void* self, int32_t device) {
  anyplace_event event = 0;
  const anyplace_event_desc desc{sizeof(desc), 0};
  real.event_create(self, device, &desc, &event);
  return event;
}

void release_host_kernel(void* user) {
  const std::unique_ptr<HostKernel> kernel(static_cast<HostKernel*>(user));
  kernel->release(kernel->user);
}

void lose() {
  static std::atomic<void*> last{nullptr};
  last = std::malloc(64);
}

void before_submissions(Table& table, Status (*before)(void*, anyplace_stream)) {
  submission_hook = before;
  hook<&Table::memory_copy>(table, &Table::memory_copy);
  hook<&Table::memory_copy_2d>(table, &Table::memory_copy_2d);
  hook<&Table::memory_copy_peer>(table, &Table::memory_copy_peer);
  hook<&Table::memory_set>(table, &Table::memory_set);
  hook<&Table::stream_host_function>(table, &Table::stream_host_function);
  hook<&Table::kernel_launch>(table, &Table::kernel_launch);
  hook<&Table::stream_wait_event>(table, &Table::stream_wait_event);
  hook<&Table::stream_wait_gate>(table, &Table::stream_wait_gate);
  table.event_record = hooked_record;
}

}  // namespace anyplace::mutants
