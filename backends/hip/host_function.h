// SPDX-License-Identifier: Apache-2.0
//
// HostFunctions: the functions of the host that are queued in a device's streams. HIP runs them in their place, and
// not at all once the context failed; then the Watcher settles them.
//
// Invariant: each is called exactly once, by HIP or by the Watcher. Neither calls HIP from inside.
#pragma once

#include <atomic>
#include <mutex>

#include "anyplace/backend/abi.h"
#include "driver.h"

namespace anyplace::hip {

class Device;
class Stream;

class HostFunctions {
 public:
  explicit HostFunctions(Device& device) noexcept : device_(device) {}
  HostFunctions(const HostFunctions&) = delete;  // what is queued points at it
  HostFunctions& operator=(const HostFunctions&) = delete;

  /// Whether the library has them.
  static bool are_supported() noexcept { return driver().LaunchHostFunc || driver().StreamAddCallback; }

  void launch(const Stream& stream, anyplace_host_function function, void* user);
  /// On the Watcher's thread. `ask`: the driver is asked too whether the device is lost.
  void settle_if_lost(bool ask) noexcept;
  bool any_pending() const noexcept { return pending_count_.load(std::memory_order_acquire) != 0; }

 private:
  struct Call {
    HostFunctions* owner;
    anyplace_host_function function;
    void* user;
    Call* next = nullptr;
    Call* previous = nullptr;
    bool settled = false;  ///< called by the Watcher. Kept for ever: HIP may still come with it
  };

  static void finish(void* call, anyplace_status status) noexcept;
  static void run(void* call) noexcept;
  /// The same as HIP's older form calls it.
  static void called_back(hipStream_t, hipError_t result, void* call) noexcept;
  bool add(Call& call) noexcept;
  /// False if the Watcher settled it.
  bool take(Call& call) noexcept;

  Device& device_;
  std::atomic<unsigned> pending_count_{0};
  std::mutex mutex_;  // guards all below and what the calls hold; a leaf
  Call* first_ = nullptr;
  Call* last_ = nullptr;
  Call* settled_ = nullptr;  ///< linked by next
};

}  // namespace anyplace::hip
