// SPDX-License-Identifier: Apache-2.0
//
// ClassBackend: implements DeviceBackend's methods with classes, for a vendor whose driver has one object for each of
// anyplace's (CUDA, HIP). A handle is the address of its object. Methods that aren't overridden here, such as
// device_reset and kernel_from_host, become null entries. The derived class implements device_native.
//
// `Parts` names the classes and functions that it uses; backends/cuda/backend.cpp has an example.
//
//   Device, Module, Kernel      types; Device is one as class_device.h makes it, Module one as module.h does
//   Device::Stream has, beside what work.h asks for, device(), synchronize(timeout), wait(const Event&),
//                               wait(const Gate&) and destroy(); and these, which are static and throw:
//                               make(Device&, const anyplace_stream_desc&), make_null(Device&), adopt(Device&, native)
//   double milliseconds_between(const Event&, const Event&)      of two events of one device; static
//   Kernel has, beside what module.h asks for, native(), attributes(anyplace_kernel_attributes&) and
//                               occupancy(threads, shared_bytes); they throw
//   Copies                      as copies.h makes it
//   Graph                       as graph.h makes it, of the same Device
//   Ipc                         has the entries for several processes, except those for mapped memory, which
//                               mapped_sharing.h has; its members are static and throw:
//                               export_memory(Device&, address, anyplace_ipc_handle&),
//                               import_memory(Device&, const anyplace_ipc_handle&), end_import(Device&, address),
//                               export_event(Event&, anyplace_ipc_handle&),
//                               Event* import_event(Device&, const anyplace_ipc_handle&)
#pragma once

#include <algorithm>
#include <cstdint>
#include <exception>
#include <memory>
#include <vector>

#include "../device_backend.h"
#include "deadline.h"
#include "mapped_sharing.h"
#include "results.h"
#include "watcher.h"

namespace anyplace::backend {

template <class Parts>
class ClassBackend : public DeviceBackend, private Watched {
 public:
  using Device = typename Parts::Device;
  using Stream = typename Device::Stream;
  using Event = typename Device::Event;
  using Gate = typename Device::Gates::Gate;
  using Module = typename Parts::Module;
  using Kernel = typename Parts::Kernel;
  using Graph = typename Parts::Graph;
  using VirtualMemory = typename Device::VirtualMemory;
  using PhysicalMemory = typename VirtualMemory::Physical;
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

  // -- Devices.
  std::int32_t device_count() override { return static_cast<std::int32_t>(devices_.size()); }
  void device_properties(std::int32_t device, anyplace_device_properties& out) override { at(device).properties(out); }
  void device_memory(std::int32_t device, anyplace_memory_info& out) override { at(device).memory_info(out); }
  bool device_synchronize(std::int32_t device, std::uint64_t timeout_ns) override {
    return at(device).synchronize(timeout_ns);
  }

  // -- Peer access.
  bool peer_query(std::int32_t device, std::int32_t peer) override {
    return device != peer && Device::Sharing::can_access(at(device), at(peer));
  }
  void peer_enable(std::int32_t device, std::int32_t peer) override { at(peer).share_with(at(device)); }
  void peer_disable(std::int32_t device, std::int32_t peer) override { at(peer).end_sharing_with(at(device)); }

  // -- Streams.
  anyplace_stream stream_create(std::int32_t device, const anyplace_stream_desc& desc) override {
    return to_handle(Stream::make(at(device), desc));
  }
  anyplace_stream stream_default(std::int32_t device, const anyplace_stream_desc&) override {
    return to_handle(Stream::make_null(at(device)));
  }
  anyplace_stream stream_from_native(std::int32_t device, std::uint64_t native, const anyplace_stream_desc&) override {
    return to_handle(Stream::adopt(at(device), native));
  }
  std::uint64_t stream_native(anyplace_stream stream) override { return to_handle(stream_at(stream).native()); }
  void stream_destroy(anyplace_stream stream) override { stream_at(stream).destroy(); }
  bool stream_query(anyplace_stream stream) override { return stream_at(stream).query(); }
  bool stream_synchronize(anyplace_stream stream, std::uint64_t timeout_ns) override {
    return stream_at(stream).synchronize(timeout_ns);
  }
  void stream_wait_event(anyplace_stream stream, anyplace_event event) override {
    stream_at(stream).wait(event_at(event));
  }
  void stream_host_function(anyplace_stream stream, anyplace_host_function function, void* user) override {
    const Stream& on = stream_at(stream);
    on.device().host_functions().launch(on.native(), function, user);
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
  anyplace_event event_create(std::int32_t device, const anyplace_event_desc& desc) override {
    return to_handle(new Event(at(device), desc.flags));
  }
  void event_destroy(anyplace_event event) override {
    const std::unique_ptr<Event> ended(&event_at(event));
    ended->destroy();
  }
  void event_record(anyplace_event event, anyplace_stream stream) override {
    event_at(event).record(stream_at(stream));
  }
  bool event_query(anyplace_event event) override { return event_at(event).query(); }
  bool event_synchronize(anyplace_event event, std::uint64_t timeout_ns) override {
    return event_at(event).synchronize(timeout_ns);
  }
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
  std::uint64_t event_native(anyplace_event event) override { return to_handle(event_at(event).hand_out()); }

  anyplace_event event_from_native(std::int32_t device, std::uint64_t native, std::uint32_t) override {
    const auto wrapped = reinterpret_cast<typename Event::Native>(static_cast<std::uintptr_t>(native));
    return to_handle(new Event(at(device), typename Event::Borrowed{wrapped}));
  }

  // -- Memory.
  anyplace_address memory_allocate(std::int32_t device, std::uint32_t kind, std::uint64_t bytes) override {
    return at(device).memory().allocate(kind, bytes);
  }
  void memory_free(std::int32_t device, std::uint32_t kind, anyplace_address address) override {
    at(device).memory().free(kind, address);
  }
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

  // -- Copies and fills.
  void memory_copy(anyplace_stream stream, anyplace_address destination, anyplace_address source, std::uint64_t bytes,
                   std::uint32_t kind) override {
    Parts::Copies::copy(stream_at(stream), destination, source, bytes, kind);
  }
  void memory_copy_2d(anyplace_stream stream, const anyplace_copy_2d& lines) override {
    Parts::Copies::copy_2d(stream_at(stream), lines);
  }
  void memory_copy_peer(anyplace_stream stream, std::int32_t destination_device, anyplace_address destination,
                        std::int32_t source_device, anyplace_address source, std::uint64_t bytes) override {
    Parts::Copies::copy_peer(stream_at(stream), at(destination_device), destination, at(source_device), source, bytes);
  }
  void memory_set(anyplace_stream stream, anyplace_address address, std::uint32_t value, std::uint32_t width,
                  std::uint64_t count) override {
    Parts::Copies::fill(stream_at(stream), address, value, width, count);
  }

  // -- Kernels.
  anyplace_module module_load(std::int32_t device, const anyplace_module_desc& desc) override {
    return to_handle(new Module(at(device), desc));
  }
  void module_unload(anyplace_module module) override { Module::unload(from_handle<Module>(module)); }
  anyplace_kernel module_kernel(anyplace_module module, const char* name) override {
    return to_handle(&from_handle<Module>(module)->kernel(name));
  }
  void module_global(anyplace_module module, const char* name, anyplace_global& out) override {
    from_handle<Module>(module)->global(name, out);
  }
  std::uint64_t module_native(anyplace_module module) override {
    return to_handle(from_handle<Module>(module)->native());
  }
  std::uint64_t kernel_native(anyplace_kernel kernel) override {
    return to_handle(from_handle<Kernel>(kernel)->native());
  }
  void kernel_attributes(anyplace_kernel kernel, anyplace_kernel_attributes& out) override {
    from_handle<Kernel>(kernel)->attributes(out);
  }
  std::uint32_t kernel_occupancy(anyplace_kernel kernel, std::uint32_t threads, std::uint64_t shared_bytes) override {
    return from_handle<Kernel>(kernel)->occupancy(threads, shared_bytes);
  }
  [[gnu::always_inline]] void kernel_launch(anyplace_stream stream, anyplace_kernel kernel,
                                            const anyplace_launch& launch) override {
    from_handle<Kernel>(kernel)->launch(stream_at(stream), launch);
  }

  // -- Graphs.
  anyplace_graph graph_create(std::int32_t device, const anyplace_graph_desc& desc) override {
    return to_handle(new Graph(at(device), desc));
  }
  void graph_update(anyplace_graph graph, const anyplace_graph_desc& desc) override {
    from_handle<Graph>(graph)->update(desc);
  }
  void graph_launch(anyplace_graph graph, anyplace_stream stream) override {
    from_handle<Graph>(graph)->launch(stream_at(stream));
  }
  void graph_destroy(anyplace_graph graph) override { Graph::destroy(from_handle<Graph>(graph)); }

  // -- Virtual memory.
  std::uint64_t virtual_granularity(std::int32_t device) override { return virtual_memory_of(device).granularity(); }
  anyplace_address virtual_reserve(std::int32_t device, std::uint64_t bytes) override {
    return virtual_memory_of(device).reserve(bytes);
  }
  void virtual_release(std::int32_t device, anyplace_address address, std::uint64_t bytes) override {
    virtual_memory_of(device).release(address, bytes);
  }
  anyplace_physical physical_create(std::int32_t device, std::uint64_t bytes) override {
    return to_handle(virtual_memory_of(device).create(bytes));
  }
  void physical_destroy(anyplace_physical physical) override {
    VirtualMemory::destroy(from_handle<PhysicalMemory>(physical));
  }
  void virtual_map(std::int32_t device, anyplace_address address, anyplace_physical physical) override {
    virtual_memory_of(device).map(address, *from_handle<PhysicalMemory>(physical));
  }
  void virtual_unmap(std::int32_t device, anyplace_address address, std::uint64_t bytes) override {
    virtual_memory_of(device).unmap(address, bytes);
  }
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
  /// The parameters are those of Watcher's constructor.
  explicit ClassBackend(const char* thread_name) noexcept : watcher_(thread_name, *this) {}

  Device& at(std::int32_t device) { return *devices_.at(static_cast<std::size_t>(device)); }

  Watcher watcher_;
  std::vector<std::unique_ptr<Device>> devices_;  ///< filled by the derived class's constructor

 private:
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

  static Stream& stream_at(anyplace_stream stream) { return *from_handle<Stream>(stream); }
  static Event& event_at(anyplace_event event) { return *from_handle<Event>(event); }

  VirtualMemory& virtual_memory_of(std::int32_t device) {
    VirtualMemory& memory = at(device).virtual_memory();
    if (!memory.is_supported()) {
      throw Failure(ANYPLACE_STATUS_UNSUPPORTED, "this device, or its driver, has no virtual memory management");
    }
    return memory;
  }

  /// Waits for the device if anything was submitted to it. Returns false if time ran out.
  static bool finish(Device& device, const Deadline& deadline) {
    if (device.lost()) return true;
    try {
      return device.synchronize(deadline.left());
    } catch (const Failure&) {
      return true;  // a device that fails here has nothing more to wait for
    }
  }
};

}  // namespace anyplace::backend
