// SPDX-License-Identifier: Apache-2.0
#include "world.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>

#include "executor.h"
#include "stress_kernels.h"

namespace stress {
namespace {

World* current = nullptr;  // what tell_progress tells of

Number largest(const Round& round, Number Operation::*member) {
  Number largest = round.first_made_stream();
  for (const Operation& operation : round.operations) largest = std::max(largest, operation.*member);
  return largest;
}

}  // namespace

HostArray::HostArray(const anyplace::Device& device, std::size_t bytes, Number kind) {
  if (kind == pinned) {
    buffer = anyplace::HostBuffer(device, bytes);
    data = reinterpret_cast<std::uint8_t*>(buffer.data());
    std::fill_n(data, bytes, std::uint8_t{0});
    return;
  }
  own.resize(bytes);
  data = own.data();
  if (kind == registered) registration = anyplace::HostRegistration(device, own);
}

World::World(const Plan& of, const std::vector<Traits>& their)
    : round(of.round),
      plan(of),
      traits(their),
      streams(static_cast<std::size_t>(largest(round, &Operation::stream) + 1)),
      stream_views(streams.size()),
      stream_devices(streams.size()),
      events(static_cast<std::size_t>(largest(round, &Operation::event) + 1)),
      event_views(events.size()),
      buffers(static_cast<std::size_t>(largest(round, &Operation::buffer) + 1)),
      buffer_views(buffers.size()),
      hosts(static_cast<std::size_t>(largest(round, &Operation::host) + 1)),
      pools(static_cast<std::size_t>(largest(round, &Operation::pool) + 1)),
      modules(static_cast<std::size_t>(largest(round, &Operation::module) + 1)),
      progress(std::make_unique<std::atomic<std::uint32_t>[]>(round.threads)) {
  for (const std::string& place : round.places) devices.emplace_back(place);
  if (std::getenv("STRESS_TRACKING") != nullptr) track();
  for (Number stream = 0; stream < round.first_made_stream(); ++stream) {
    stream_devices[static_cast<std::size_t>(stream)] = stream % round.devices();
  }
  for (const Operation& operation : round.operations) {
    if (operation.kind == Kind::make_stream)
      stream_devices[static_cast<std::size_t>(operation.stream)] = operation.device;
  }
}

/// Buffers get their memory through the allocators' public interface, by address.
void World::track() {
  for (const anyplace::Device& device : devices) {
    tracking.push_back(std::make_shared<anyplace::TrackingAllocator>(anyplace::current_allocator(device)));
    anyplace::set_allocator(device, tracking.back());
  }
}

Number World::device_of(Number stream) const { return stream_devices[static_cast<std::size_t>(stream)]; }

anyplace::Module World::load(const anyplace::Device& device) const { return anyplace::Module(device, stress_kernels); }

void World::end_handles() {
  for (anyplace::MemoryPool& pool : pools) pool = {};
  for (anyplace::Stream& stream : streams) stream = {};
  for (anyplace::Event& event : events) event = {};
  for (anyplace::Module& module : modules) module = {};
}

void World::end_memory() {
  for (anyplace::Buffer& buffer : buffers) buffer = {};
  hosts.clear();
}

void World::check_books() const {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  for (std::size_t i = 0; i < tracking.size(); ++i) {
    while (tracking[i]->outstanding_allocations() != 0) {
      if (std::chrono::steady_clock::now() > deadline) found("books", "not taken back: " + tracking[i]->report());
      // What a host function destroyed, and other streams used, goes back when somebody looks again.
      static_cast<void>(devices[i].synchronize(std::chrono::seconds(20)));
      std::this_thread::yield();
    }
  }
  for (const anyplace::Device& device : devices) {
    anyplace::set_allocator(device, nullptr);
    if (!anyplace::allocator_config(device).caching) continue;
    anyplace::empty_cache(device);
    // What a host function destroyed may come a little later.
    for (const char* const name : {"requested_bytes.all.current", "allocated_bytes.all.current",
                                   "allocation.all.current", "reserved_bytes.all.current"}) {
      while (true) {
        const std::int64_t value = anyplace::memory_stats(device).at(name);
        if (value == 0) break;
        if (std::chrono::steady_clock::now() > deadline) {
          found("books", device.to_string() + ": " + name + " is " + std::to_string(value) + " in the end");
        }
        anyplace::empty_cache(device);
        std::this_thread::yield();
      }
    }
    // Freeing a buffer may be work of a stream, for which the stream that used pinned memory has to wait.
    while (true) {
      const anyplace::HostMemoryStats pinned = anyplace::host_memory_stats(device);
      if (pinned.allocations == 0 && pinned.reserved_bytes == 0) break;
      if (std::chrono::steady_clock::now() > deadline) {
        found("books", device.to_string() + ": of pinned memory there are " + std::to_string(pinned.allocations) +
                           " allocations, " + std::to_string(pinned.reserved_bytes) + " bytes of the device and " +
                           std::to_string(pinned.pending_bytes) + " bytes waiting for work in the end");
      }
      std::this_thread::yield();
      anyplace::empty_cache(device);
    }
  }
}

std::string Worker::describe(const Step& step) const {
  return "operation " + std::to_string(step.number) + " (" + to_text(world_.round.operations[step.number]) + ")";
}

void Worker::run_all() {
  std::uint32_t over = 0;
  for (const Step& step : world_.plan.threads[thread_]) {
    for (const auto& [thread, count] : step.behind) {
      for (std::uint32_t seen = world_.progress[thread].load(); seen < count; seen = world_.progress[thread].load()) {
        world_.progress[thread].wait(seen);
      }
    }
    try {
      run(step, world_.round.operations[step.number]);
    } catch (const std::exception& exception) {
      found("error", describe(step) + ": " + exception.what());
    }
    world_.progress[thread_].store(++over);
    world_.progress[thread_].notify_all();
  }
}

std::vector<Traits> ask_traits(const std::vector<std::string>& places) {
  using anyplace::Capability;
  std::vector<Traits> all;
  for (const std::string& place : places) {
    const anyplace::Device device(place);
    Traits traits;
    traits.backend = device.backend();
    traits.blocking_streams = device.has(Capability::blocking_streams);
    traits.managed = device.has(Capability::managed_memory);
    traits.pinned = device.has(Capability::pinned_memory);
    traits.host_register = device.has(Capability::host_register);
    traits.host_functions = device.has(Capability::host_functions);
    traits.timed_events = device.has(Capability::timed_events);
    traits.modules = device.has(Capability::modules);
    traits.host_kernels = device.has(Capability::host_kernels);
    traits.least_priority = device.priority_range().least;
    traits.greatest_priority = device.priority_range().greatest;
    traits.memory = device.properties().total_memory.value_or(0);
    all.push_back(traits);
  }
  return all;
}

void execute(const Plan& plan, const std::vector<Traits>& traits) {
  anyplace::set_error_handler([&plan](const anyplace::Error& error) {
    if (plan.fault_left && error.code() == anyplace::ErrorCode::host_function_failed) return;
    // What is left at exit is leaked, and may be said; so is work that a machine with much else to do didn't get done.
    const bool at_exit = std::string_view(error.operation()) == "exit";
    if (at_exit && error.code() == anyplace::ErrorCode::timeout) {
      static_cast<void>(!::write(2, late_exit_line.data(), late_exit_line.size()));
      return;
    }
    if (at_exit && plan.round.ending == Ending::abrupt) return;
    found("handler", error.what());
  });
  // What an abrupt end leaves stays reachable, and is never destroyed.
  static World* const world = new World(plan, traits);
  current = world;
  try {
    std::vector<std::thread> threads;
    for (std::uint32_t thread = 0; thread < plan.round.threads; ++thread) {
      threads.emplace_back([thread] { Worker(*world, thread).run_all(); });
    }
    for (std::thread& thread : threads) thread.join();
    current = nullptr;
    if (plan.round.ending == Ending::abrupt) return;
    if (plan.round.ending == Ending::busy) world->end_handles();
    for (const anyplace::Device& device : world->devices) device.synchronize();
    if (plan.round.ending == Ending::orderly) world->end_handles();
    world->end_memory();
    world->check_books();
    delete world;
  } catch (const std::exception& exception) {
    found("error", std::string("at the end: ") + exception.what());
  }
}

void tell_progress() noexcept {
  if (current == nullptr) return;
  for (std::uint32_t thread = 0; thread < current->round.threads; ++thread) {
    const auto& steps = current->plan.threads[thread];
    const std::uint32_t over = current->progress[thread].load();
    char text[96];
    const int length =
        over >= steps.size()
            ? std::snprintf(text, sizeof(text), "thread %u is at its end\n", thread)
            : std::snprintf(text, sizeof(text), "thread %u is at operation %zu (%s)\n", thread, steps[over].number,
                            name_of(current->round.operations[steps[over].number].kind));
    static_cast<void>(!::write(2, text, static_cast<std::size_t>(length)));
  }
}

}  // namespace stress
