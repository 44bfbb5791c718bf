// SPDX-License-Identifier: Apache-2.0
//
// One simulated device: its streams, the rule of its null stream, its memory and its host thread.
//
// The null stream's rule (CUDA's legacy default stream): what is submitted to the null stream waits for all that was
// submitted earlier to blocking streams of the device, and what is submitted later to a blocking stream waits for all
// that was submitted earlier to the null stream. It is kept by putting waits in front of what is submitted, under
// mutex_, so that all submissions to these streams have one order and no two can wait for each other. Other streams
// never take that lock.
#ifndef ANYPLACE_BACKENDS_CPU_SIM_DEVICE_H
#define ANYPLACE_BACKENDS_CPU_SIM_DEVICE_H

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
  Device(int32_t index, uint64_t memory_bytes, Scheduler& scheduler, AddressSpace& addresses)
      : index_(index), scheduler_(scheduler), addresses_(addresses), memory_(index, memory_bytes, addresses) {}
  Device(const Device&) = delete;  // streams hold its address
  Device& operator=(const Device&) = delete;
  ~Device() = default;  // only of an unused one; see Engine

  int32_t index() const noexcept { return index_; }
  Scheduler& scheduler() const noexcept { return scheduler_; }
  AddressSpace& addresses() noexcept { return addresses_; }
  DeviceMemory& memory() noexcept { return memory_; }
  HostRegistrations& registrations() noexcept { return registrations_; }
  HostThread& host_thread() noexcept { return host_thread_; }

  /// The null stream, made at the first call. `make` returns it.
  template <class Make>
  Stream& null_stream(Make make) {
    std::lock_guard creating(null_creation_);
    if (null_.load(std::memory_order_acquire) == nullptr) {
      null_.store(&make(), std::memory_order_release);  // its handle is never dropped
    }
    return *null_.load(std::memory_order_acquire);
  }

  /// Adds what is submitted to the device now and not done: per stream, the last of it.
  void unfinished(std::vector<Record>& out);
  /// Waits for everything submitted to the device before the call; false when time ran out first.
  bool synchronize(const Deadline& deadline);

  /// Leaves a reference to the kernel with every stream that may have a launch of it queued.
  void let_go(const Ref<Kernel>& kernel) noexcept;

  // -- For Stream.
  void add(Stream& stream);
  void remove(Stream& stream) noexcept;
  std::mutex& mutex() noexcept { return mutex_; }
  /// Puts in front of what is about to be submitted the waits that the null stream's rule asks for. Under mutex_.
  void order_after_null_rule(Stream& stream);

 private:
  const int32_t index_;
  Scheduler& scheduler_;
  AddressSpace& addresses_;
  DeviceMemory memory_;
  HostRegistrations registrations_;
  HostThread host_thread_;

  std::mutex null_creation_;            // taken before mutex_
  std::atomic<Stream*> null_{nullptr};  // written under null_creation_

  std::mutex mutex_;      // see the lock order in stream.h
  List<Stream> streams_;  // guarded by mutex_; also destroyed ones whose work goes on
  List<Stream> pending_;  // guarded by mutex_; blocking streams with submissions since the null stream's last one
};

}  // namespace anyplace::cpu_sim

#endif  // ANYPLACE_BACKENDS_CPU_SIM_DEVICE_H
