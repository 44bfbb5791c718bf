// SPDX-License-Identifier: Apache-2.0
//
// The Engine has everything that a loaded plugin has: its configuration, its workers, its devices, and the tables that
// no device owns (native handles of streams, owners of addresses).
//
// It is never destroyed, because handles and threads may still use it while the process exits.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "address_space.h"
#include "clock.h"
#include "config.h"
#include "device.h"
#include "kernel.h"
#include "ref.h"
#include "scheduler.h"
#include "shared_memory.h"
#include "stream.h"
#include "stream_pool.h"
#include "timeline_pool.h"
#include "virtual_memory.h"

namespace anyplace::cpu_sim {

class Engine {
 public:
  explicit Engine(const Config& config);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  ~Engine() = delete;

  const Config& config() const noexcept { return config_; }
  /// Throws Failure(NO_SUCH_DEVICE).
  Device& device(std::int32_t index);

  VirtualMemory& virtual_memory() noexcept { return virtual_memory_; }
  /// Returns the timelines for the records of graphs.
  TimelinePool& timelines() noexcept { return timelines_; }
  ImportedMemory& imported_memory() noexcept { return imported_memory_; }

  /// Returns a number for a native handle. Numbers are never reused.
  std::uint64_t next_native() noexcept { return next_native_.fetch_add(1, std::memory_order_relaxed); }

  /// Makes a stream with one handle. stream_native and from_native know it until forget().
  Stream& make_stream(Device& device, std::int32_t priority, Rule rule, std::uint64_t cookie);
  void forget(Stream& stream) noexcept { pool_.forget(stream); }
  /// Returns the stream with that native number, and adds a handle, which the caller drops later. Throws
  /// Failure(INVALID_ARGUMENT) for a number that isn't, or is no longer, a stream of that device.
  Stream& from_native(Device& device, std::uint64_t native);

  /// Both throw Failure(NO_SUCH_DEVICE), or INVALID_ARGUMENT if both devices are the same.
  void enable_peer(std::int32_t device, std::int32_t peer);
  void disable_peer(std::int32_t device, std::int32_t peer);

  /// Drops the reference to a kernel once no launch of it is queued or running.
  void retire(Ref<Kernel> kernel) noexcept;

  /// Waits for all work and ends the threads. Returns false if something was still running at the deadline. It is
  /// called once, as the last call.
  bool shut_down(const Deadline& deadline);

 private:
  void check_peers(std::int32_t device, std::int32_t peer);

  const Config config_;
  // These are owned here, so that an engine whose constructor throws leaves nothing behind.
  std::unique_ptr<Scheduler> owned_scheduler_;
  std::unique_ptr<StreamPool> owned_pool_;
  std::unique_ptr<AddressSpace> owned_addresses_;
  std::unique_ptr<VirtualMemory> owned_virtual_memory_;
  TimelinePool timelines_;
  std::unique_ptr<ImportedMemory> owned_imported_memory_;
  std::vector<std::unique_ptr<Device>> devices_;

  Scheduler& scheduler_ = *owned_scheduler_;
  StreamPool& pool_ = *owned_pool_;
  AddressSpace& addresses_ = *owned_addresses_;
  VirtualMemory& virtual_memory_ = *owned_virtual_memory_;
  ImportedMemory& imported_memory_ = *owned_imported_memory_;
  std::atomic<std::uint64_t> next_native_{1};
};

}  // namespace anyplace::cpu_sim
