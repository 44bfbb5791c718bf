// SPDX-License-Identifier: Apache-2.0
//
// The objects of a round while it runs, by number. An operation that uses one comes after the one that made it, in its
// own thread or behind the other's count (Step::behind), which is what orders the accesses to these arrays.
#pragma once

#include <anyplace/anyplace.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model.h"

namespace stress {

/// Host memory of one of the three kinds, cleared.
struct HostArray {
  HostArray(const anyplace::Device& device, std::size_t bytes, Number kind);
  std::uint8_t* data = nullptr;
  std::vector<std::uint8_t> own;
  anyplace::HostBuffer buffer;
  anyplace::HostRegistration registration;
};

struct World {
  World(const Plan& plan, const std::vector<Traits>& traits);

  void track();
  anyplace::Module load(const anyplace::Device& device) const;
  /// Of a stream that was there from the start, or was made.
  Number device_of(Number stream) const;
  /// Everything but buffers and host memory, whatever is pending.
  void end_handles();
  void end_memory();
  /// Nothing is left: the books say so.
  void check_books() const;

  const Round& round;
  const Plan& plan;
  const std::vector<Traits>& traits;
  std::vector<anyplace::Device> devices;
  std::vector<std::shared_ptr<anyplace::TrackingAllocator>> tracking;  ///< of each device, or none
  std::vector<anyplace::Stream> streams;
  std::vector<anyplace::StreamView> stream_views;  ///< kept when they are dead
  std::vector<Number> stream_devices;
  std::vector<anyplace::Event> events;
  std::vector<anyplace::EventView> event_views;
  std::vector<anyplace::Buffer> buffers;
  std::vector<anyplace::BufferView> buffer_views;
  std::vector<std::unique_ptr<HostArray>> hosts;
  std::vector<anyplace::MemoryPool> pools;
  std::vector<anyplace::Module> modules;
  std::unique_ptr<std::atomic<std::uint32_t>[]> progress;  ///< of each thread: operations that are over
};

/// What one thread does.
class Worker {
 public:
  Worker(World& world, std::uint32_t thread) : world_(world), thread_(thread) {}
  void run_all();

 private:
  std::string describe(const Step& step) const;
  anyplace::StreamView stream(Number id);
  void run(const Step& step, const Operation& operation);
  void run_stream(const Step& step, const Operation& operation);
  void synchronize(const Step& step, const Operation& operation);
  void run_event(const Step& step, const Operation& operation);
  void make_buffer(const Operation& operation);
  void run_memory(const Operation& operation);
  void run_host(const Step& step, const Operation& operation);
  void run_copy(const Operation& operation);
  void run_call(const Step& step, const Operation& operation);
  void run_stale(const Operation& operation);

  World& world_;
  std::uint32_t thread_;
};

}  // namespace stress
