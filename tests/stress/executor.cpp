// SPDX-License-Identifier: Apache-2.0
#include "executor.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "world.h"

namespace stress {

void found(const char* kind, const std::string& text) {
  const std::string line = std::string("FINDING ") + kind + ": " + text + "\n";
  static_cast<void>(!::write(2, line.data(), line.size()));
  std::_Exit(found_status);
}

namespace {

using anyplace::Buffer;
using anyplace::BufferView;
using anyplace::Capability;
using anyplace::ConstHostSpan;
using anyplace::Device;
using anyplace::Error;
using anyplace::ErrorCode;
using anyplace::Event;
using anyplace::HostSpan;
using anyplace::StreamView;

constexpr std::chrono::hours a_long_time{1};
constexpr std::uint32_t block_threads = 64;

std::size_t index(Number id) { return static_cast<std::size_t>(id); }

void compare(const std::uint8_t* data, const std::vector<std::uint8_t>& expected, const std::string& what) {
  if (std::memcmp(data, expected.data(), expected.size()) == 0) return;
  std::size_t first = expected.size(), count = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    if (data[i] == expected[i]) continue;
    first = std::min(first, i);
    ++count;
  }
  char text[160];
  std::snprintf(text, sizeof(text), ": %zu of %zu bytes are wrong; byte %zu is 0x%02x, and should be 0x%02x", count,
                expected.size(), first, data[first], expected[first]);
  found("bytes", what + text);
}

/// `call` must say that the handle is dead.
template <class Call>
void must_be_invalid(const char* what, Call call) {
  try {
    call();
  } catch (const Error& error) {
    if (error.code() == ErrorCode::invalid_handle) return;
    throw;
  }
  found("stale", std::string(what) + " of a destroyed handle gave no error");
}

anyplace::EventOptions event_options(Number option) {
  return {.timing = option == timed, .blocking_sync = option == blocking_sync};
}

void mix_block(const anyplace::Block& block, std::uint32_t* to, const std::uint32_t* from, std::uint32_t count,
               std::uint32_t by, std::uint32_t times) {
  block.for_each_thread([&](const anyplace::Thread& thread) {
    if (thread.global[0] >= count) return;
    std::uint32_t value = to[thread.global[0]];
    for (std::uint32_t time = 0; time < times; ++time) value = value * 1664525u + by + from[thread.global[0]];
    to[thread.global[0]] = value;
  });
}

}  // namespace

// -- One operation.

void Worker::run(const Step& step, const Operation& operation) {
  switch (operation.kind) {
    case Kind::follow:
      return;
    case Kind::make_stream:
    case Kind::end_stream:
    case Kind::wait_stream:
    case Kind::sync_stream:
    case Kind::try_stream:
    case Kind::query_stream:
    case Kind::sync_device:
    case Kind::try_device:
      return run_stream(step, operation);
    case Kind::make_event:
    case Kind::end_event:
    case Kind::record:
    case Kind::record_new:
    case Kind::wait_event:
    case Kind::sync_event:
    case Kind::try_event:
    case Kind::query_event:
    case Kind::elapsed:
      return run_event(step, operation);
    case Kind::make_buffer:
    case Kind::end_buffer:
    case Kind::record_stream:
    case Kind::make_pool:
    case Kind::end_pool:
    case Kind::release_pool:
    case Kind::empty_cache:
    case Kind::out_of_memory:
    case Kind::read_books:
    case Kind::peer_access:
    case Kind::make_module:
    case Kind::end_module:
      return run_memory(operation);
    case Kind::make_host:
    case Kind::end_host:
    case Kind::write_host:
    case Kind::check_host:
    case Kind::write_managed:
    case Kind::check_managed:
      return run_host(step, operation);
    case Kind::fill:
    case Kind::upload:
    case Kind::download:
    case Kind::copy:
    case Kind::upload_2d:
    case Kind::download_2d:
    case Kind::copy_2d:
    case Kind::mix:
      return run_copy(operation);
    case Kind::call_write:
    case Kind::call_check:
    case Kind::call_delay:
    case Kind::call_throw:
    case Kind::end_buffer_in_call:
    case Kind::end_event_in_call:
    case Kind::end_stream_in_call:
      return run_call(step, operation);
    case Kind::stale_stream:
    case Kind::stale_event:
    case Kind::stale_buffer:
      return run_stale(operation);
  }
}

StreamView Worker::stream(Number id) {
  if (id < world_.round.devices()) return world_.devices[index(id)].default_stream();
  if (id < world_.round.first_made_stream()) {
    return world_.devices[index(id % world_.round.devices())].per_thread_stream();
  }
  return world_.stream_views[index(id)];
}

void Worker::run_stream(const Step& step, const Operation& operation) {
  const std::chrono::microseconds time(operation.value);
  const Device& device = world_.devices[index(operation.device)];
  switch (operation.kind) {
    case Kind::make_stream: {
      anyplace::Stream made(device,
                            {.priority = static_cast<int>(operation.value), .blocking = operation.option == blocking});
      world_.stream_views[index(operation.stream)] = made.view();
      world_.streams[index(operation.stream)] = std::move(made);
      return;
    }
    case Kind::end_stream:
      world_.streams[index(operation.stream)] = {};
      return;
    case Kind::wait_stream:
      stream(operation.stream).wait_stream(stream(operation.other));
      return;
    case Kind::sync_stream:
      return synchronize(step, operation);
    case Kind::try_stream:
      static_cast<void>(stream(operation.stream).synchronize(time));
      return;
    case Kind::query_stream:
      if (!stream(operation.stream).query() && step.must) found("query", "false for a stream whose work is done");
      return;
    case Kind::sync_device:
      if (operation.option != with_time_limit) return device.synchronize();
      if (!device.synchronize(a_long_time)) found("time-out", "of an hour, at once");
      return;
    default:
      static_cast<void>(device.synchronize(time));
      return;
  }
}

void Worker::synchronize(const Step& step, const Operation& operation) {
  try {
    if (operation.option != with_time_limit) {
      stream(operation.stream).synchronize();
    } else if (!stream(operation.stream).synchronize(a_long_time)) {
      found("time-out", "of an hour, at once");
    }
  } catch (const Error& error) {
    if (step.must && error.code() == ErrorCode::host_function_failed) return;
    throw;
  }
  if (step.must) found("fault", "what a host function threw was not reported");
}

void Worker::run_event(const Step& step, const Operation& operation) {
  Event& event = world_.events[index(operation.event)];
  anyplace::EventView& view = world_.event_views[index(operation.event)];
  switch (operation.kind) {
    case Kind::make_event:
      event = Event(world_.devices[index(operation.device)], event_options(operation.option));
      view = event.view();
      return;
    case Kind::record_new:
      event = stream(operation.stream).record_event(event_options(operation.option));
      view = event.view();
      return;
    case Kind::end_event:
      event = {};
      return;
    case Kind::record:
      event.record(stream(operation.stream));
      return;
    case Kind::wait_event:
      stream(operation.stream).wait_event(event);
      return;
    case Kind::sync_event:
      if (operation.option != with_time_limit) return event.synchronize();
      if (!event.synchronize(a_long_time)) found("time-out", "of an hour, at once");
      return;
    case Kind::try_event:
      static_cast<void>(event.synchronize(std::chrono::microseconds(operation.value)));
      return;
    case Kind::query_event:
      if (!event.query() && step.must) found("query", "false for an event that is complete");
      return;
    default: {
      const double time = anyplace::elapsed_time(event, world_.events[index(operation.other)]);
      if (!std::isfinite(time) || (step.must && time < 0)) found("time", "elapsed_time gave " + std::to_string(time));
      return;
    }
  }
}

void Worker::make_buffer(const Operation& operation) {
  const StreamView on = stream(operation.stream);
  Buffer& buffer = world_.buffers[index(operation.buffer)];
  const auto bytes = static_cast<std::uint64_t>(operation.bytes);
  std::optional<anyplace::MemoryPoolGuard> guard;
  if (operation.pool >= 0) guard.emplace(world_.pools[index(operation.pool)]);
  if (operation.option == ends_pool) world_.pools[index(operation.pool)] = {};
  if (operation.option == on_current) {
    const anyplace::StreamGuard current(on);
    buffer = Buffer(on.device(), bytes);
  } else {
    buffer =
        Buffer(on, bytes, {operation.option == managed ? anyplace::MemoryKind::managed : anyplace::MemoryKind::device});
  }
  world_.buffer_views[index(operation.buffer)] = buffer.view();
  if (buffer.size_bytes() != bytes || buffer.address() % 128 != 0)
    found("buffer", "its size or its alignment is wrong");
}

void Worker::run_memory(const Operation& operation) {
  const Device& device = world_.devices[index(operation.device)];
  switch (operation.kind) {
    case Kind::make_buffer:
      return make_buffer(operation);
    case Kind::end_buffer:
      world_.buffers[index(operation.buffer)] = {};
      return;
    case Kind::record_stream:
      world_.buffers[index(operation.buffer)].record_stream(stream(operation.stream));
      return;
    case Kind::make_pool:
      world_.pools[index(operation.pool)] = anyplace::MemoryPool(device);
      return;
    case Kind::end_pool:
      world_.pools[index(operation.pool)] = {};
      return;
    case Kind::release_pool:
      world_.pools[index(operation.pool)].release_free();
      return;
    case Kind::make_module:
      world_.modules[index(operation.module)] = world_.load(device);
      return;
    case Kind::end_module:
      world_.modules[index(operation.module)] = {};
      return;
    case Kind::empty_cache:
      return anyplace::empty_cache(device);
    case Kind::read_books:
      for (const auto& [name, value] : anyplace::memory_stats(device)) {
        if (value < 0 && name != "max_split_size") found("books", name + " is " + std::to_string(value));
      }
      static_cast<void>(anyplace::host_memory_stats(device));
      static_cast<void>(anyplace::memory_summary(device));
      static_cast<void>(anyplace::memory_snapshot(device, anyplace::SnapshotFormat::json));
      return;
    case Kind::peer_access: {
      const Device& peer = world_.devices[index(operation.other)];
      if (!device.has(Capability::peer_access) || !device.can_access_peer(peer)) return;
      if (operation.option == enable) return device.enable_peer_access(peer);
      return device.disable_peer_access(peer);
    }
    default:
      break;
  }
  try {
    const Buffer too_large(stream(operation.stream), static_cast<std::uint64_t>(operation.bytes));
  } catch (const Error& error) {
    if (error.code() == ErrorCode::out_of_memory && error.memory()) return;
    throw;
  }
  found("out_of_memory", "more memory than the device has was given");
}

void Worker::run_host(const Step& step, const Operation& operation) {
  switch (operation.kind) {
    case Kind::make_host:
      world_.hosts[index(operation.host)] = std::make_unique<HostArray>(world_.devices[index(operation.device)],
                                                                        index(operation.bytes), operation.option);
      return;
    case Kind::end_host:
      world_.hosts[index(operation.host)].reset();
      return;
    default:
      break;
  }
  const bool of_host = operation.kind == Kind::write_host || operation.kind == Kind::check_host;
  std::uint8_t* const data =
      (of_host ? world_.hosts[index(operation.host)]->data
               : static_cast<std::uint8_t*>(world_.buffers[index(operation.buffer)].host_data())) +
      operation.offset;
  if (operation.kind == Kind::check_host || operation.kind == Kind::check_managed) {
    return compare(data, step.expected, describe(step));
  }
  for (Number i = 0; i < operation.bytes; ++i) data[i] = pattern(operation.value, i);
}

void Worker::run_copy(const Operation& operation) {
  const StreamView on = stream(operation.stream);
  const auto bytes = static_cast<std::uint64_t>(operation.bytes), offset = static_cast<std::uint64_t>(operation.offset);
  const auto from_offset = static_cast<std::uint64_t>(operation.from_offset),
             rows = static_cast<std::uint64_t>(operation.rows);
  const auto pitch = static_cast<std::uint64_t>(operation.pitch),
             from_pitch = static_cast<std::uint64_t>(operation.from_pitch);
  const auto span = [&](std::uint64_t line) { return line * (rows - 1) + bytes; };
  const auto to = [&](std::uint64_t size) { return world_.buffers[index(operation.buffer)].sub(offset, size); };
  const auto from = [&](std::uint64_t size) { return world_.buffers[index(operation.from)].sub(from_offset, size); };
  const auto to_host = [&](std::uint64_t size) {
    return HostSpan(world_.hosts[index(operation.host)]->data + offset, size);
  };
  const auto from_host = [&](std::uint64_t size) {
    return ConstHostSpan(world_.hosts[index(operation.host)]->data + from_offset, size);
  };
  switch (operation.kind) {
    case Kind::fill:
      if (operation.option == 1) return on.memset8(to(bytes), static_cast<std::uint8_t>(operation.value));
      if (operation.option == 2) return on.memset16(to(bytes), static_cast<std::uint16_t>(operation.value));
      return on.memset32(to(bytes), static_cast<std::uint32_t>(operation.value));
    case Kind::upload:
      return on.copy(to(bytes), from_host(bytes));
    case Kind::download:
      return on.copy(to_host(bytes), from(bytes));
    case Kind::copy:
      return on.copy(to(bytes), from(bytes));
    case Kind::upload_2d:
      return on.copy_2d(to(span(pitch)), pitch, from_host(span(from_pitch)), from_pitch, bytes, rows);
    case Kind::download_2d:
      return on.copy_2d(to_host(span(pitch)), pitch, from(span(from_pitch)), from_pitch, bytes, rows);
    case Kind::copy_2d:
      return on.copy_2d(to(span(pitch)), pitch, from(span(from_pitch)), from_pitch, bytes, rows);
    default:
      break;
  }
  const auto count = static_cast<std::uint32_t>(bytes / 4), by = static_cast<std::uint32_t>(operation.value);
  const auto times = static_cast<std::uint32_t>(operation.rows);
  const anyplace::Dim3 grid{(count + block_threads - 1) / block_threads};
  if (operation.option == callable) {
    const anyplace::Kernel kernel(world_.devices[index(world_.device_of(operation.stream))], mix_block);
    on.launch(kernel, {grid, block_threads}, to(bytes), from(bytes), count, by, times);
    return;
  }
  on.launch(world_.modules[index(operation.module)].kernel("mix"), {grid, block_threads}, to(bytes), from(bytes), count,
            by, times);
}

void Worker::run_call(const Step& step, const Operation& operation) {
  const StreamView on = stream(operation.stream);
  switch (operation.kind) {
    case Kind::call_delay:
      return on.launch_host_func(
          [time = std::chrono::microseconds(operation.value)] { std::this_thread::sleep_for(time); });
    case Kind::call_throw:
      return on.launch_host_func([] { throw std::runtime_error("thrown on purpose"); });
    case Kind::end_buffer_in_call:
      return on.launch_host_func(
          [own = std::make_shared<Buffer>(std::move(world_.buffers[index(operation.buffer)]))] { *own = {}; });
    case Kind::end_event_in_call:
      return on.launch_host_func(
          [own = std::make_shared<Event>(std::move(world_.events[index(operation.event)]))] { *own = {}; });
    case Kind::end_stream_in_call:
      return on.launch_host_func(
          [own = std::make_shared<anyplace::Stream>(std::move(world_.streams[index(operation.other)]))] { *own = {}; });
    default:
      break;
  }
  std::uint8_t* const data = world_.hosts[index(operation.host)]->data + operation.offset;
  if (operation.kind == Kind::call_check) {
    return on.launch_host_func([data, &step, what = describe(step)] { compare(data, step.expected, what); });
  }
  on.launch_host_func([data, bytes = operation.bytes, value = operation.value] {
    for (Number i = 0; i < bytes; ++i) data[i] = static_cast<std::uint8_t>(data[i] * 5 + pattern(value, i));
  });
}

void Worker::run_stale(const Operation& operation) {
  if (operation.kind == Kind::stale_stream) {
    const StreamView dead = world_.stream_views[index(operation.other)];
    must_be_invalid("StreamView::query", [&] { static_cast<void>(dead.query()); });
    must_be_invalid("StreamView::synchronize", [&] { dead.synchronize(); });
    must_be_invalid("StreamView::record_event", [&] { dead.record_event(); });
  } else if (operation.kind == Kind::stale_event) {
    const anyplace::EventView dead = world_.event_views[index(operation.event)];
    must_be_invalid("EventView::query", [&] { static_cast<void>(dead.query()); });
    must_be_invalid("StreamView::wait_event", [&] { stream(operation.stream).wait_event(dead); });
  } else {
    const BufferView dead = world_.buffer_views[index(operation.buffer)];
    must_be_invalid("BufferView::address", [&] { static_cast<void>(dead.address()); });
    must_be_invalid("StreamView::memset8", [&] { stream(operation.stream).memset8(dead, 1); });
  }
}

}  // namespace stress
