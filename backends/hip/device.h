// SPDX-License-Identifier: Apache-2.0
//
// Device: one HIP device and everything that is kept for it. It knows whether it is lost: a result that HIP calls
// sticky loses it for good, and only what ends things is still called then.
//
// Lock order, over all files: RetiredModules', Work's, EventPool's. Sharing's, VirtualMemory's. Module's and Gates'
// have no other of these under them. Under any of these HIP may be called, hence PrimaryContext's taken. Leaves, under
// which nothing is called: HostFunctions' and Watcher's.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "anyplace/backend/device_backend.h"
#include "context.h"
#include "error.h"
#include "event.h"
#include "gate.h"
#include "host_function.h"
#include "memory.h"
#include "module.h"
#include "sharing.h"
#include "virtual_memory.h"
#include "work.h"

namespace anyplace::backend {
class Watcher;
}

namespace anyplace::hip {

using anyplace::backend::Watcher;

class Device {
 public:
  Device(anyplace::backend::Host host, Watcher& watcher, hipDevice_t id, std::int32_t index);
  Device(const Device&) = delete;  // streams and events point at it
  Device& operator=(const Device&) = delete;

  hipDevice_t id() const noexcept { return id_; }
  std::int32_t index() const noexcept { return index_; }
  Watcher& watcher() noexcept { return watcher_; }
  Work& work() noexcept { return work_; }
  EventPool& event_pool() noexcept { return event_pool_; }
  HostFunctions& host_functions() noexcept { return host_functions_; }
  Gates& gates() noexcept { return gates_; }
  Memory& memory() noexcept { return memory_; }
  VirtualMemory& virtual_memory() noexcept { return virtual_memory_; }
  Sharing& sharing() noexcept { return sharing_; }
  RetiredModules& retired_modules() noexcept { return retired_modules_; }

  // -- The context.
  /// The number that stands for it in calls. Begun at the first call. Throws DEVICE_LOST when the device is.
  hipDevice_t context() {
    if (!context_.has_begun() || lost()) [[unlikely]]
      return make_context();
    return id_;
  }
  /// A peer's, for a call of this device. That the peer is lost is no loss of this one: throws BACKEND_FAILED then.
  hipDevice_t context_of(Device& peer);
  bool has_begun() const noexcept { return context_.has_begun(); }
  /// HIP's handle of it. Throws UNSUPPORTED where the library has none.
  hipCtx_t native_context();
  /// A stream of our own, for what must be done at once and for asking how the device is. There once context()
  /// returned.
  hipStream_t internal_stream() const noexcept { return internal_stream_.load(std::memory_order_acquire); }

  // -- Results of calls.
  void check(hipError_t result, const char* call) {
    if (result != hipSuccess) [[unlikely]]
      fail(result, call);
  }
  /// For calls that end things: silent when the device was lost before, or the process is exiting.
  void check_end(hipError_t result, const char* call);
  /// Throws. A sticky result loses the device.
  [[noreturn]] void fail(hipError_t result, const char* call);
  /// The same for a call that another device had a part in: finds out which of them is lost, if one is.
  [[noreturn]] void fail_with(hipError_t result, const char* call, Device& other);

  // -- Loss.
  bool lost() const noexcept { return lost_.load(std::memory_order_acquire) != hipSuccess; }
  /// Leaves on this thread why it was lost.
  void leave_loss() const noexcept;
  /// For good. The first result is kept.
  void lose(hipError_t result) noexcept;
  /// Asks the driver. Loses the device if it is.
  bool is_healthy() noexcept;

  // -- Asking and waiting.
  /// Begins nothing.
  void properties(anyplace_device_properties& out);
  /// "gfx90a:sramecc+:xnack-"
  std::string target() const;
  /// "gfx90a"
  std::string architecture() const;
  /// `otherwise` where the library doesn't know the attribute. Throws what else goes wrong.
  int attribute(int attribute, int otherwise = 0) const;
  void memory_info(anyplace_memory_info& out);
  /// All that was submitted before the call; false if time ran out.
  bool synchronize(std::uint64_t timeout_ns);

  /// After everything is over, while the process exits: gives back what is ours. Throws the first failure, having gone
  /// on. Of a lost device nothing is given back.
  void close();

 private:
  hipError_t begin_context();
  hipDevice_t make_context();
  std::uint64_t capabilities();
  void priority_range(int& least, int& greatest) const;

  const anyplace::backend::Host host_;
  Watcher& watcher_;
  const hipDevice_t id_;
  const std::int32_t index_;
  PrimaryContext context_;
  std::atomic<hipStream_t> internal_stream_{nullptr};
  std::atomic<hipError_t> lost_{hipSuccess};

  EventPool event_pool_{*this};
  Work work_{*this};
  HostFunctions host_functions_{*this};
  Gates gates_{*this};
  Sharing sharing_{*this};
  Memory memory_{*this};
  VirtualMemory virtual_memory_{*this};
  RetiredModules retired_modules_{*this};
};

/// ContextScope for a device's context, which is begun if need be. Throws what Device::context throws.
class DeviceScope {
 public:
  explicit DeviceScope(Device& device) : scope_(device.context()) { device.check(scope_.result(), "hipSetDevice"); }

 private:
  ContextScope scope_;
};

/// ContextScope for calls that end something: making one never throws. On a lost device they aren't made: nothing that
/// it had can be relied on to be given back, and of a call that was the first to say so nobody knows what it did.
class EndScope {
 public:
  explicit EndScope(Device& device) noexcept : device_(device), scope_(device.id(), ContextScope::Always{}) {}
  /// Makes the call in it. Throws as Device::check_end does.
  template <class Call>
  void end(const char* name, Call&& call) const {
    if (device_.lost()) return;
    const hipError_t result = call();
    device_.check_end(scope_.result() == hipSuccess ? result : scope_.result(), name);
  }

 private:
  Device& device_;
  const ContextScope scope_;
};

}  // namespace anyplace::hip
