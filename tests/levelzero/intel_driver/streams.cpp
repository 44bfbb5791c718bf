// SPDX-License-Identifier: Apache-2.0
//
// Devices, streams and events: what can be said and submitted without anything being done.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <set>
#include <thread>
#include <vector>

#include "steps.h"

namespace intel_driver {
namespace {

using anyplace::Buffer;
using anyplace::Capability;
using anyplace::Device;
using anyplace::Event;
using anyplace::EventOptions;
using anyplace::Stream;
using anyplace::StreamOptions;
using namespace std::chrono_literals;

/// Work that is never done.
void submit(const Stream& stream, const Buffer& buffer) { stream.memset8(buffer, 7); }

std::string properties_of(const Device& device) {
  const anyplace::DeviceProperties properties = device.properties();
  expect(properties.vendor == "Intel", "the vendor is Intel");
  expect(!properties.name.empty() && !properties.uuid.empty(), "it has a name and a uuid");
  expect(std::count(properties.architecture.begin(), properties.architecture.end(), '.') == 2,
         "the architecture has three parts: " + properties.architecture);
  expect(properties.driver_version.find("(API ") != std::string::npos, "the driver's version names the API's");
  expect(properties.total_memory.value_or(0) > 0, "it has memory");
  expect(properties.compute_units > 0 && properties.max_shared_bytes > 0, "it has units and shared memory");
  expect(properties.max_threads_per_block >= 64, "it takes blocks of 64 threads");
  expect(properties.address_alignment >= 256, "memory is aligned to 256 bytes");
  for (const Capability wanted : {Capability::timed_events, Capability::priorities, Capability::pinned_memory,
                                  Capability::managed_memory, Capability::modules}) {
    expect(device.has(wanted), std::string("it has ") + to_string(wanted));
  }
  expect(device.has(Capability::virtual_memory) == (std::getenv("ANYPLACE_LEVELZERO_VIRTUAL_MEMORY") != nullptr),
         "it has virtual_memory where that is asked for");
  return properties.architecture + ", driver " + properties.driver_version;
}

std::string peers_of(const Machine& machine) {
  const Device &a = machine.devices[0], b = machine.devices[1];
  const bool can = a.can_access_peer(b);
  if (can) {
    a.enable_peer_access(b);
    a.enable_peer_access(b);
  } else {
    expect_error(ErrorCode::unsupported, "zeDeviceCanAccessPeer", [&] { a.enable_peer_access(b); });
  }
  a.disable_peer_access(b);
  return can ? "they reach each other's memory" : "they don't reach each other's memory";
}

std::string all_kinds_of_streams(const Device& device) {
  std::set<std::uint64_t> natives;
  std::vector<Stream> streams;
  for (const int priority : {-1, 0, 1, -100, 100}) {
    for (const bool blocking : {false, true}) {
      streams.emplace_back(device, StreamOptions{priority, blocking});
      expect(streams.back().priority() == std::clamp(priority, -1, 1), "the priority is the nearest that there is");
      natives.insert(streams.back().native_handle());
    }
  }
  natives.insert(device.default_stream().native_handle());
  natives.insert(device.per_thread_stream().native_handle());
  expect(natives.size() == streams.size() + 2, "each has a command list of its own");
  expect(natives.count(0) == 0, "no command list is null");
  for (const Stream& stream : streams) expect(stream.query(), "a stream that got nothing is done");
  return std::to_string(natives.size()) + " lists";
}

std::string work_isn_t_done(const Device& device, bool blocking) {
  const Stream stream(device, {0, blocking});
  const Buffer buffer(stream, 4096);
  submit(stream, buffer);
  expect(!stream.query(), "the stream isn't done");
  const Event event = stream.record_event();
  expect(!event.query(), "the event isn't complete");
  expect(!stream.query(), "the stream isn't done after the record either");
  return "";
}

/// The null stream and blocking streams wait for each other.
std::string null_stream(const Device& device) {
  const Stream blocking(device, {0, true});
  const Buffer buffer(blocking, 4096);
  for (int i = 0; i < 50; ++i) {
    submit(blocking, buffer);
    device.default_stream().memset32(buffer, 1);
    device.per_thread_stream().memset32(buffer, 2);
  }
  expect(!device.default_stream().query(), "the null stream isn't done");
  return "";
}

std::string threads_share_streams(const Device& device) {
  const Stream shared(device);
  const Buffer buffer(shared, 4096);
  const Event event(device);
  std::vector<std::thread> threads;
  std::vector<std::string> failed(4);
  for (std::string& said : failed) {
    threads.emplace_back([&] {
      try {
        const Stream own(device);
        for (int i = 0; i < 100; ++i) {
          submit(shared, buffer);
          event.record(shared);
          own.wait_event(event);
          submit(own, buffer);
          static_cast<void>(own.query());
        }
      } catch (const std::exception& error) {
        said = error.what();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& said : failed) expect(said.empty(), said);
  return "";
}

std::string waits(const Machine& machine) {
  const Stream producer(machine.first()), consumer(machine.devices.back());
  const Buffer buffer(producer, 4096), other(consumer, 4096);
  const Event event(machine.first()), never(machine.first());
  consumer.wait_event(never);
  expect(consumer.query(), "an event that was never recorded is no wait");
  for (int i = 0; i < 200; ++i) {
    submit(producer, buffer);
    event.record(producer);
    consumer.wait_event(event);
  }
  consumer.wait_stream(producer);
  submit(consumer, other);
  expect(!consumer.query(), "what waits isn't done");
  return machine.devices.size() > 1 ? "between two devices" : "on one device";
}

std::string host_functions(const Device& device) {
  const Stream stream(device);
  const Buffer buffer(stream, 4096);
  submit(stream, buffer);
  for (int i = 0; i < 10; ++i) {
    stream.launch_host_func([] {});
    submit(stream, buffer);
  }
  expect(!stream.query(), "host functions wait for what is before them");
  return "";
}

/// Another backend's event opens what waits here.
std::string waits_between_backends(const Device& device) {
  const Device simulator("cpu_sim:0");
  const Stream there(simulator), here(device);
  const Buffer source(there, 4096), buffer(here, 4096);
  there.memset8(source, 1);
  here.wait_stream(there);
  submit(here, buffer);
  there.synchronize();
  expect(!here.query(), "the work that waited isn't done");
  return "";
}

std::string kinds_of_events(const Device& device) {
  for (const EventOptions options : {EventOptions{}, EventOptions{true, false, false}, EventOptions{false, true, false},
                                     EventOptions{true, true, false}}) {
    const Event event(device, options);
    expect(event.query(), "an event that was never recorded is complete");
    event.synchronize();
    const Stream stream(device);
    const Buffer buffer(stream, 64);
    submit(stream, buffer);
    event.record(stream);
    expect(!event.query(), "a recorded event isn't complete");
    expect(event.native_handle() != 0, "it has a ze_event");
  }
  expect(!Event(device, EventOptions{false, false, true}).export_handle().empty(),
         "an interprocess event has a handle");
  expect_error(ErrorCode::invalid_argument, "timing", [&] { Event(device, EventOptions{true, false, true}); });
  return "";
}

std::string pools_grow(const Device& device) {
  const Stream stream(device), other(device);
  const Buffer buffer(stream, 64);
  std::vector<Event> events;
  for (int i = 0; i < 1500; ++i) {
    events.emplace_back(device, EventOptions{i % 2 == 0, false, false});
    submit(stream, buffer);
    events.back().record(stream);
    events.back().record(stream);
    if (i % 10 == 0) other.wait_event(events.back());
  }
  expect(!events.front().query() && !events.back().query(), "none is complete");
  return "1500 events, each recorded twice";
}

std::string elapsed(const Device& device) {
  const Stream stream(device);
  const Buffer buffer(stream, 64);
  const Event plain(device), start(device, {true, false, false}), end(device, {true, false, false});
  expect_error(ErrorCode::not_recorded, "", [&] { static_cast<void>(anyplace::elapsed_time(start, end)); });
  start.record(stream);
  submit(stream, buffer);
  end.record(stream);
  plain.record(stream);
  expect_error(ErrorCode::not_ready, "", [&] { static_cast<void>(anyplace::elapsed_time(start, end)); });
  expect_error(ErrorCode::timing_disabled, "", [&] { static_cast<void>(anyplace::elapsed_time(plain, end)); });
  return "";
}

/// This driver calls every wait over when it runs without a device (its queries don't), so time never runs out.
std::string timed_waits(const Device& device) {
  const Stream stream(device);
  const Buffer buffer(stream, 4096);
  submit(stream, buffer);
  const Event event = stream.record_event();
  const bool event_done = event.synchronize(20ms), stream_done = stream.synchronize(20ms);
  const bool device_done = device.synchronize(20ms);
  const auto said = [](bool done) { return done ? "over" : "time ran out"; };
  return std::string("event ") + said(event_done) + ", stream " + said(stream_done) + ", device " + said(device_done);
}

}  // namespace

void device_steps(Steps& steps, const Machine& machine) {
  for (const Device& device : machine.devices) {
    steps.run("properties and capabilities", [&] { return properties_of(device); });
    steps.run("native handles", [&] {
      expect(device.native_handle() != 0 && device.native_context() != 0, "device and context have handles");
      return "";
    });
    steps.run("memory_info knows the total and says that it doesn't know what is free", [&] {
      expect(device.memory_info().total.has_value() && !device.memory_info().free.has_value(), "total without free");
      return "";
    });
  }
  steps.run("synchronising a device that got nothing", [&] {
    machine.first().synchronize();
    expect(machine.first().synchronize(0ns), "it is done at once");
    return "";
  });
  if (machine.devices.size() > 1) steps.run("peer access", [&] { return peers_of(machine); });
}

void stream_steps(Steps& steps, const Machine& machine) {
  for (const Device& device : machine.devices) {
    steps.run("streams of each priority, blocking or not", [&] { return all_kinds_of_streams(device); });
    steps.run("submitted work isn't done", [&] { return work_isn_t_done(device, false); });
    steps.run("submitted work isn't done: a blocking stream", [&] { return work_isn_t_done(device, true); });
    steps.run("the null stream, the thread's own and a blocking one take turns", [&] { return null_stream(device); });
    steps.run("four threads on one stream", [&] { return threads_share_streams(device); });
    steps.run("host functions are submitted", [&] { return host_functions(device); });
    steps.run("a wait for another backend", [&] { return waits_between_backends(device); });
  }
}

void event_steps(Steps& steps, const Machine& machine) {
  for (const Device& device : machine.devices) {
    steps.run("events of all kinds", [&] { return kinds_of_events(device); });
    steps.run("event pools grow", [&] { return pools_grow(device); });
    steps.run("elapsed_time: not recorded, not ready, no timing", [&] { return elapsed(device); });
    steps.run("waits with a time limit return", [&] { return timed_waits(device); });
  }
  steps.run("waits between streams", [&] { return waits(machine); });
}

void ending_steps(Steps& steps, const Machine& machine) {
  steps.run("the process ends with work pending everywhere", [&] {
    // Never destroyed: what is left at exit.
    static std::vector<Stream> streams;
    static std::vector<Event> events;
    static std::vector<Buffer> buffers;
    for (const Device& device : machine.devices) {
      for (int i = 0; i < 4; ++i) {
        streams.emplace_back(device);
        buffers.emplace_back(streams.back(), 4096);
        submit(streams.back(), buffers.back());
        events.push_back(streams.back().record_event({true, false, false}));
        streams.back().launch_host_func([] {});
        submit(streams.back(), buffers.back());
      }
    }
    return std::to_string(streams.size()) + " streams";
  });
}

}  // namespace intel_driver
