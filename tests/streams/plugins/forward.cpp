// SPDX-License-Identifier: Apache-2.0
//
// A plugin that forwards to cpu_sim's, minus what the test takes away (forward.h). FORWARD_NAME is its name, FORWARD_TO
// the file of cpu_sim's plugin, FORWARD_WITHOUT the capabilities that it never has.
#include "forward.h"

#include <dlfcn.h>

#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <utility>

#include "support/table_entries.h"

namespace {

anyplace_backend_table inner{};
test::Forward defaults;
test::Forward* control = &defaults;

std::mutex device_mutex;                                 // guards device_by_handle
std::map<std::uint64_t, std::int32_t> device_by_handle;  // of streams, events and gates

std::int32_t device_of(std::int32_t device) { return device; }
std::int32_t device_of(std::uint64_t handle) {
  const std::lock_guard lock(device_mutex);
  const auto found = device_by_handle.find(handle);
  return found == device_by_handle.end() ? -2 : found->second;
}
/// Without memory for it the handle counts as of a device that works.
void note(std::uint64_t handle, std::int32_t device) noexcept {
  const std::lock_guard lock(device_mutex);
  try {
    device_by_handle[handle] = device;
  } catch (const std::bad_alloc&) {
  }
}

enum class Kind { plain, submits, ends };

template <auto Member, Kind kind, class Type = decltype(Member)>
struct Entry;
template <auto Member, Kind kind, class First, class... Rest>
struct Entry<Member, kind, anyplace_status (*anyplace_backend_table::*)(void*, First, Rest...)> {
  static anyplace_status call(void* self, First first, Rest... rest) {
    if (device_of(first) == control->lost_device.load()) {
      if constexpr (kind == Kind::ends) {
        ++control->ended_when_lost;
      } else {
        ++control->calls_when_lost;
        control->host->leave_message(control->host->context, 719, "FORWARD_LOST", "lost on command");
        return ANYPLACE_STATUS_DEVICE_LOST;
      }
    }
    if constexpr (kind == Kind::submits) {
      if (control->fail_next != 0 && control->fail_after.fetch_sub(1) > 0) return (inner.*Member)(self, first, rest...);
      if (const int status = control->fail_next.exchange(0); status != 0) {
        if (!control->silent) {
          control->host->leave_message(control->host->context, 7, "FORWARD_FAILED", "failed on command");
        }
        return status;
      }
    }
    return (inner.*Member)(self, first, rest...);
  }
};

template <auto Member, Kind kind = Kind::plain>
void wrap(anyplace_backend_table& table) {
  if (table.*Member != nullptr) table.*Member = &Entry<Member, kind>::call;
}

using Table = anyplace_backend_table;

// ---- Entries with something of their own ---------------------------------------------------------------------------

template <auto Member, class Handle>
anyplace_status timed(void* self, Handle handle, std::uint64_t timeout) {
  if (!control->timed_sync && timeout != ANYPLACE_FOREVER) return ANYPLACE_STATUS_UNSUPPORTED;
  return Entry<Member, Kind::plain>::call(self, handle, timeout);
}

/// Capabilities that are absent with their entries.
std::uint64_t taken_away() {
#ifdef FORWARD_WITHOUT
  std::uint64_t absent = FORWARD_WITHOUT;
#else
  std::uint64_t absent = 0;
#endif
  if (!control->gates) absent |= ANYPLACE_FOR(GATES);
  if (!control->host_functions) absent |= ANYPLACE_FOR(HOST_FUNCTIONS);
  return absent;
}

anyplace_status device_properties(void* self, std::int32_t device, anyplace_device_properties* out) {
  const anyplace_status status = inner.device_properties(self, device, out);
  out->capabilities &= ~(control->absent_capabilities | taken_away());
  out->capabilities |= 1u << ANYPLACE_CAPABILITY_BIT_DEVICE_RESET;
  return status;
}

anyplace_status stream_query(void* self, anyplace_stream stream, std::int32_t* done) {
  if (const int status = control->fail_query; status != 0) {
    control->host->leave_message(control->host->context, 8, "FORWARD_QUERY", "query failed on command");
    return status;
  }
  return Entry<&Table::stream_query, Kind::plain>::call(self, stream, done);
}

anyplace_status device_reset(void*, std::int32_t) {
  control->was_reset = true;
  control->graphs_at_reset = control->live_graphs.load();
  return ANYPLACE_STATUS_OK;
}

/// Every second process has memory that isn't known.
anyplace_status list_processes(void* self, std::int32_t device, anyplace_process* out, std::uint32_t stride,
                               std::uint32_t* count) {
  const std::uint32_t there = control->processes;
  if (there == 0) return Entry<&Table::list_processes, Kind::plain>::call(self, device, out, stride, count);
  control->processes += control->new_processes;
  for (std::uint32_t i = 0; i < there && i < *count; ++i) {
    anyplace_process process{};
    process.id = i + 1;
    process.memory_bytes = i % 2 == 0 ? std::uint64_t{4096} * i : ANYPLACE_UNKNOWN;
    std::memcpy(reinterpret_cast<char*>(out) + std::size_t{i} * stride, &process, sizeof(process));
  }
  *count = there;
  return ANYPLACE_STATUS_OK;
}

template <auto Member, class... Args>
anyplace_status made(void* self, std::atomic<int>& count, std::int32_t device, std::uint64_t* out, Args... args) {
  const anyplace_status status = Entry<Member, Kind::plain>::call(self, device, args..., out);
  if (status == ANYPLACE_STATUS_OK) {
    note(*out, device);
    ++count;
  }
  return status;
}
anyplace_status stream_create(void* self, std::int32_t device, const anyplace_stream_desc* desc, anyplace_stream* out) {
  return made<&Table::stream_create>(self, control->live_streams, device, out, desc);
}
anyplace_status stream_default(void* self, std::int32_t device, const anyplace_stream_desc* desc,
                               anyplace_stream* out) {
  return made<&Table::stream_default>(self, control->live_streams, device, out, desc);
}
anyplace_status event_create(void* self, std::int32_t device, const anyplace_event_desc* desc, anyplace_event* out) {
  return made<&Table::event_create>(self, control->live_events, device, out, desc);
}
anyplace_status gate_create(void* self, std::int32_t device, anyplace_gate* out) {
  ++control->gates_made;
  return made<&Table::gate_create>(self, control->live_gates, device, out);
}

template <auto Member>
anyplace_status ended(void* self, std::atomic<int>& count, std::uint64_t handle) {
  --count;
  const anyplace_status status = Entry<Member, Kind::ends>::call(self, handle);
  return status;
}
anyplace_status stream_destroy(void* self, anyplace_stream stream) {
  return ended<&Table::stream_destroy>(self, control->live_streams, stream);
}
anyplace_status event_destroy(void* self, anyplace_event event) {
  return ended<&Table::event_destroy>(self, control->live_events, event);
}
anyplace_status gate_destroy(void* self, anyplace_gate gate) {
  // A device that is really lost stops; this one would wait for the gate for ever.
  if (device_of(gate) == control->lost_device.load()) inner.gate_open(self, gate);
  return ended<&Table::gate_destroy>(self, control->live_gates, gate);
}

anyplace_status graph_create(void* self, std::int32_t device, const anyplace_graph_desc* desc, anyplace_graph* out) {
  return made<&Table::graph_create>(self, control->live_graphs, device, out, desc);
}
anyplace_status graph_destroy(void* self, anyplace_graph graph) {
  return ended<&Table::graph_destroy>(self, control->live_graphs, graph);
}

void wrap_all(anyplace_backend_table& table) {
  table.device_properties = device_properties;
  table.device_reset = device_reset;
  table.list_processes = list_processes;
  table.device_synchronize = timed<&Table::device_synchronize, std::int32_t>;
  table.stream_synchronize = timed<&Table::stream_synchronize, anyplace_stream>;
  table.event_synchronize = timed<&Table::event_synchronize, anyplace_event>;
  table.stream_create = stream_create;
  table.stream_default = stream_default;
  table.event_create = event_create;
  table.gate_create = gate_create;
  table.stream_destroy = stream_destroy;
  table.event_destroy = event_destroy;
  table.gate_destroy = gate_destroy;
  table.stream_query = stream_query;
  if (table.graph_create != nullptr) {
    table.graph_create = graph_create;
    table.graph_destroy = graph_destroy;
  }
  wrap<&Table::device_sample>(table);
  wrap<&Table::stream_wait_event, Kind::submits>(table);
  wrap<&Table::stream_host_function, Kind::submits>(table);
  wrap<&Table::stream_wait_gate, Kind::submits>(table);
  wrap<&Table::gate_open>(table);
  wrap<&Table::event_record, Kind::submits>(table);
  wrap<&Table::event_query>(table);
  wrap<&Table::memory_copy, Kind::submits>(table);
  wrap<&Table::memory_set, Kind::submits>(table);
  wrap<&Table::kernel_launch, Kind::submits>(table);
  wrap<&Table::memory_free, Kind::ends>(table);
  wrap<&Table::memory_free_async, Kind::ends>(table);
}

}  // namespace

extern "C" ANYPLACE_PLUGIN_EXPORT anyplace_status anyplace_backend_entry(const anyplace_host* host,
                                                                         anyplace_backend_table* table) {
  if (const char* const address = std::getenv(test::Forward::variable(FORWARD_NAME).c_str())) {
    control = reinterpret_cast<test::Forward*>(static_cast<std::uintptr_t>(std::strtoull(address, nullptr, 10)));
  }
  control->host = host;
  void* const library = dlopen(FORWARD_TO, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    host->leave_message(host->context, 0, "", dlerror());
    return ANYPLACE_STATUS_LIBRARY_MISSING;
  }
  const auto entry = reinterpret_cast<anyplace_backend_entry_function>(dlsym(library, ANYPLACE_ENTRY_SYMBOL));
  inner.struct_size = sizeof(inner);
  if (const anyplace_status status = entry(host, &inner); status != ANYPLACE_STATUS_OK) return status;
  anyplace_backend_table mine = inner;
  std::memset(mine.name, 0, sizeof(mine.name));
  std::strcpy(mine.name, FORWARD_NAME);
  wrap_all(mine);
  remove_entries(&mine, taken_away());
  std::memcpy(table, &mine, sizeof(mine));
  return ANYPLACE_STATUS_OK;
}
