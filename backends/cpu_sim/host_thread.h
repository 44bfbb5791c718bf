// SPDX-License-Identifier: Apache-2.0
//
// Host functions: each device has one thread for them, started with the first. They run one at a time, first come first
// served; while one runs or waits its turn its stream is parked, so a blocked one holds up nothing but other host
// functions of the device.
#ifndef ANYPLACE_BACKENDS_CPU_SIM_HOST_THREAD_H
#define ANYPLACE_BACKENDS_CPU_SIM_HOST_THREAD_H

#include <anyplace/backend/device_backend.h>

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include "clock.h"
#include "command.h"
#include "list.h"

namespace anyplace::cpu_sim {

class HostFunction final : public Command {
 public:
  HostFunction(Stream& stream, backend::Host host, uint64_t cookie, anyplace_host_function function,
               void* user) noexcept
      : stream_(stream), host_(host), cookie_(cookie), function_(function), user_(user), queued_(this) {}

  Progress execute(Stream& stream) noexcept override;

 private:
  friend class HostThread;
  void call() noexcept;

  Stream& stream_;  // its own work
  backend::Host host_;
  uint64_t cookie_;
  anyplace_host_function function_;
  void* user_;
  Link<HostFunction> queued_;  // guarded by the host thread's mutex
};

class HostThread {
 public:
  HostThread() = default;
  HostThread(const HostThread&) = delete;
  HostThread& operator=(const HostThread&) = delete;

  /// Called before a host function is submitted, so that a missing thread is a failure of the call. Throws Failure.
  void start();
  void post(HostFunction& function) noexcept;
  /// Ends and joins the thread; false when it is still busy at the deadline, which leaves it. Called once, last.
  bool stop(const Deadline& deadline);

 private:
  void work() noexcept;

  std::mutex mutex_;
  std::thread thread_;            // guarded by mutex_
  List<HostFunction> functions_;  // guarded by mutex_
  bool stopping_ = false;         // guarded by mutex_
  bool ended_ = false;            // guarded by mutex_
  std::condition_variable wake_;  // functions_ or stopping_ changed
  std::condition_variable end_;   // ended_ changed
};

}  // namespace anyplace::cpu_sim

#endif  // ANYPLACE_BACKENDS_CPU_SIM_HOST_THREAD_H
