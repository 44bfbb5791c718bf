// SPDX-License-Identifier: Apache-2.0
#include "operations.h"

#include <array>

namespace anyplace::trace {
namespace {

using backend::Argument;
using backend::Kind;
using backend::Role;

struct Entry {
  const char* name;
  bool makes = false;
  bool ends = false;
};

template <auto Member>
constexpr Entry entry_of() {
  Entry entry{backend::EntryOf<Member>::name};
  for (const Argument& argument : backend::EntryOf<Member>::arguments) {
    const bool is_object = backend::is_handle(argument.kind) || argument.kind == Kind::ADDRESS;
    if (is_object && argument.role == Role::OUT) entry.makes = true;
    if (is_object && argument.role == Role::END) entry.ends = true;
  }
  return entry;
}

#define ANYPLACE_TRACE_ENTRY(entry, presence, capabilities) entry_of<&anyplace_backend_table::entry>(),
constexpr std::array entries{ANYPLACE_ENTRY_LIST(ANYPLACE_TRACE_ENTRY)};
#undef ANYPLACE_TRACE_ENTRY

const char* copy_name(std::uint64_t kind) noexcept {
  switch (kind) {
    case ANYPLACE_COPY_HOST_TO_DEVICE:
      return "copy host to device";
    case ANYPLACE_COPY_DEVICE_TO_HOST:
      return "copy device to host";
    case ANYPLACE_COPY_DEVICE_TO_DEVICE:
      return "copy device to device";
    default:
      return "copy host to host";
  }
}

}  // namespace

bool makes_object(std::uint16_t entry) noexcept { return entries[entry].makes; }
bool ends_object(std::uint16_t entry) noexcept { return entries[entry].ends; }
const char* name_of(std::uint16_t entry) noexcept { return entries[entry].name; }

const char* category_of(std::uint16_t entry) noexcept {
  switch (entry) {
    case entry_index<&Table::memory_copy>:
    case entry_index<&Table::memory_copy_2d>:
    case entry_index<&Table::memory_copy_peer>:
      return "copy";
    case entry_index<&Table::memory_set>:
      return "fill";
    case entry_index<&Table::kernel_launch>:
      return "kernel";
    case entry_index<&Table::graph_launch>:
      return "graph";
    case entry_index<&Table::stream_host_function>:
      return "host_function";
    case entry_index<&Table::event_record>:
      return "record";
    case entry_index<&Table::stream_wait_event>:
    case entry_index<&Table::stream_wait_gate>:
      return "wait";
    case entry_index<&Table::stream_synchronize>:
    case entry_index<&Table::event_synchronize>:
    case entry_index<&Table::device_synchronize>:
      return "synchronize";
    case entry_index<&Table::stream_query>:
    case entry_index<&Table::event_query>:
      return "query";
    case entry_index<&Table::memory_allocate>:
    case entry_index<&Table::memory_free>:
    case entry_index<&Table::memory_allocate_async>:
    case entry_index<&Table::memory_free_async>:
    case entry_index<&Table::host_register>:
    case entry_index<&Table::host_unregister>:
    case entry_index<&Table::virtual_map>:
    case entry_index<&Table::virtual_map_all>:
    case entry_index<&Table::virtual_unmap>:
      return "memory";
    default:
      return "call";
  }
}

std::string status_name(anyplace_status status) {
  switch (status) {
#define ANYPLACE_TRACE_STATUS(upper, lower, number, ...) \
  case number:                                           \
    return #lower;
    ANYPLACE_STATUS_LIST(ANYPLACE_TRACE_STATUS)
#undef ANYPLACE_TRACE_STATUS
    default:
      return "status " + std::to_string(status);
  }
}

const char* memory_title(std::uint64_t kind) noexcept {
  switch (kind) {
    case ANYPLACE_MEMORY_PINNED:
      return "pinned memory";
    case ANYPLACE_MEMORY_MANAGED:
      return "managed memory";
    case ANYPLACE_MEMORY_SHAREABLE:
      return "shareable memory";
    default:
      return "device memory";
  }
}

std::int32_t device_of(const BackendObjects& objects, const Record& record) noexcept {
  const auto names = value_names(record.entry);
  for (std::size_t i = 0; i < record.value_count; ++i) {
    if (names[i].kind == Kind::DEVICE) return static_cast<std::int32_t>(record.values[i]);
    if (names[i].kind == Kind::STREAM) {
      if (const auto stream = objects.stream(record.values[i])) return stream->device;
    }
    if (names[i].kind == Kind::EVENT) {
      const auto event = objects.events.find(record.values[i]);
      if (event != objects.events.end()) return event->second.device;
    }
  }
  return -1;
}

std::uint64_t bytes_of(const Record& record) noexcept {
  const auto& values = record.values;
  switch (record.entry) {
    case entry_index<&Table::memory_copy>:
      return values[3];
    case entry_index<&Table::memory_copy_2d>:
      return values[5] * values[6];
    case entry_index<&Table::memory_copy_peer>:
      return values[5];
    case entry_index<&Table::memory_set>:
      return values[3] * values[4];
    default:
      return 0;
  }
}

std::string execution_name(const BackendObjects& objects, const Record& record) {
  const auto& values = record.values;
  switch (record.entry) {
    case entry_index<&Table::memory_copy>:
      return copy_name(values[4]);
    case entry_index<&Table::memory_copy_2d>:
      return copy_name(values[7]);
    case entry_index<&Table::memory_copy_peer>:
      return "copy to peer";
    case entry_index<&Table::memory_set>:
      return "fill";
    case entry_index<&Table::kernel_launch>: {
      const auto kernel = objects.kernels.find(values[1]);
      return kernel == objects.kernels.end() ? "kernel" : kernel->second;
    }
    case entry_index<&Table::graph_launch>:
      return "graph";
    default:
      return name_of(record.entry);
  }
}

}  // namespace anyplace::trace
