// SPDX-License-Identifier: Apache-2.0
//
// ContextBackend: the ClassBackend of a vendor whose calls need a current context on the thread (CUDA, HIP), with a
// Watcher for all its devices. The derived class implements device_native.
//
// `Parts` is what class_backend.h asks for, with more; backends/cuda/backend.cpp has an example:
//
//   Device, Module, Graph   as class_device.h, module.h and graph.h make them
//   double milliseconds_between(const Event&, const Event&)      of two events of one device; static
//   Device::Stream          has wait(const Event&) and wait(const Gate&)
//   Kernel                  has occupancy(threads, shared_bytes)
//   Ipc                     has the entries for several processes, except those for mapped memory, which
//                           mapped_sharing.h has; its members are static and throw:
//                           export_memory(Device&, address, anyplace_ipc_handle&),
//                           import_memory(Device&, const anyplace_ipc_handle&), end_import(Device&, address),
//                           export_event(Event&, anyplace_ipc_handle&),
//                           Event* import_event(Device&, const anyplace_ipc_handle&)
#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>

#include "class_backend.h"
#include "mapped_sharing.h"
#include "results.h"
#include "watcher.h"

namespace anyplace::backend {

/// A ClassBackend over a driver with contexts: its thread looks after host functions and lost devices, and shutdown
/// closes the devices in order.
template <class Parts>
class ContextBackend : public ClassBackend<Parts>, private Watched {
  using Base = ClassBackend<Parts>;

 public:
  using typename Base::Device;
  using typename Base::Event;
  using typename Base::Kernel;
  using typename Base::PhysicalMemory;  ///< what an anyplace_physical stands for
  using typename Base::Stream;
  using Gate = typename Device::Gates::Gate;
  using MappedSharing = typename Device::MappedSharing;

  bool shutdown(std::uint64_t timeout_ns) override {
    const Deadline deadline(timeout_ns);
    descriptor_server().stop();
    for (const auto& device : devices_) {
      if (!finish(*device, deadline)) return false;
    }
    watcher_.stop();
    std::exception_ptr failed;
    for (const auto& device : devices_) {
      try {
        device->close();
      } catch (const Failure&) {
        if (failed == nullptr) failed = std::current_exception();
      }
    }
    if (failed != nullptr) std::rethrow_exception(failed);
    return true;
  }

  // -- Streams.
  void stream_wait_event(anyplace_stream stream, anyplace_event event) override {
    stream_at(stream).wait(event_at(event));
  }

  // -- Gates.
  anyplace_gate gate_create(std::int32_t device) override { return to_handle(at(device).gates().create()); }
  void gate_open(anyplace_gate gate) override { from_handle<Gate>(gate)->open(); }
  void gate_destroy(anyplace_gate gate) override {
    Gate& ended = *from_handle<Gate>(gate);
    ended.owner->destroy(ended);
  }
  void stream_wait_gate(anyplace_stream stream, anyplace_gate gate) override {
    stream_at(stream).wait(*from_handle<Gate>(gate));
  }

  // -- Events.
  double event_elapsed(anyplace_event start, anyplace_event end) override {
    const Event& from = event_at(start);
    const Event& to = event_at(end);
    if (&from.device() != &to.device()) {
      refuse(ANYPLACE_STATUS_INVALID_ARGUMENT, "the events are of " + from.device().place() + " and " +
                                                   to.device().place() +
                                                   "; time is measured between events of one "
                                                   "device");
    }
    return Parts::milliseconds_between(from, to);
  }
  anyplace_event event_from_native(std::int32_t device, std::uint64_t native, std::uint32_t) override {
    const auto wrapped = reinterpret_cast<typename Event::Native>(static_cast<std::uintptr_t>(native));
    return to_handle(new Event(at(device), typename Event::Borrowed{wrapped}));
  }

  // -- Memory.
  anyplace_address memory_allocate_async(anyplace_stream stream, std::uint64_t bytes) override {
    const Stream& on = stream_at(stream);
    return on.device().memory().allocate_async(on.native(), bytes);
  }
  void memory_free_async(anyplace_stream stream, anyplace_address address) override {
    const Stream& on = stream_at(stream);
    on.device().memory().free_async(on.native(), address);
  }
  void host_register(std::int32_t device, void* address, std::uint64_t bytes) override {
    at(device).memory().register_host(address, bytes);
  }
  void host_unregister(std::int32_t device, void* address) override { at(device).memory().unregister_host(address); }

  // -- Kernels.
  std::uint32_t kernel_occupancy(anyplace_kernel kernel, std::uint32_t threads, std::uint64_t shared_bytes) override {
    return from_handle<Kernel>(kernel)->occupancy(threads, shared_bytes);
  }

  // -- Virtual memory.
  void virtual_map_all(std::int32_t device, anyplace_address address, const anyplace_physical* physicals,
                       std::uint64_t count) override {
    virtual_memory_of(device).map_all(address, count, [physicals](std::uint64_t i) -> const PhysicalMemory& {
      return *from_handle<PhysicalMemory>(physicals[i]);
    });
  }

  // -- Sharing between processes.
  void memory_export(std::int32_t device, anyplace_address address, std::uint64_t bytes,
                     anyplace_ipc_handle& out) override {
    if (at(device).mapped_sharing().export_memory(address, bytes, out)) return;
    Parts::Ipc::export_memory(at(device), address, out);
  }
  void memory_export_end(std::int32_t device, anyplace_address, const anyplace_ipc_handle& handle) override {
    if (MappedSharing::is_mapped(handle)) at(device).mapped_sharing().end_export(handle);
  }
  anyplace_address memory_import(std::int32_t device, const anyplace_ipc_handle& handle) override {
    if (MappedSharing::is_mapped(handle)) return at(device).mapped_sharing().import_memory(handle);
    return Parts::Ipc::import_memory(at(device), handle);
  }
  void memory_import_end(std::int32_t device, anyplace_address address) override {
    if (!at(device).mapped_sharing().end_import(address)) Parts::Ipc::end_import(at(device), address);
  }
  void event_export(anyplace_event event, anyplace_ipc_handle& out) override {
    Parts::Ipc::export_event(event_at(event), out);
  }
  anyplace_event event_import(std::int32_t device, const anyplace_ipc_handle& handle) override {
    return to_handle(Parts::Ipc::import_event(at(device), handle));
  }

 protected:
  /// `thread_name` is Watcher's.
  ContextBackend(Host host, const char* thread_name) noexcept : Base(host), watcher_(thread_name, *this) {}

  using Base::at;  ///< the derived class uses it, too
  using Base::devices_;

  Watcher watcher_;

 private:
  using Base::event_at;
  using Base::finish;
  using Base::stream_at;
  using Base::virtual_memory_of;

  // -- The methods of Watched. The vendor doesn't report a failed device on its own and then drops its host functions.
  void look(bool ask_vendor) noexcept override {
    for (const auto& device : devices_) {
      device->host_functions().settle_if_lost(ask_vendor);
      device->work().sweep();
    }
  }
  bool anything_pending() const noexcept override {
    return std::any_of(devices_.begin(), devices_.end(), [](const auto& device) {
      return device->host_functions().any_pending() || device->work().any_retired();
    });
  }
};

}  // namespace anyplace::backend
