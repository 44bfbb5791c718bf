// SPDX-License-Identifier: Apache-2.0
//
// A Device is a simulated device: it has streams, a null stream with its rule, memory and a host thread.
//
// The null stream's rule (CUDA's legacy default stream): a submission to the null stream waits for everything that was
// submitted earlier to the device's blocking streams, and a submission to a blocking stream waits for everything that
// was submitted earlier to the null stream. Each submission is preceded by the waits that the rule asks for. Both are
// made under mutex_, so all submissions to these streams have one order and no two can wait for each other. Other
// streams never take that lock.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "address_space.h"
#include "clock.h"
#include "host_thread.h"
#include "list.h"
#include "memory.h"
#include "record.h"
#include "ref.h"
#include "scheduler.h"

namespace anyplace::cpu_sim {

class Kernel;
class Stream;

class Device {
 public:
  Device(std::int32_t index, std::uint64_t memory_bytes, Scheduler& scheduler, AddressSpace& addresses)
      : index_(index),
        scheduler_(scheduler),
        addresses_(addresses),
        memory_(index, memory_bytes, addresses),
        host_thread_(scheduler.polls()) {}
  Device(const Device&) = delete;  // Streams hold its address.
  Device& operator=(const Device&) = delete;
  ~Device() = default;  // Only a device that was never used is destroyed (see Engine).

  std::int32_t index() const noexcept { return index_; }
  Scheduler& scheduler() const noexcept { return scheduler_; }
  AddressSpace& addresses() noexcept { return addresses_; }
  DeviceMemory& memory() noexcept { return memory_; }
  HostRegistrations& registrations() noexcept { return registrations_; }
  HostThread& host_thread() noexcept { return host_thread_; }

  /// Returns the null stream. The first call makes it with `make`.
  template <class Make>
  Stream& null_stream(Make make) {
    std::lock_guard creating(null_creation_);
    if (null_.load(std::memory_order_acquire) == nullptr) {
      null_.store(&make(), std::memory_order_release);  // Its first handle is never dropped.
    }
    return *null_.load(std::memory_order_acquire);
  }

  /// Appends to `out`, for each stream with unfinished work, the record of its last submission.
  void unfinished(std::vector<Record>& out);

  /// Leaves a reference to the kernel in every stream that may have a launch of it queued.
  void keep_while_queued(const Ref<Kernel>& kernel) noexcept;

  // -- For Stream.
  void add(Stream& stream);
  void remove(Stream& stream) noexcept;
  std::mutex& mutex() noexcept { return mutex_; }
  /// Submits the waits that the null stream's rule asks for before the next submission. The caller holds mutex_.
  void order_after_null_rule(Stream& stream);

 private:
  const std::int32_t index_;
  Scheduler& scheduler_;
  AddressSpace& addresses_;
  DeviceMemory memory_;
  HostRegistrations registrations_;
  HostThread host_thread_;

  std::mutex null_creation_;            // It is taken before mutex_.
  std::atomic<Stream*> null_{nullptr};  // It is written under null_creation_.

  std::mutex mutex_;      // The lock order is in stream.h.
  List<Stream> streams_;  // mutex_ guards it; destroyed ones whose work goes on are in it, too.
  List<Stream> pending_;  // mutex_ guards it; these blocking ones have submissions since the null stream's last.
};

}  // namespace anyplace::cpu_sim
