// SPDX-License-Identifier: Apache-2.0
//
// ClassBackend: implements DeviceBackend's methods with classes, for a vendor whose driver has one object for each of
// anyplace's. A handle is the address of its object. It has the methods that are the same for all such vendors;
// context_backend.h adds those that CUDA and HIP have in common. The derived class fills devices_ and implements the
// others, stream_wait_event and shutdown among them. A method that no class overrides, such as device_reset, becomes a
// null entry.
//
// `Parts` names the classes that it uses; backends/levelzero/backend.cpp has an example. Their members do what the
// entries of the same names do, and throw. Those whose names or parameters differ from the entries':
//
//   const char* hiding_variables[]   the environment's variables that hide devices, for hidden_devices.h
//   Device                  has can_access(Device& peer), and share_with(Device& reader) and end_sharing_with(Device&
//                           reader) for peer access to its memory; lost(); and these types:
//   Device::Stream          has launch_host_function(function, user), and the static make(Device&, desc),
//                           make_null(Device&, desc) and adopt(Device&, native, desc)
//   Device::Event           constructed of (Device&, flags). hand_out() gives the vendor's event, which the caller may
//                           keep; destroy() is called before the destructor, because it may throw
//   Device::VirtualMemory   as virtual_memory.h makes it, or with the same members but map_all
//   Module                  constructed of (Device&, desc); has kernel, global, native and a static unload(Module*)
//   Graph                   constructed of (Device&, desc); has a static destroy(Graph*)
//   Copies                  as copies.h makes it
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "../device_backend.h"
#include "deadline.h"
#include "hidden_devices.h"

namespace anyplace::backend {

/// The entries of a backend, each passed on to an object of the device, stream or event that it is for.
template <class Parts>
class ClassBackend : public DeviceBackend {
 public:
  using Device = typename Parts::Device;
  using Stream = typename Device::Stream;
  using Event = typename Device::Event;
  using VirtualMemory = typename Device::VirtualMemory;
  using PhysicalMemory = typename VirtualMemory::Physical;  ///< what an anyplace_physical stands for
  using Module = typename Parts::Module;
  using Kernel = typename Parts::Kernel;
  using Graph = typename Parts::Graph;

  // -- Devices.
  std::int32_t device_count() override {
    note_hidden_devices(host_, Parts::hiding_variables);
    return static_cast<std::int32_t>(devices_.size());
  }
  void device_properties(std::int32_t device, anyplace_device_properties& out) override { at(device).properties(out); }
  void device_memory(std::int32_t device, anyplace_memory_info& out) override { at(device).memory_info(out); }
  bool device_synchronize(std::int32_t device, std::uint64_t timeout_ns) override {
    return at(device).synchronize(timeout_ns);
  }
  void device_sample(std::int32_t device, anyplace_device_sample& out) override { at(device).sample(out); }
  std::vector<anyplace_process> list_processes(std::int32_t device) override { return at(device).processes(); }

  // -- Peer access.
  bool peer_query(std::int32_t device, std::int32_t peer) override {
    return device != peer && at(device).can_access(at(peer));
  }
  void peer_enable(std::int32_t device, std::int32_t peer) override { at(peer).share_with(at(device)); }
  void peer_disable(std::int32_t device, std::int32_t peer) override { at(peer).end_sharing_with(at(device)); }

  // -- Streams.
  anyplace_stream stream_create(std::int32_t device, const anyplace_stream_desc& desc) override {
    return to_handle(Stream::make(at(device), desc));
  }
  anyplace_stream stream_default(std::int32_t device, const anyplace_stream_desc& desc) override {
    return to_handle(Stream::make_null(at(device), desc));
  }
  anyplace_stream stream_from_native(std::int32_t device, std::uint64_t native,
                                     const anyplace_stream_desc& desc) override {
    return to_handle(Stream::adopt(at(device), native, desc));
  }
  std::uint64_t stream_native(anyplace_stream stream) override { return to_handle(stream_at(stream).native()); }
  void stream_destroy(anyplace_stream stream) override { stream_at(stream).destroy(); }
  bool stream_query(anyplace_stream stream) override { return stream_at(stream).query(); }
  bool stream_synchronize(anyplace_stream stream, std::uint64_t timeout_ns) override {
    return stream_at(stream).synchronize(timeout_ns);
  }
  void stream_host_function(anyplace_stream stream, anyplace_host_function function, void* user) override {
    stream_at(stream).launch_host_function(function, user);
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
  std::uint64_t event_native(anyplace_event event) override { return to_handle(event_at(event).hand_out()); }

  // -- Memory.
  anyplace_address memory_allocate(std::int32_t device, std::uint32_t kind, std::uint64_t bytes) override {
    return at(device).memory().allocate(kind, bytes);
  }
  void memory_free(std::int32_t device, std::uint32_t kind, anyplace_address address) override {
    at(device).memory().free(kind, address);
  }

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

 protected:
  /// Takes what the core offers; the devices are the derived class's to make.
  explicit ClassBackend(Host host) noexcept : host_(host) {}

  /// The device of that number, which the core has checked.
  Device& at(std::int32_t device) { return *devices_.at(static_cast<std::size_t>(device)); }
  /// The stream that a handle stands for.
  static Stream& stream_at(anyplace_stream stream) { return *from_handle<Stream>(stream); }
  /// The event that a handle stands for.
  static Event& event_at(anyplace_event event) { return *from_handle<Event>(event); }
  /// Throws UNSUPPORTED if the device has no virtual memory.
  VirtualMemory& virtual_memory_of(std::int32_t device) {
    VirtualMemory& memory = at(device).virtual_memory();
    memory.require_supported();
    return memory;
  }
  /// For shutdown: waits for the device if anything was submitted to it. Returns false if time ran out.
  static bool finish(Device& device, const Deadline& deadline) {
    if (device.lost()) return true;
    try {
      return device.synchronize(deadline.left());
    } catch (const Failure&) {
      return true;  // a device that fails here has nothing more to wait for
    }
  }

  const Host host_;
  std::vector<std::unique_ptr<Device>> devices_;  ///< filled by the derived class's constructor
};

}  // namespace anyplace::backend
