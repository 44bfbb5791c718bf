// SPDX-License-Identifier: Apache-2.0
//
// Device: one CUDA device and everything that is kept for it. It knows whether it is lost: a result that CUDA calls
// sticky loses it for good, and only what ends things is still called then.
//
// Lock order, over all files: RetiredModules', Work's, EventPool's. Sharing's, VirtualMemory's. Module's and Gates'
// have no other of these under them. Under any of these CUDA may be called, hence PrimaryContext's taken. Leaves, under
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

namespace anyplace::cuda {

using anyplace::backend::Watcher;

class Device {
 public:
  Device(anyplace::backend::Host host, Watcher& watcher, CUdevice id, std::int32_t index);
  Device(const Device&) = delete;  // streams and events point at it
  Device& operator=(const Device&) = delete;

  CUdevice id() const noexcept { return id_; }
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
  /// Retained at the first call. Throws DEVICE_LOST when the device is.
  CUcontext context() {
    const CUcontext made = context_.get();
    if (made == nullptr || lost()) [[unlikely]]
      return make_context();
    return made;
  }
  /// A peer's, for a call of this device. That the peer is lost is no loss of this one: throws BACKEND_FAILED then.
  CUcontext context_of(Device& peer);
  /// The context if there is one already, of a lost device too: for what ends things.
  CUcontext context_or_null() const noexcept { return context_.get(); }
  bool has_active_context() const noexcept { return context_.is_active(); }
  /// A stream of our own, for what must be done at once and for asking how the device is. There once context()
  /// returned.
  CUstream internal_stream() const noexcept { return internal_stream_.load(std::memory_order_acquire); }

  // -- Results of calls.
  void check(CUresult result, const char* call) {
    if (result != CUDA_SUCCESS) [[unlikely]]
      fail(result, call);
  }
  /// For calls that end things: silent when the device was lost before, or the process is exiting.
  void check_end(CUresult result, const char* call);
  /// Throws. A sticky result loses the device, unless it is of another context that is current to the thread.
  [[noreturn]] void fail(CUresult result, const char* call);
  /// The same for a call that another device had a part in: finds out which of them is lost, if one is.
  [[noreturn]] void fail_with(CUresult result, const char* call, Device& other);

  // -- Loss.
  bool lost() const noexcept { return lost_.load(std::memory_order_acquire) != CUDA_SUCCESS; }
  /// Leaves on this thread why it was lost.
  void leave_loss() const noexcept;
  /// For good. The first result is kept.
  void lose(CUresult result) noexcept;
  /// Asks the driver. Loses the device if it is.
  bool is_healthy() noexcept;

  // -- Asking and waiting.
  /// Makes no context.
  void properties(anyplace_device_properties& out) const;
  /// "sm_90"
  std::string architecture() const;
  /// `otherwise` where the driver doesn't know the attribute. Throws what else goes wrong.
  int attribute(int attribute, int otherwise = 0) const;
  void memory_info(anyplace_memory_info& out);
  /// All that was submitted before the call; false if time ran out.
  bool synchronize(std::uint64_t timeout_ns);

  /// After everything is over, while the process exits: gives back what is ours, and lets go of the context. Throws the
  /// first failure, having gone on. Of a lost device nothing is given back.
  void close();

 private:
  CUresult begin_context();
  CUcontext make_context();
  /// For a sticky result of a call: where another context is current, and may be what failed, this device is asked.
  void lose_if_ours(CUresult result) noexcept;
  std::uint64_t capabilities() const;
  void priority_range(int& least, int& greatest) const;

  const anyplace::backend::Host host_;
  Watcher& watcher_;
  const CUdevice id_;
  const std::int32_t index_;
  PrimaryContext context_;
  std::atomic<CUstream> internal_stream_{nullptr};
  std::atomic<CUresult> lost_{CUDA_SUCCESS};

  EventPool event_pool_{*this};
  Work work_{*this};
  HostFunctions host_functions_{*this};
  Gates gates_{*this};
  Sharing sharing_{*this};
  Memory memory_{*this};
  VirtualMemory virtual_memory_{*this};
  RetiredModules retired_modules_{*this};
};

/// ContextScope for a device's context, which is made if need be. Throws what Device::context throws.
class DeviceScope {
 public:
  explicit DeviceScope(Device& device) : scope_(device.context()) { device.check(scope_.result(), "cuCtxPushCurrent"); }

 private:
  ContextScope scope_;
};

/// ContextScope for calls that end something: making one never throws. On a lost device they aren't made: CUDA gives
/// nothing of a failed context back, and of a call that was the first to say so nobody knows what it did.
class EndScope {
 public:
  explicit EndScope(Device& device) noexcept
      : device_(device), scope_(device.context_or_null(), ContextScope::Always{}) {}
  /// Makes the call in it. Throws as Device::check_end does.
  template <class Call>
  void end(const char* name, Call&& call) const {
    if (device_.lost()) return;
    const CUresult result = call();
    device_.check_end(scope_.result() == CUDA_SUCCESS ? result : scope_.result(), name);
  }

 private:
  Device& device_;
  const ContextScope scope_;
};

}  // namespace anyplace::cuda
