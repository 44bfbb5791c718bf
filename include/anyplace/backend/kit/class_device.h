// SPDX-License-Identifier: Apache-2.0
//
// ClassDevice: a device with everything that a backend keeps for it, made of the kit's other headers. It is most of
// what ContextBackend asks of a Device: the vendor's own class derives from it and adds properties(), memory_info(),
// sample() and processes().
//
// Lock order: Graph's mutex is taken before RetiredModules', that before Work's, that before EventPool's.
// MappedSharing's and Sharing's are each taken before VirtualMemory's. Under Module's and Gates' no other mutex of the
// kit is taken. Under all of these the vendor may be called, and so its context's mutex taken. HostCalls' and Watcher's
// are leaves, under which nothing is called.
//
// The template parameters are the `Vendor` structs that work.h, host_functions.h, gates.h, virtual_memory.h and
// module.h ask for. VirtualMemoryCalls names the classes Sharing and Memory; Memory is the backend's own, constructed
// of (Base&, Sharing&). It has allocate(kind, bytes), free(kind, address), allocate_async(native stream, bytes),
// free_async(native stream, address), register_host(address, bytes) and unregister_host(address), which do what the
// entries of those names do; set_access(Access, Base& reader); idle_in_pool(); trim(); and Result close() noexcept.
//
// `Whole` has the vendor's calls for a whole device. All its members are static:
//
//   Called<Result> synchronize() noexcept              waits for all work of the current context
//   Called<Result> end_context(Context&) noexcept      for Base::Vendor::Context
//   const char* module_call, * gate_call, * pool_call, * event_call       those that close the parts
#pragma once

#include <cstdint>

#include "../abi.h"
#include "deadline.h"
#include "device_base.h"
#include "events.h"
#include "gates.h"
#include "host_functions.h"
#include "mapped_sharing.h"
#include "retired_modules.h"
#include "virtual_memory.h"
#include "work.h"

namespace anyplace::backend {

/// Thread-safe.
template <class Whole, class WorkCalls, class HostFunctionCalls, class GateCalls, class VirtualMemoryCalls,
          class ModuleCalls>
class ClassDevice : public WorkCalls::Device {
 public:
  using Base = typename WorkCalls::Device;  ///< what the device has of its own: identity, context, loss
  using Result = typename Base::Result;
  using Event = RecordedEvent<typename WorkCalls::Events>;  ///< what an anyplace_event stands for
  using Work = backend::Work<WorkCalls>;
  using Stream = typename WorkCalls::Stream;
  using HostFunctions = backend::HostFunctions<HostFunctionCalls>;
  using Sharing = typename VirtualMemoryCalls::Sharing;
  using Memory = typename VirtualMemoryCalls::Memory;
  using VirtualMemory = backend::VirtualMemory<VirtualMemoryCalls>;
  using MappedSharing = backend::MappedSharing<VirtualMemoryCalls>;
  using Gates = backend::Gates<GateCalls>;

  /// The `Vendor` of retired_modules.h.
  struct RetiredCalls {
    using Device = ClassDevice;  ///< the device whose modules are kept
    using Native = typename ModuleCalls::Native;
    using Result = typename Base::Result;
    using Pending = PendingWork<WorkCalls>;  ///< what a module waits for
    /// Makes the device's context current, also when the device is lost.
    class Scope {
     public:
      /// Makes the context current until the end of its scope.
      explicit Scope(Device& device) noexcept
          : scope_(device.handle(), typename Base::Vendor::ContextScope::Always{}) {}

     private:
      typename Base::Vendor::ContextScope scope_;
    };

    /// The work that may need a module now.
    static Pending pending(Device& device) { return device.work().pending(); }
    /// Waits for all work of the current context, whatever comes of it.
    static void wait_for_all(Device&) noexcept { static_cast<void>(Whole::synchronize()); }
    /// Unloads the module, and marks the device as lost if the vendor says so. Returns the vendor's result.
    static Result unload(Device& device, Native module) noexcept {
      const Result result = ModuleCalls::unload(module).result;
      if (Base::Vendor::Results::is_sticky(result)) device.lose(result);
      return result;
    }
  };
  using RetiredModules = backend::RetiredModules<RetiredCalls>;

  using Base::Base;

  /// The device's streams and their pending work.
  Work& work() noexcept { return work_; }
  /// The host functions that were submitted to the device.
  HostFunctions& host_functions() noexcept { return host_functions_; }
  /// The gates that the device's streams wait for.
  Gates& gates() noexcept { return gates_; }
  /// The vendor's allocations of the device.
  Memory& memory() noexcept { return memory_; }
  /// The vendor's allocations of the device, to be looked at.
  const Memory& memory() const noexcept { return memory_; }
  /// Addresses and the memory behind them; nothing but is_supported() may be called where there are none.
  VirtualMemory& virtual_memory() noexcept { return virtual_memory_; }
  /// The same, to be looked at.
  const VirtualMemory& virtual_memory() const noexcept { return virtual_memory_; }
  /// Mapped memory that other processes have, and theirs.
  MappedSharing& mapped_sharing() noexcept { return mapped_sharing_; }
  /// Which devices reach this device's memory.
  Sharing& sharing() noexcept { return sharing_; }
  /// Modules that were unloaded while work needed them.
  RetiredModules& retired_modules() noexcept { return retired_modules_; }

  /// Whether this device can reach the memory of `peer`. Throws if the driver can't say.
  bool can_access(ClassDevice& peer) { return Sharing::can_access(*this, peer); }
  /// Gives `reader` access to all memory of this device; end_sharing_with() takes it back.
  void share_with(ClassDevice& reader) {
    sharing_.enable(reader, [&](const auto& access) { set_access(access, reader); });
  }
  /// Takes back what share_with() gave.
  void end_sharing_with(ClassDevice& reader) {
    sharing_.disable(reader, [&](const auto& access) { set_access(access, reader); });
  }

  /// Waits for all that was submitted before the call. Returns false if time ran out.
  bool synchronize(std::uint64_t timeout_ns) {
    const Deadline deadline(timeout_ns);
    if (deadline.forever()) {
      const DeviceScope<typename Base::Vendor> scope(*this);
      this->check(Whole::synchronize());
    } else {
      if (this->lost()) this->context();
      if (!this->has_begun()) return true;  // nothing was ever submitted
      if (timeout_ns == 0) return work_.is_idle();
      const auto pending = work_.pending();
      if (!poll_until(deadline, [&] { return pending.is_over(); })) return false;
    }
    retired_modules_.sweep();
    return true;
  }

  /// Called while the process exits, when all work is done: releases the backend's objects and the context. It tries
  /// all of them and then throws the first failure. On a lost device nothing is released.
  void close() {
    using Calls = typename Base::Vendor;
    if (!this->has_begun()) return;
    if (this->lost()) {
      this->check(retired_modules_.failure(), Whole::module_call);
      return this->check(work_.failure(), WorkCalls::destroy_call);
    }
    Called<Result> first{};
    const auto note = [&](Result result, const char* call) {
      if (first.result == Result{} && result != Result{} && !Calls::is_exit(result)) first = {result, call};
    };
    {
      const typename Calls::ContextScope scope(this->handle(), typename Calls::ContextScope::Always{});
      note(scope.result(), Calls::scope_call);
      note(retired_modules_.close(), Whole::module_call);
      note(gates_.close(), Whole::gate_call);
      note(memory_.close(), Whole::pool_call);
      note(work_.close(), WorkCalls::destroy_call);
      note(event_pool_.close(), Whole::event_call);
      note(WorkCalls::destroy(*this, this->internal_stream()), WorkCalls::destroy_call);
    }
    const Called<Result> ended = Whole::end_context(this->vendor_context());
    note(ended.result, ended.call);
    this->check(first);
  }

 private:
  template <class Access>
  void set_access(const Access& access, Base& reader) {
    memory_.set_access(access, reader);
    virtual_memory_.set_access(access, reader);
  }

  typename Work::EventPool event_pool_{*this};
  Work work_{*this, event_pool_};
  HostFunctions host_functions_{*this};
  Gates gates_{*this};
  Sharing sharing_{*this};
  Memory memory_{*this, sharing_};
  VirtualMemory virtual_memory_{*this, sharing_, memory_};
  MappedSharing mapped_sharing_{*this, virtual_memory_};
  RetiredModules retired_modules_{*this};
};

}  // namespace anyplace::backend
