// SPDX-License-Identifier: Apache-2.0
//
// A plugin that forwards to cpu_sim's, minus what the test takes away (forward.h). FORWARD_NAME is its name, FORWARD_TO
// the file of cpu_sim's plugin, FORWARD_WITHOUT the capabilities that it never has.
#include "forward.h"

#include <cstring>
#include <map>
#include <mutex>
#include <new>

#include "support/layer.h"

namespace {

using test::is_one_of;
using test::Table;

/// Entries that find a lost device out, beside those that have something of their own below.
template <auto Entry>
constexpr bool looks = is_one_of<Entry, &Table::device_sample, &Table::gate_open, &Table::event_query>;
/// Those that submit something, and can be told to fail.
template <auto Entry>
constexpr bool submits =
    is_one_of<Entry, &Table::stream_wait_event, &Table::stream_host_function, &Table::stream_wait_gate,
              &Table::event_record, &Table::memory_copy, &Table::memory_set, &Table::kernel_launch>;
/// Those that work on a lost device, too.
template <auto Entry>
constexpr bool ends = is_one_of<Entry, &Table::memory_free, &Table::memory_free_async>;

struct ForwardLayer : test::Layer {
  test::Forward defaults;
  test::Forward* control = &defaults;
  std::mutex device_mutex;                                 // guards device_by_handle
  std::map<std::uint64_t, std::int32_t> device_by_handle;  // of streams, events, gates and graphs

  void begin(const anyplace_host* host, Table& table) {
    if (const char* const address = std::getenv(test::Forward::variable(FORWARD_NAME).c_str())) {
      control = reinterpret_cast<test::Forward*>(static_cast<std::uintptr_t>(std::strtoull(address, nullptr, 10)));
    }
    control->host = host;
    test::remove_entries(table, taken_away());
  }

  // ---- All entries

  template <auto Entry, class... Args>
  anyplace_status call(Args... args) {
    if constexpr (ends<Entry>) {
      return ended<Entry>(args...);
    } else if constexpr (submits<Entry>) {
      return submitted<Entry>(args...);
    } else if constexpr (looks<Entry>) {
      return unless_lost<Entry>(args...);
    } else {
      return pass_on<Entry>(args...);
    }
  }

  std::int32_t device_of(std::int32_t device) { return device; }
  std::int32_t device_of(std::uint64_t handle) {
    const std::lock_guard lock(device_mutex);
    const auto found = device_by_handle.find(handle);
    return found == device_by_handle.end() ? -2 : found->second;
  }
  bool is_lost(auto device_or_handle) { return device_of(device_or_handle) == control->lost_device.load(); }

  anyplace_status fail(anyplace_status status, std::int64_t code, const char* name, const char* text) {
    control->host->leave_message(control->host->context, code, name, text);
    return status;
  }

  template <auto Entry, class First, class... Rest>
  anyplace_status unless_lost(First first, Rest... rest) {
    if (!is_lost(first)) return pass_on<Entry>(first, rest...);
    ++control->calls_when_lost;
    return fail(ANYPLACE_STATUS_DEVICE_LOST, 719, "FORWARD_LOST", "lost on command");
  }

  template <auto Entry, class First, class... Rest>
  anyplace_status submitted(First first, Rest... rest) {
    if (!is_lost(first) && control->fail_next != 0 && control->fail_after.fetch_sub(1) <= 0) {
      if (const int status = control->fail_next.exchange(0); status != 0) {
        return control->silent ? status : fail(status, 7, "FORWARD_FAILED", "failed on command");
      }
    }
    return unless_lost<Entry>(first, rest...);
  }

  template <auto Entry, class First, class... Rest>
  anyplace_status ended(First first, Rest... rest) {
    if (is_lost(first)) ++control->ended_when_lost;
    return pass_on<Entry>(first, rest...);
  }

  // ---- Entries with something of their own

  /// Capabilities that are absent with their entries.
  std::uint64_t taken_away() const {
#ifdef FORWARD_WITHOUT
    std::uint64_t absent = FORWARD_WITHOUT;
#else
    std::uint64_t absent = 0;
#endif
    if (!control->gates) absent |= ANYPLACE_FOR(GATES);
    if (!control->host_functions) absent |= ANYPLACE_FOR(HOST_FUNCTIONS);
    return absent;
  }

  anyplace_status device_properties(std::int32_t device, anyplace_device_properties* out) {
    const anyplace_status status = pass_on<&Table::device_properties>(device, out);
    out->capabilities &= ~(control->absent_capabilities | taken_away());
    out->capabilities |= ANYPLACE_FOR(DEVICE_RESET);
    return status;
  }

  anyplace_status device_reset(std::int32_t) {
    control->was_reset = true;
    control->graphs_at_reset = control->live_graphs.load();
    return ANYPLACE_STATUS_OK;
  }

  anyplace_status stream_query(anyplace_stream stream, std::int32_t* done) {
    const int status = control->fail_query;
    if (status != 0) return fail(status, 8, "FORWARD_QUERY", "query failed on command");
    return unless_lost<&Table::stream_query>(stream, done);
  }

  anyplace_status event_query(anyplace_event event, std::int32_t* done) {
    if (void (*const first)() = control->before_event_query) first();
    return unless_lost<&Table::event_query>(event, done);
  }

  /// Every second process has memory that isn't known.
  anyplace_status list_processes(std::int32_t device, anyplace_process* out, std::uint32_t stride,
                                 std::uint32_t* count) {
    const std::uint32_t there = control->processes;
    if (there == 0) return unless_lost<&Table::list_processes>(device, out, stride, count);
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

  template <auto Entry>
  anyplace_status timed(auto device_or_handle, std::uint64_t timeout) {
    if (!control->timed_sync && timeout != ANYPLACE_FOREVER) return ANYPLACE_STATUS_UNSUPPORTED;
    return unless_lost<Entry>(device_or_handle, timeout);
  }
  anyplace_status device_synchronize(std::int32_t device, std::uint64_t timeout) {
    return timed<&Table::device_synchronize>(device, timeout);
  }
  anyplace_status stream_synchronize(anyplace_stream stream, std::uint64_t timeout) {
    return timed<&Table::stream_synchronize>(stream, timeout);
  }
  anyplace_status event_synchronize(anyplace_event event, std::uint64_t timeout) {
    return timed<&Table::event_synchronize>(event, timeout);
  }

  /// Notes the device of what was made. Without memory for it the handle counts as of a device that works.
  template <auto Entry, class... Args>
  anyplace_status made(std::atomic<int>& count, std::int32_t device, std::uint64_t* out, Args... args) {
    const anyplace_status status = unless_lost<Entry>(device, args..., out);
    if (status != ANYPLACE_STATUS_OK) return status;
    ++count;
    const std::lock_guard lock(device_mutex);
    try {
      device_by_handle[*out] = device;
    } catch (const std::bad_alloc&) {
    }
    return status;
  }
  anyplace_status stream_create(std::int32_t device, const anyplace_stream_desc* desc, anyplace_stream* out) {
    return made<&Table::stream_create>(control->live_streams, device, out, desc);
  }
  anyplace_status stream_default(std::int32_t device, const anyplace_stream_desc* desc, anyplace_stream* out) {
    return made<&Table::stream_default>(control->live_streams, device, out, desc);
  }
  anyplace_status event_create(std::int32_t device, const anyplace_event_desc* desc, anyplace_event* out) {
    return made<&Table::event_create>(control->live_events, device, out, desc);
  }
  anyplace_status gate_create(std::int32_t device, anyplace_gate* out) {
    ++control->gates_made;
    return made<&Table::gate_create>(control->live_gates, device, out);
  }
  anyplace_status graph_create(std::int32_t device, const anyplace_graph_desc* desc, anyplace_graph* out) {
    return made<&Table::graph_create>(control->live_graphs, device, out, desc);
  }

  anyplace_status stream_destroy(anyplace_stream stream) {
    --control->live_streams;
    return ended<&Table::stream_destroy>(stream);
  }
  anyplace_status event_destroy(anyplace_event event) {
    --control->live_events;
    return ended<&Table::event_destroy>(event);
  }
  anyplace_status gate_destroy(anyplace_gate gate) {
    --control->live_gates;
    // A device that is really lost stops; this one would wait for the gate for ever.
    if (is_lost(gate)) pass_on<&Table::gate_open>(gate);
    return ended<&Table::gate_destroy>(gate);
  }
  anyplace_status graph_destroy(anyplace_graph graph) {
    --control->live_graphs;
    return ended<&Table::graph_destroy>(graph);
  }
};

}  // namespace

TEST_LAYER(ForwardLayer, FORWARD_TO, FORWARD_NAME)
