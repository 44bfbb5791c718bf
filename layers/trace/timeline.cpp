// SPDX-License-Identifier: Apache-2.0
#include "timeline.h"

#include <algorithm>
#include <memory>
#include <mutex>
#include <utility>

#include "operations.h"

namespace anyplace::trace {
namespace {

using backend::Kind;

Annotation annotation_of(const ValueName& name, std::uint64_t value) {
  switch (name.kind) {
    case Kind::ADDRESS:
    case Kind::HOST_ADDRESS:
      return {name.name, Annotation::Kind::address, value};
    case Kind::MILLISECONDS:
      return {name.name, Annotation::Kind::real, value};
    case Kind::DEVICE:
      return {name.name, Annotation::Kind::signed_number, value};
    default:
      return {name.name, Annotation::Kind::number, value};
  }
}

std::string stream_title(const StreamObject& stream) {
  return stream.is_default ? "default stream" : "stream " + std::to_string(stream.id);
}

std::string place_of(const TracedBackend& backend, std::int32_t device) {
  return std::string(backend.name()) + ":" + std::to_string(device);
}

}  // namespace

void Timeline::begin(bool is_same_in_each_run) {
  is_same_in_each_run_ = is_same_in_each_run;
  process_track_ = packets_.begin(is_same_in_each_run);
  is_on_ = true;
  ranges_track_ = 0;
  range_lanes_.clear();
  for (auto& [number, thread] : threads_) {
    thread.track = 0;
    thread.ranges.clear();
  }
  for (auto& [backend, objects] : backends_) {
    for (auto& [index, device] : objects.devices) {
      device.track = 0;
      device.counters.clear();
    }
    for (auto& [handle, stream] : objects.streams) {
      stream->lanes.clear();
      stream->lane_ends.clear();
    }
  }
}

std::uint64_t Timeline::order_of(const Record& record) noexcept {
  return makes_object(record.entry) ? record.end_ns : record.begin_ns;
}

void Timeline::add_thread(std::uint64_t thread, std::int32_t system_number, const std::string& name) {
  threads_.try_emplace(thread, Thread{system_number, name});
}

// ---- Tracks

std::uint64_t Timeline::device_track(const TracedBackend& backend, std::int32_t device) {
  std::uint64_t& track = backends_[&backend].devices[device].track;
  if (track == 0) track = packets_.add_track(process_track_, backend.device_title(device));
  return track;
}

std::uint64_t Timeline::thread_track(std::uint64_t thread) {
  Thread& known = threads_[thread];
  if (known.track == 0) known.track = packets_.add_thread(known.number, known.name);
  return known.track;
}

std::uint64_t Timeline::lane(const TracedBackend& backend, StreamObject& stream, std::uint64_t begin_ns,
                             std::uint64_t end_ns) {
  const auto is_free = [begin_ns](std::uint64_t end) { return end <= begin_ns; };
  const auto free = std::find_if(stream.lane_ends.begin(), stream.lane_ends.end(), is_free);
  const auto number = static_cast<std::size_t>(free - stream.lane_ends.begin());
  if (free == stream.lane_ends.end()) {
    const std::string lane = number == 0 ? "" : ", lane " + std::to_string(number + 1);
    stream.lanes.push_back(packets_.add_track(device_track(backend, stream.device), stream_title(stream) + lane));
    stream.lane_ends.push_back(0);
  }
  stream.lane_ends[number] = end_ns;
  return stream.lanes[number];
}

// ---- Slices

void Timeline::note(std::uint64_t thread, std::uint64_t at_ns, const std::string& text) {
  if (!is_on_) return;
  packets_.add_instant({thread_track(thread), at_ns, at_ns, text, "trace"});
}

void Timeline::add_call(const Record& record, std::uint64_t thread, std::uint64_t waits_for) {
  Slice slice{thread_track(thread), record.begin_ns, record.end_ns, name_of(record.entry), category_of(record.entry)};
  const BackendObjects& objects = backends_[record.backend];
  const auto names = value_names(record.entry);
  for (std::size_t i = 0; i < record.value_count; ++i) {
    const std::uint64_t value = record.values[i];
    // Of a limited wait the library passes on what is left by the real clock.
    const bool is_limit = names[i].kind == Kind::NANOSECONDS && names[i].role == backend::Role::IN;
    if (is_same_in_each_run_ && is_limit && value != ANYPLACE_FOREVER) continue;
    const auto stream = names[i].kind == Kind::STREAM ? objects.stream(value) : nullptr;
    const auto kernel = names[i].kind == Kind::KERNEL ? objects.kernels.find(value) : objects.kernels.end();
    if (stream != nullptr) {
      slice.annotations.push_back({"stream", Annotation::Kind::number, stream->id});
    } else if (kernel != objects.kernels.end()) {
      slice.annotations.push_back({"kernel", Annotation::Kind::text, 0, kernel->second});
    } else {
      slice.annotations.push_back(annotation_of(names[i], value));
    }
  }
  if (record.text != nullptr) slice.annotations.push_back({"name", Annotation::Kind::text, 0, *record.text});
  slice.annotations.push_back(
      {"place", Annotation::Kind::text, 0, place_of(*record.backend, device_of(objects, record))});
  if (record.status != ANYPLACE_STATUS_OK) {
    slice.annotations.push_back({"status", Annotation::Kind::text, 0, status_name(record.status)});
  }
  if (record.repeats != 0) slice.annotations.push_back({"queries_before", Annotation::Kind::number, record.repeats});
  if (record.submission != 0) {
    slice.flows.push_back(record.submission);
    slice.annotations.push_back({"submission", Annotation::Kind::number, record.submission});
  }
  if (waits_for != 0) {
    slice.flows.push_back(waits_for);
    slice.annotations.push_back({"waits_for", Annotation::Kind::number, waits_for});
  }
  packets_.add(slice);
}

void Timeline::add_execution(const TracedBackend& backend, StreamObject& stream, const Pending& what,
                             std::uint64_t begin_ns, std::uint64_t end_ns) {
  if (!is_on_) return;
  Slice slice{lane(backend, stream, begin_ns, end_ns), begin_ns, end_ns, what.name, what.category, {what.submission}};
  slice.annotations = {{"place", Annotation::Kind::text, 0, place_of(backend, stream.device)},
                       {"stream", Annotation::Kind::number, stream.id},
                       {"submission", Annotation::Kind::number, what.submission}};
  if (what.bytes != 0) slice.annotations.push_back({"bytes", Annotation::Kind::number, what.bytes});
  packets_.add(slice);
}

void Timeline::poll(const TracedBackend& backend, BackendObjects& objects, StreamObject& stream) {
  while (!stream.pending.empty()) {
    Pending& first = stream.pending.front();
    const bool is_there =
        backend.is_open() && first.pool->device->is_timed && first.pool->device->generation == first.timing.generation;
    const auto done = is_there ? backend.is_done(first.timing.end) : TracedBackend::Done::failed;
    if (done == TracedBackend::Done::no) return;
    if (done == TracedBackend::Done::yes) {
      const auto ran =
          objects.devices[stream.device].clock.interval(backend, stream.device, first.timing, first.submitted_ns);
      if (ran) add_execution(backend, stream, first, ran->begin_ns, ran->end_ns);
      if (first.timing.begin != 0 && first.timing.end != 0) first.pool->give_back(first.timing);
    }
    stream.pending.pop_front();
  }
}

std::size_t Timeline::poll(TracedBackend& backend) {
  const std::lock_guard calls(backend.calls());
  BackendObjects& objects = backends_[&backend];
  std::size_t left = 0;
  for (const auto& stream : objects.gone_streams) {
    poll(backend, objects, *stream);
    left += stream->pending.size();
  }
  std::erase_if(objects.gone_streams, [](const auto& stream) { return stream->pending.empty(); });
  for (const auto& [handle, stream] : objects.streams) {
    poll(backend, objects, *stream);
    left += stream->pending.size();
  }
  return left;
}

void Timeline::count(const TracedBackend& backend, const Allocation& allocation, bool is_added, std::uint64_t at_ns) {
  DeviceObject& device = backends_[&backend].devices[allocation.device];
  std::uint64_t& bytes = device.bytes[allocation.kind];
  bytes = is_added ? bytes + allocation.bytes : bytes - std::min(bytes, allocation.bytes);
  if (!is_on_) return;
  std::uint64_t& counter = device.counters[allocation.kind];
  if (counter == 0) {
    counter = packets_.add_byte_counter(device_track(backend, allocation.device), memory_title(allocation.kind));
  }
  packets_.count(counter, at_ns, bytes);
}

// ---- Records

void Timeline::take(const Record& record, std::uint64_t thread) {
  const std::unique_ptr<const std::string> text(record.text);
  if (record.kind == Record::Kind::annotation) return add_annotation(record, thread);
  BackendObjects& objects = backends_[record.backend];
  if (record.kind == Record::Kind::host_function) return add_host_function(objects, record);
  const std::uint64_t waits_for = awaited(objects, record);
  if (makes_object(record.entry)) follow(objects, record);
  if (is_on_) add_call(record, thread, waits_for);
  if (record.status != ANYPLACE_STATUS_OK && !ends_object(record.entry)) return;
  follow_submission(objects, record);
  follow_memory(objects, record);
  if (!makes_object(record.entry)) follow(objects, record);
}

void Timeline::add_host_function(BackendObjects& objects, const Record& record) {
  const auto submitted = objects.host_functions.find(record.submission);
  if (submitted == objects.host_functions.end()) {
    // It ran before the call that submitted it had returned.
    objects.early_host_functions.emplace(record.submission, record);
    return;
  }
  StreamObject& stream = *submitted->second;
  {
    // What the stream did before it is added first, because a lane's slices are added in the order of their times.
    const std::lock_guard calls(record.backend->calls());
    poll(*record.backend, objects, stream);
  }
  const Pending what{nullptr, {}, 0, record.submission, "host function", "host_function", 0};
  add_execution(*record.backend, stream, what, record.begin_ns, record.end_ns);
  objects.host_functions.erase(submitted);
}

void Timeline::follow_submission(BackendObjects& objects, const Record& record) {
  if (record.submission == 0) return;
  const bool is_record = record.entry == entry_index<&Table::event_record>;
  const bool is_graph = record.entry == entry_index<&Table::graph_launch>;
  const auto stream = objects.stream(record.values[is_record || is_graph ? 1 : 0]);
  if (is_record) objects.events[record.values[0]].record = record.submission;
  if (stream == nullptr) {
    if (record.pool != nullptr) record.pool->give_back(record.timing);
    return;
  }
  if (!is_record) {
    stream->last_submission = record.submission;
    objects.devices[stream->device].last_submission = record.submission;
  }
  if (record.entry == entry_index<&Table::stream_host_function>) {
    objects.host_functions[record.submission] = stream;
    if (const auto early = objects.early_host_functions.extract(record.submission)) {
      add_host_function(objects, early.mapped());
    }
  }
  if (record.pool == nullptr) return;
  stream->pending.push_back({record.pool, record.timing, record.begin_ns, record.submission,
                             execution_name(objects, record), category_of(record.entry), bytes_of(record)});
}

std::uint64_t Timeline::awaited(BackendObjects& objects, const Record& record) const {
  const auto record_of = [&](anyplace_event event) {
    const auto found = objects.events.find(event);
    return found == objects.events.end() ? 0 : found->second.record;
  };
  switch (record.entry) {
    case entry_index<&Table::stream_wait_event>:
      return record_of(record.values[1]);
    case entry_index<&Table::event_synchronize>:
      return record_of(record.values[0]);
    case entry_index<&Table::stream_synchronize>: {
      const auto stream = objects.stream(record.values[0]);
      return stream == nullptr ? 0 : stream->last_submission;
    }
    case entry_index<&Table::device_synchronize>: {
      const auto device = objects.devices.find(static_cast<std::int32_t>(record.values[0]));
      return device == objects.devices.end() ? 0 : device->second.last_submission;
    }
    default:
      return 0;
  }
}

void Timeline::follow(BackendObjects& objects, const Record& record) {
  const auto& values = record.values;
  switch (record.entry) {
    case entry_index<&Table::stream_create>:
    case entry_index<&Table::stream_default>:
    case entry_index<&Table::stream_from_native>: {
      if (record.status != ANYPLACE_STATUS_OK) return;
      const bool is_native = record.entry == entry_index<&Table::stream_from_native>;
      // The descriptor's values come behind the device, and behind the vendor's handle if there is one.
      const auto stream = std::make_shared<StreamObject>();
      stream->device = static_cast<std::int32_t>(values[0]);
      stream->id = values[is_native ? 2 : 1];
      stream->is_default = record.entry == entry_index<&Table::stream_default>;
      objects.streams[values[record.value_count - 1u]] = stream;
      return;
    }
    case entry_index<&Table::stream_destroy>:
      if (const auto found = objects.streams.find(values[0]); found != objects.streams.end()) {
        if (!found->second->pending.empty()) objects.gone_streams.push_back(found->second);
        objects.streams.erase(found);
      }
      return;
    case entry_index<&Table::event_create>:
    case entry_index<&Table::event_import>:
    case entry_index<&Table::event_from_native>:
      if (record.status == ANYPLACE_STATUS_OK) {
        objects.events[values[record.value_count - 1u]] = {static_cast<std::int32_t>(values[0]), 0};
      }
      return;
    case entry_index<&Table::event_destroy>:
      objects.events.erase(values[0]);
      return;
    case entry_index<&Table::module_kernel>:
      if (record.status == ANYPLACE_STATUS_OK && record.text != nullptr) objects.kernels[values[1]] = *record.text;
      return;
    case entry_index<&Table::kernel_from_host>:
      if (record.status == ANYPLACE_STATUS_OK) {
        objects.kernels[values[1]] = "host kernel " + std::to_string(++objects.host_kernels);
      }
      return;
    case entry_index<&Table::kernel_destroy>:
      objects.kernels.erase(values[0]);
      return;
    default:
      return;
  }
}

void Timeline::follow_memory(BackendObjects& objects, const Record& record) {
  const auto& values = record.values;
  const auto device = static_cast<std::int32_t>(values[0]);
  const auto add = [&](auto& map, auto key, const Allocation& allocation) {
    map[key] = allocation;
    count(*record.backend, allocation, true, record.end_ns);
  };
  const auto remove = [&](auto& map, auto key) {
    const auto found = map.find(key);
    if (found == map.end()) return;
    count(*record.backend, found->second, false, record.begin_ns);
    map.erase(found);
  };
  const auto device_of_stream = [&] {
    const auto stream = objects.stream(values[0]);
    return stream == nullptr ? -1 : stream->device;
  };
  switch (record.entry) {
    case entry_index<&Table::memory_allocate>:
      return add(objects.allocations, std::tuple(device, values[3]), {device, values[1], values[2]});
    case entry_index<&Table::memory_free>:
      return remove(objects.allocations, std::tuple(device, values[2]));
    case entry_index<&Table::memory_allocate_async>:
      if (const std::int32_t of = device_of_stream(); of >= 0) {
        add(objects.allocations, std::tuple(of, values[2]), {of, ANYPLACE_MEMORY_DEVICE, values[1]});
      }
      return;
    case entry_index<&Table::memory_free_async>:
      return remove(objects.allocations, std::tuple(device_of_stream(), values[1]));
    case entry_index<&Table::physical_create>:
      return add(objects.physicals, values[2], {device, ANYPLACE_MEMORY_DEVICE, values[1]});
    case entry_index<&Table::physical_destroy>:
      return remove(objects.physicals, values[0]);
    default:
      return;
  }
}

}  // namespace anyplace::trace
