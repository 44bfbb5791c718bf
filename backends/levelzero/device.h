// SPDX-License-Identifier: Apache-2.0
//
// Device: a Level Zero device and everything that the backend keeps for it. A result that means a loss marks it lost
// for good. After that only calls that end something are made.
//
// The order of the mutexes in all files, from the first to the last: a Kernel's or Event's, Work's legacy_mutex_,
// Work's mutex_, a Stream's, SignalPool's. Under those of Module, RetiredModules, Memory, VirtualMemory and Context
// only SignalPool's is taken, and under SharedMemory's Memory's. Waiter's is a leaf: nothing is called under it.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "device_base.h"
#include "memory.h"
#include "module.h"
#include "shared_memory.h"
#include "signal.h"
#include "sysman.h"
#include "virtual_memory.h"
#include "waiter.h"
#include "work.h"

namespace anyplace::levelzero {

class Event;

class Device final : public DeviceBase {
 public:
  using Stream = levelzero::Stream;
  using Event = levelzero::Event;
  using VirtualMemory = levelzero::VirtualMemory;

  using DeviceBase::DeviceBase;

  Work& work() noexcept { return work_; }
  SignalPool& signals() noexcept { return signals_; }
  Waiter& host_functions() noexcept { return host_functions_; }
  Waiter& helper() noexcept { return helper_; }
  Memory& memory() noexcept { return memory_; }
  SharedMemory& shared_memory() noexcept { return shared_memory_; }
  VirtualMemory& virtual_memory() noexcept { return virtual_memory_; }
  RetiredModules& retired_modules() noexcept { return retired_modules_; }

  // -- Queues.
  /// Throws UNSUPPORTED if the device has no queue group for compute.
  std::uint32_t queue_group() const;
  /// The queue for the next stream. Streams use the group's queues in turn.
  std::uint32_t next_queue() noexcept;

  // -- Queries and waits.
  /// Fills in the properties without making a context.
  void properties(anyplace_device_properties& out) const;
  void add_figures(anyplace_device_properties& out) const;  ///< adds clocks, sizes and features
  /// Such as "12.55.8", or the device's id ("0x56a0") where the driver can't tell the version.
  std::string architecture() const;
  /// The newest SPIR-V version that the device takes, as ZE_MAKE_VERSION makes it; 0 if it isn't known.
  std::uint32_t spirv_version() const;
  void memory_info(anyplace_memory_info& out) const;
  void sample(anyplace_device_sample& out);
  std::vector<anyplace_process> processes() { return sysman_.processes(); }
  /// Waits for all that was submitted before the call. Returns false if time ran out.
  bool synchronize(std::uint64_t timeout_ns);

  // -- Peer access. Where a device can access a peer, the access is always enabled.
  bool can_access(Device& peer);
  /// Throws UNSUPPORTED if `reader` can't access this device's memory.
  void share_with(Device& reader);
  static void end_sharing_with(Device& reader) { reader.require(); }

  /// Whether every device can copy to and from every other one. It is set once all devices are known.
  bool peers_can_copy = false;

  /// Frees this backend's objects. Called at exit, when all work is done.
  void close(FirstFailure& failure) noexcept;

 private:
  std::uint64_t capabilities() const;
  void on_loss() noexcept override;

  std::atomic<std::uint32_t> next_queue_{0};

  SignalPool signals_{*this};
  Work work_{*this};
  Waiter host_functions_{*this, "anyplace-ze", Waiter::Steps::users};
  Waiter helper_{*this, "anyplace-ze-hlp", Waiter::Steps::ours};
  Memory memory_{*this};
  SharedMemory shared_memory_{*this, memory_};
  VirtualMemory virtual_memory_{*this};
  RetiredModules retired_modules_{*this};
  mutable Sysman sysman_{*this};
};

}  // namespace anyplace::levelzero
