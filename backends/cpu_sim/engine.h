// SPDX-License-Identifier: Apache-2.0
//
// Everything that one loaded plugin has: its configuration, its workers, its devices, and the tables that belong to
// none of them (native numbers of streams, whose the addresses are).
//
// It is never destroyed: handles and threads of a process that exits may outlive any order that could be kept.
#ifndef ANYPLACE_BACKENDS_CPU_SIM_ENGINE_H
#define ANYPLACE_BACKENDS_CPU_SIM_ENGINE_H

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
#include "stream.h"
#include "stream_pool.h"
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
  Device& device(int32_t index);

  VirtualMemory& virtual_memory() noexcept { return virtual_memory_; }

  /// A number for a native handle, never used again.
  uint64_t next_native() noexcept { return next_native_.fetch_add(1, std::memory_order_relaxed); }

  /// A stream with one handle, that stream_native and from_native know until forget.
  Stream& make_stream(Device& device, int32_t priority, Rule rule, uint64_t cookie);
  void forget(Stream& stream) noexcept { pool_.forget(stream); }
  /// With a handle more, which the caller drops. Throws Failure(INVALID_ARGUMENT) for a number that is no stream of
  /// that device, or no longer one.
  Stream& from_native(Device& device, uint64_t native);

  /// Throw Failure(NO_SUCH_DEVICE), or INVALID_ARGUMENT for a device and itself.
  void enable_peer(int32_t device, int32_t peer);
  void disable_peer(int32_t device, int32_t peer);

  /// Drops the reference to a kernel once no launch of it is queued or running.
  void retire(Ref<Kernel> kernel) noexcept;

  /// Waits for all work and ends the threads; false when something was left running at the deadline. Called once, last.
  bool shut_down(const Deadline& deadline);

 private:
  void check_peers(int32_t device, int32_t peer);

  const Config config_;
  // Owned, so that an engine that fails to be made leaves nothing.
  std::unique_ptr<Scheduler> owned_scheduler_;
  std::unique_ptr<StreamPool> owned_pool_;
  std::unique_ptr<AddressSpace> owned_addresses_;
  std::unique_ptr<VirtualMemory> owned_virtual_memory_;
  std::vector<std::unique_ptr<Device>> devices_;

  Scheduler& scheduler_ = *owned_scheduler_;
  StreamPool& pool_ = *owned_pool_;
  AddressSpace& addresses_ = *owned_addresses_;
  VirtualMemory& virtual_memory_ = *owned_virtual_memory_;
  std::atomic<uint64_t> next_native_{1};
};

}  // namespace anyplace::cpu_sim

#endif  // ANYPLACE_BACKENDS_CPU_SIM_ENGINE_H
