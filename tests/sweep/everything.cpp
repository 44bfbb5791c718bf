// SPDX-License-Identifier: Apache-2.0
#include "everything.h"

#include <atomic>
#include <chrono>
#include <exception>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace sweep {
namespace {

using anyplace::Buffer;
using anyplace::Capability;
using anyplace::Device;
using anyplace::ErrorCode;
using anyplace::Event;
using anyplace::Stream;
using std::chrono::hours;
using std::chrono::microseconds;

/// What goes wrong in another way, as for want of memory, passes.
template <class Call>
void expect_error(ErrorCode code, const char* what, Call&& call) {
  try {
    std::forward<Call>(call)();
  } catch (const anyplace::Error& error) {
    if (error.code() == code) return;
    throw;
  }
  throw Wrong(what);
}

void bad_input(const Device& device, const std::string& image) {
  expect_error(ErrorCode::invalid_argument, "a bad place", [] { const Device bad("no:such:place"); });
  expect_error(ErrorCode::no_such_backend, "no backend", [] { const Device bad("nobody:0"); });
  expect_error(ErrorCode::no_such_device, "no device", [&] { const Device bad(device.backend() + ":999"); });
  const Stream stream(device);
  const Buffer buffer(stream, 256);
  expect_error(ErrorCode::invalid_argument, "a range", [&] { static_cast<void>(buffer.sub(200, 100)); });
  expect_error(ErrorCode::out_of_memory, "2^62 bytes", [&] { const Buffer huge(stream, std::uint64_t{1} << 62); });
  const anyplace::Module module = anyplace::Module::from_file(device, image);
  expect_error(ErrorCode::no_such_kernel, "a kernel", [&] { static_cast<void>(module.kernel("none_of_that_name")); });
  expect_error(ErrorCode::invalid_image, "an image",
               [&] { const anyplace::Module bad(device, std::as_bytes(std::span("this is no image"))); });
  const Event event(device);
  expect_error(ErrorCode::timing_disabled, "no timing",
               [&] { static_cast<void>(anyplace::elapsed_time(event, event)); });
}

void lists(const Device& device) {
  expect(anyplace::device_count(device.backend()) >= 2, "two devices");
  expect(anyplace::devices(device.backend()).size() >= 2, "two devices in a list");
  expect(!anyplace::backend_names().empty(), "no names");
  expect(!anyplace::plugin_candidates().empty(), "no plugins");
  expect(!anyplace::plugin_directories().empty(), "no directories");
  expect(anyplace::backend_info(device.backend()).name == device.backend(), "another backend's name");
  static_cast<void>(anyplace::plugin_directory_problems());
  static_cast<void>(anyplace::current_device(device.backend()));
}

/// Lets a stream go on at its end, so that nothing is left blocked when something fails on the way.
struct Gate {
  std::shared_ptr<std::promise<void>> opened = std::make_shared<std::promise<void>>();

  Gate() = default;
  Gate(const Gate&) = delete;  // opened once
  Gate& operator=(const Gate&) = delete;
  ~Gate() { opened->set_value(); }

  void block(const Stream& stream) const {
    stream.launch_host_func([opened = opened] { opened->get_future().wait(); });
  }
};

void host_functions(const Device& device) {
  if (!device.has(Capability::host_functions)) return;
  const Stream stream(device);
  struct Owned {
    Stream stream;
    Event event;
    Buffer buffer;
    anyplace::HostBuffer host;
    anyplace::MemoryPool pool;
  };
  // What it owns is destroyed where nothing may wait: on the thread of the host function.
  auto owned = std::make_shared<Owned>();
  owned->stream = Stream(device);
  owned->event = owned->stream.record_event();
  owned->buffer = Buffer(owned->stream, 1 << 20);
  if (device.has(Capability::pinned_memory)) owned->host = anyplace::HostBuffer(device, 1 << 16);
  owned->pool = anyplace::MemoryPool(device);
  stream.launch_host_func([owned = std::move(owned)]() mutable { owned.reset(); });
  stream.synchronize();

  stream.launch_host_func([] { throw std::runtime_error("on purpose"); });
  expect_error(ErrorCode::host_function_failed, "a fault", [&] { stream.synchronize(); });
  stream.synchronize();

  {
    const Gate gate;
    gate.block(stream);
    expect(!stream.synchronize(microseconds(1)), "a stream that is blocked");
    expect(!device.synchronize(microseconds(1)), "a device with a stream that is blocked");
    const Event event = stream.record_event();
    expect(!event.synchronize(microseconds(1)), "an event behind what is blocked");
    expect(!event.query() && !stream.query(), "done while it is blocked");
  }
  {
    // Ends while its work is pending.
    const Stream ends(device);
    const Buffer used(ends, 4096);
    const Gate gate;
    gate.block(ends);
    ends.memset8(used, 1);
  }
  device.synchronize();
}

void host_kernels(const Device& device) {
  if (!device.has(Capability::host_kernels)) return;
  const Stream stream(device);
  const auto sum = std::make_shared<std::atomic<unsigned>>(0);
  const anyplace::Kernel adds(device, [sum](const anyplace::Block&, unsigned value) { *sum += value; });
  const anyplace::Kernel fails(device, [](const anyplace::Block&) { throw std::runtime_error("on purpose"); });
  stream.launch(adds, {64, 1, 128}, 2u);
  stream.synchronize();
  expect(*sum == 128, "blocks that ran");
  stream.launch(fails, {1, 1});
  expect_error(ErrorCode::kernel_failed, "a kernel's fault", [&] { stream.synchronize(); });
  stream.launch(adds, {1, 1}, 1u);
  stream.synchronize();
  expect(*sum == 129, "work behind a fault");
}

/// Graphs that are built and captured, launched on two streams, updated, and let go of while a launch is pending.
void graphs(const Device& device) {
  const Stream stream(device), other(device);
  const Buffer data(stream, 64), side(stream, 64);
  const Event event(device);
  const bool calls = device.has(Capability::host_functions);
  const auto called = std::make_shared<std::atomic<int>>(0);
  stream.synchronize();
  const auto make = [&](std::uint8_t value) {
    anyplace::Graph graph(device);
    const anyplace::GraphNode first = graph.add_memset8({}, data, value);
    const anyplace::GraphNode second = graph.add_memset8({}, side, value);
    anyplace::GraphNode both = graph.add_empty({first, second});
    if (calls) both = graph.add_host_function(both, [called] { ++*called; });
    graph.add_event_record(both, event);
    return graph;
  };
  const anyplace::GraphExec exec = make(1).instantiate();
  exec.launch(stream);
  exec.launch(other);
  exec.update(make(2));
  exec.launch(stream);
  Numbers& numbers = host_numbers();
  const anyplace::HostSpan found(numbers.data(), 64);
  stream.copy(found, data);
  stream.synchronize();
  for (int i = 0; i < 16; ++i) expect(numbers[i] == 0x02020202, "what a graph leaves after an update");
  expect(!calls || *called == 3, "host functions of a graph");
  expect(event.query(), "an event that a graph recorded");

  stream.begin_capture();
  stream.memset8(data, 3);
  other.wait_event(stream.record_event());
  other.memset8(side, 4);
  stream.wait_stream(other);
  stream.copy(data.sub(0, 32), side.sub(0, 32));
  anyplace::GraphExec captured = stream.end_capture().instantiate();
  {
    const Gate gate;
    if (calls) gate.block(stream);
    captured.launch(stream);
    captured = {};
  }
  stream.copy(found, data);
  stream.synchronize();
  expect(numbers[0] == 0x04040404 && numbers[15] == 0x03030303, "what a captured graph leaves");
}

/// Two threads that make, use and end handles at the same time, each with streams of its own.
void threads(const Device& device) {
  const auto work = [device] {
    const anyplace::DeviceGuard guard(device);
    if (device.has(Capability::blocking_streams)) {
      const anyplace::StreamGuard current(device.per_thread_stream());
      const Buffer buffer(device, 4096);
      anyplace::current_stream(device).memset8(buffer, 1);
    }
    const Stream stream(device);
    std::vector<Event> events;
    for (int i = 0; i < 40; ++i) events.push_back(stream.record_event());
    for (const Event& event : events) static_cast<void>(event.query());
    events.clear();
    for (int i = 0; i < 20; ++i) const Buffer buffer(stream, 512u << (i % 8));
    stream.synchronize();
  };
  std::exception_ptr failures[2];  // each its thread's
  std::exception_ptr not_started;
  {
    std::vector<std::thread> running;
    running.reserve(2);
    try {
      for (std::exception_ptr& failure : failures) {
        running.emplace_back([&failure, &work] {
          try {
            work();
          } catch (...) {
            failure = std::current_exception();
          }
        });
      }
    } catch (...) {
      not_started = std::current_exception();
    }
    for (std::thread& thread : running) thread.join();
  }
  if (not_started) std::rethrow_exception(not_started);
  for (const std::exception_ptr& failure : failures) {
    if (failure) std::rethrow_exception(failure);
  }
}

void addresses(const Device& device) {
  const Stream stream(device);
  const Buffer buffer(stream, 4096, {.alignment = 1 << 16});
  const anyplace::Address at = buffer.address();
  expect(anyplace::pointer_attributes(at).kind == anyplace::AddressKind::device, "a buffer's address");
  Numbers &first = host_numbers(), &second = host_numbers(7);
  const std::uint64_t pattern[] = {1, 2};
  stream.fill(at, pattern, sizeof(pattern), 4096);
  stream.fill_2d(at, 64, pattern, sizeof(pattern), 32, 64);
  stream.copy(anyplace::Address(first.data()), at, 4096);
  stream.copy_2d(anyplace::Address(first.data()), 64, at, 64, 32, 64);
  stream.copy(second, first);
  stream.fill(anyplace::Address(first.data()), pattern, 4, 64);
  stream.synchronize();
  expect(second[0] == 1 && second[2] == 2 && first[3] == 1, "what was filled and copied by address");
}

void facts(const Device& device, const std::string& image) {
  const Stream stream(device);
  if (device.has(Capability::timed_events)) {
    const Event event = stream.record_event({.timing = true});
    event.synchronize();
    expect(event.timestamp_ns() != 0 && device.clock().host_ns != 0, "clocks");
    if (device.has(Capability::event_from_native) && device.has(Capability::native_handles)) {
      const Event wrapped = Event::from_native(device, event.native_handle(), {.timing = true});
      expect(wrapped.query(), "a wrapped event");
    }
  }
  const anyplace::Module module = anyplace::Module::from_file(device, image);
  const anyplace::KernelView kernel = module.kernel("fill");
  expect(kernel.attributes().max_threads_per_block != 0, "a kernel's attributes");
  const auto ask = [](auto&& call) {
    try {
      call();
    } catch (const anyplace::Error& error) {
      if (error.code() != ErrorCode::unsupported) throw;
    }
  };
  ask([&] { expect(kernel.max_active_blocks(32) != 0, "blocks"); });
  ask([&] { expect(kernel.native_handle() != 0 && module.native_handle() != 0, "native handles"); });
  ask([&] { expect(module.global("numbers").size_bytes == 16, "a variable"); });
}

void books(const Device& device) {
  const Stream stream(device);
  anyplace::record_memory_history(device);
  {
    anyplace::MemoryPool pool(device, {.limit_bytes = 64 << 20});
    const anyplace::MemoryPoolGuard guard(pool);
    const Buffer in_pool(stream, 3 << 20), small(stream, 1000);
    stream.memset8(in_pool.sub(0, 1000), 1);
    expect(pool.allocated_bytes() >= 3 << 20, "what is in a pool");
    stream.synchronize();
    pool.release_free();
  }
  {
    int calls = 0;
    const anyplace::PressureRegistration registration(device, [&calls](const Device&, std::uint64_t) {
      ++calls;
      return false;
    });
    expect_error(ErrorCode::out_of_memory, "2^50 bytes", [&] { const Buffer huge(stream, std::uint64_t{1} << 50); });
  }
  expect(anyplace::memory_stats(device).size() >= 100, "statistics");
  expect(!anyplace::memory_summary(device).empty(), "a summary");
  expect(!anyplace::memory_snapshot(device, anyplace::SnapshotFormat::pickle).empty(), "a snapshot");
  expect(!anyplace::memory_snapshot(device, anyplace::SnapshotFormat::json).empty(), "a snapshot in JSON");
  anyplace::record_memory_history(device, {.enabled = false});
  static_cast<void>(anyplace::host_memory_stats(device));
  static_cast<void>(anyplace::list_processes(device));
  if (device.has(anyplace::Capability::monitoring)) {
    const anyplace::DeviceSample before = anyplace::sample(device);
    expect(anyplace::sample(device, before).rates_window.has_value(), "two samples");
    expect(!anyplace::monitoring_source(device).empty(), "where a sample comes from");
  }
  static_cast<void>(anyplace::allocator_config(device).to_string());
  struct Restored {
    const Device& device;
    std::shared_ptr<anyplace::Allocator> before;
    ~Restored() { anyplace::set_allocator(device, before); }
  };
  const auto tracking = std::make_shared<anyplace::TrackingAllocator>(anyplace::caching_allocator(device));
  const Restored restored{device, anyplace::set_allocator(device, tracking)};
  {
    const Buffer tracked(stream, 5000);
    expect(tracking->outstanding_allocations() == 1 && !tracking->report().empty(), "what is tracked");
  }
  stream.synchronize();
  anyplace::empty_cache(device);
}

/// Between backends without gates and without host functions: what is held back, and what is asked for again and again.
void across(const Device& device, const std::string& other) {
  const Device simple(other);
  const Stream here(device), there(simple);
  const Buffer a(here, count * 4), b(there, count * 4);
  Numbers& back = host_numbers();
  {
    const Gate gate;
    gate.block(here);
    here.memset32(a, 11);
    there.wait_stream(here);
    there.memset32(b, 12);  // no copy: without pinned memory it would wait here for what the gate holds back
    const Event held = there.record_event();
    expect(!held.query(), "a record that is held back");
    here.wait_event(held);
    expect(!there.synchronize(microseconds(1)), "a stream that is held back");
  }
  there.copy(back, b);
  there.synchronize();
  expect_all(back, 12, "work that was held back");
  there.copy(b, a);
  a.record_stream(there);
  there.copy(back, b);
  there.synchronize();
  here.synchronize();
  expect_all(back, 11, "work that others waited for");
  simple.synchronize();
}

/// A capture over two streams with a buffer of its own, launched, updated, and launched on another stream; and a graph
/// that is built, with a graph in it. A call that fails leaves no capture behind.
void captures(const Device& device) {
  const Stream stream(device), branch(device);
  const Buffer a(stream, count * 4), b(stream, count * 4);
  Numbers& back = host_numbers();
  const auto captured = [&](std::uint32_t value) {
    stream.begin_capture(anyplace::CaptureMode::relaxed);
    try {
      const Buffer inside(stream, count * 4);
      stream.memset32(inside, value);
      branch.wait_stream(stream);
      branch.copy(b, inside);
      stream.memset32(a, value + 1);
      stream.wait_event(branch.record_event());
    } catch (...) {
      try {
        static_cast<void>(stream.end_capture());
      } catch (const anyplace::Error&) {
      } catch (const std::bad_alloc&) {
      }
      expect(!stream.is_capturing() && !branch.is_capturing(), "a capture that has ended");
      throw;
    }
    return stream.end_capture();
  };
  anyplace::GraphExec exec = captured(20).instantiate();
  exec.launch(stream);
  stream.copy(back, b);
  stream.synchronize();
  expect_all(back, 20, "a graph's work");
  exec.update(captured(30));
  exec.launch(branch);
  branch.copy(back, a);
  branch.synchronize();
  expect_all(back, 31, "an updated graph's work");

  const auto calls = std::make_shared<std::atomic<int>>(0);
  const Event event(device);
  anyplace::Graph child(device);
  child.add_memset32(child.add_event_record({}, event), b, 40);
  anyplace::Graph graph(device);
  const anyplace::GraphNode first = graph.add_child_graph({}, child);
  anyplace::GraphNode second = graph.add_event_wait({}, event);
  if (device.has(Capability::host_functions)) second = graph.add_host_function(second, [calls] { ++*calls; });
  const anyplace::GraphNode copied = graph.add_copy({first, second}, a, b);
  const std::size_t size = graph.size();
  try {
    graph.add_memset32(copied, a.sub(0, 4), 40);
  } catch (...) {
    expect(graph.size() == size, "no node of a call that failed");
    throw;
  }
  expect(graph.nodes().size() == size + 1 && !graph.to_dot().empty(), "a graph's nodes");
  exec = graph.instantiate();
  exec.launch(stream);
  exec.launch(branch);
  branch.copy(back, a);
  branch.synchronize();
  stream.synchronize();
  expect_all(back, 40, "a built graph's work");
  expect(!device.has(Capability::host_functions) || *calls == 2, "a graph's host function");
}

template <void (*step)(const Device&)>
void on_device(const Places& places) {
  step(Device(places.place));
}

constexpr Part all_parts[] = {
    {"first_use", load},
    {"submissions", [](const Places& places) { run_submissions(places.place, places.image); }},
    {"two_places", [](const Places& places) { run_two_places(places.place, places.other); }},
    {"memory", [](const Places& places) { run_memory(places.place); }},
    {"lists", on_device<lists>},
    {"bad_input", [](const Places& places) { bad_input(Device(places.place), places.image); }},
    {"host_functions", on_device<host_functions>},
    {"host_kernels", on_device<host_kernels>},
    {"graphs", on_device<graphs>},
    {"threads", on_device<threads>},
    {"addresses", on_device<addresses>},
    {"facts", [](const Places& places) { facts(Device(places.place), places.image); }},
    {"books", on_device<books>},
    {"across", [](const Places& places) { across(Device(places.place), places.simple); }},
    {"captures", on_device<captures>},
};

}  // namespace

std::span<const Part> parts() { return all_parts; }

void load(const Places& places) {
  for (const std::string& name : {places.place, places.other, places.simple}) {
    const Device device(name);
    const Stream stream(device);
    stream.synchronize();
  }
}

}  // namespace sweep
