// SPDX-License-Identifier: Apache-2.0
//
// LevelZeroBackend: implements the plugin's entries with the classes beside this file, and exports the plugin's
// function.
//
// The entries of four capabilities are null, and the core does without: reset, stream-ordered memory and registering
// host memory, which Level Zero lacks, and kernels that are functions of the host.
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "anyplace/backend/device_backend.h"
#include "anyplace/backend/kit/hidden_devices.h"
#include "anyplace/backend/kit/sampled.h"
#include "anyplace/version.h"
#include "copy.h"
#include "device.h"
#include "event.h"
#include "gate.h"
#include "graph.h"
#include "stream.h"
#include "variable.h"

namespace anyplace::levelzero {

using anyplace::backend::from_handle;
using anyplace::backend::Host;
using anyplace::backend::to_handle;

namespace {

/// Calls get(&count, nullptr) for the number of handles, then get(&count, all). Null handles are dropped.
template <class Handle, class Get>
std::vector<Handle> get_all(const char* call, Get&& get) {
  std::uint32_t count = 0;
  check(get(&count, nullptr), call);
  std::vector<Handle> all(count);
  if (count != 0) check(get(&count, all.data()), call);
  all.resize(std::min<std::size_t>(count, all.size()));
  std::erase(all, nullptr);
  return all;
}

bool wants_sub_devices() { return switch_variable("ANYPLACE_LEVELZERO_SUBDEVICES").value_or(false); }

std::vector<ze_device_handle_t> devices_of(ze_driver_handle_t driver) {
  std::vector<ze_device_handle_t> devices;
  const auto roots = get_all<ze_device_handle_t>("zeDeviceGet", [&](std::uint32_t* count, ze_device_handle_t* all) {
    return api().DeviceGet(driver, count, all);
  });
  for (const ze_device_handle_t root : roots) {
    ze_device_properties_t properties{};
    properties.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES;
    check(api().DeviceGetProperties(root, &properties), "zeDeviceGetProperties");
    if (properties.type != ZE_DEVICE_TYPE_GPU) continue;
    std::vector<ze_device_handle_t> parts;
    if (wants_sub_devices()) {
      parts = get_all<ze_device_handle_t>("zeDeviceGetSubDevices", [&](std::uint32_t* count, ze_device_handle_t* all) {
        return api().DeviceGetSubDevices(root, count, all);
      });
    }
    if (parts.empty()) parts.push_back(root);
    devices.insert(devices.end(), parts.begin(), parts.end());
  }
  return devices;
}

ze_api_version_t version_of(ze_driver_handle_t driver) {
  ze_api_version_t version = ZE_API_VERSION_1_0;
  check(api().DriverGetApiVersion(driver, &version), "zeDriverGetApiVersion");
  return version;
}

bool can_access(Device& device, Device& peer) {
  if (&device.driver_context() != &peer.driver_context()) return false;
  ze_bool_t can = 0;
  const ze_result_t result = api().DeviceCanAccessPeer(device.native(), peer.native(), &can);
  if (result != ZE_RESULT_SUCCESS) device.fail_with(result, "zeDeviceCanAccessPeer", peer);
  return can != 0;
}

}  // namespace

class LevelZeroBackend final : public anyplace::backend::DeviceBackend {
 public:
  explicit LevelZeroBackend(Host host) : host_(host) {
    load_loader();
    const auto drivers = get_all<ze_driver_handle_t>(
        "zeDriverGet", [](std::uint32_t* count, ze_driver_handle_t* all) { return api().DriverGet(count, all); });
    if (drivers.empty()) {
      refuse(ANYPLACE_STATUS_NO_DRIVER,
             "the Level Zero loader finds no driver\ninstall the device's (for Intel's GPUs "
             "libze_intel_gpu.so.1)");
    }
    std::unique_ptr<Failure> first_failure;
    for (const ze_driver_handle_t driver : drivers) {
      try {
        add_driver(driver);
      } catch (const Failure& failure) {
        // A driver that fails doesn't hide the devices of other drivers.
        host_.log(ANYPLACE_LOG_WARNING, failure.what());
        if (!first_failure) first_failure = std::make_unique<Failure>(failure);
      }
    }
    if (devices_.empty() && first_failure) throw Failure(*first_failure);
    const bool peers = all_are_peers();
    for (const auto& device : devices_) device->peers_can_copy = peers;
  }

  bool shutdown(std::uint64_t timeout_ns) override {
    const Deadline deadline(timeout_ns);
    backend::descriptor_server().stop();
    // A quarter of the time is kept for ending this backend's threads.
    const Deadline work_deadline(deadline.forever() ? timeout_ns : timeout_ns - timeout_ns / 4);
    for (const auto& device : devices_) {
      if (finish(*device, work_deadline)) continue;
      leave_threads(deadline);
      return false;
    }
    for (const auto& device : devices_) {
      if (device->host_functions().stop(deadline) && device->helper().stop(deadline)) continue;
      leave_threads(deadline);
      return false;
    }
    FirstFailure failure;
    for (const auto& device : devices_) device->close(failure);
    for (const auto& context : contexts_) context->close(failure);
    if (failure.result != ZE_RESULT_SUCCESS) fail_call(failure.result, failure.call);
    return true;
  }

  // -- Devices.
  std::int32_t device_count() override {
    static constexpr const char* hiding_variables[] = {"ZE_AFFINITY_MASK"};
    backend::note_hidden_devices(host_, hiding_variables);
    return static_cast<std::int32_t>(devices_.size());
  }
  void device_properties(std::int32_t device, anyplace_device_properties& out) override { at(device).properties(out); }
  std::uint64_t device_native(std::int32_t device, std::uint32_t kind) override {
    if (kind == ANYPLACE_NATIVE_CONTEXT) return to_handle(at(device).context());
    return to_handle(at(device).native());
  }
  void device_memory(std::int32_t device, anyplace_memory_info& out) override { at(device).memory_info(out); }
  bool device_synchronize(std::int32_t device, std::uint64_t timeout_ns) override {
    return at(device).synchronize(timeout_ns);
  }

  void device_sample(std::int32_t device, anyplace_device_sample& out) override {
    at(device).sysman().sample(out);
    // If the management interface knows nothing of the device, the device's own properties have to do.
    constexpr std::uint64_t total = std::uint64_t{1} << ANYPLACE_SAMPLE_BIT_MEMORY_TOTAL_BYTES;
    const std::uint64_t own = at(device).facts().total_memory;
    if ((out.known & total) == 0 && own != ANYPLACE_UNKNOWN) backend::Sampled(out).memory_total_bytes(own);
  }
  std::vector<anyplace_process> list_processes(std::int32_t device) override { return at(device).sysman().processes(); }

  // -- Peer access: where a device can access a peer, the access is always enabled.
  bool peer_query(std::int32_t device, std::int32_t peer) override {
    return device != peer && can_access(at(device), at(peer));
  }
  void peer_enable(std::int32_t device, std::int32_t peer) override {
    at(device).require();
    if (can_access(at(device), at(peer))) return;
    refuse(ANYPLACE_STATUS_UNSUPPORTED, "levelzero:" + std::to_string(device) +
                                            " can't reach the memory of levelzero:" + std::to_string(peer) +
                                            " (zeDeviceCanAccessPeer)");
  }
  void peer_disable(std::int32_t device, std::int32_t) override { at(device).require(); }

  // -- Streams.
  anyplace_stream stream_create(std::int32_t device, const anyplace_stream_desc& desc) override {
    return to_handle(make_stream(at(device), desc));
  }
  anyplace_stream stream_default(std::int32_t device, const anyplace_stream_desc& desc) override {
    return to_handle(make_null_stream(at(device), desc));
  }
  anyplace_stream stream_from_native(std::int32_t device, std::uint64_t native,
                                     const anyplace_stream_desc& desc) override {
    return to_handle(adopt_stream(at(device), native, desc));
  }
  std::uint64_t stream_native(anyplace_stream stream) override { return to_handle(stream_at(stream).native()); }
  void stream_destroy(anyplace_stream stream) override {
    Stream& ended = stream_at(stream);
    ended.device().work().remove(ended);
  }
  bool stream_query(anyplace_stream stream) override { return stream_at(stream).query(); }
  bool stream_synchronize(anyplace_stream stream, std::uint64_t timeout_ns) override {
    return stream_at(stream).synchronize(timeout_ns);
  }
  void stream_wait_event(anyplace_stream stream, anyplace_event event) override {
    event_at(event).hold_back(stream_at(stream));
  }
  void stream_host_function(anyplace_stream stream, anyplace_host_function function, void* user) override {
    Stream& on = stream_at(stream);
    Submission(on).append_host_step(on.device().host_functions(),
                                    [function, user](anyplace_status status) { function(user, status); });
  }

  // -- Gates.
  anyplace_gate gate_create(std::int32_t device) override { return to_handle(new Gate(at(device))); }
  void gate_open(anyplace_gate gate) override { gate_at(gate).open(); }
  void gate_destroy(anyplace_gate gate) override {
    const std::unique_ptr<Gate> ended(&gate_at(gate));
    ended->end();
  }
  void stream_wait_gate(anyplace_stream stream, anyplace_gate gate) override {
    stream_at(stream).wait(gate_at(gate).signal());
  }

  // -- Events.
  anyplace_event event_create(std::int32_t device, const anyplace_event_desc& desc) override {
    return to_handle(new Event(at(device), desc.flags));
  }
  void event_destroy(anyplace_event event) override { delete &event_at(event); }
  void event_record(anyplace_event event, anyplace_stream stream) override {
    event_at(event).record(stream_at(stream));
  }
  bool event_query(anyplace_event event) override { return event_at(event).query(); }
  bool event_synchronize(anyplace_event event, std::uint64_t timeout_ns) override {
    return event_at(event).synchronize(timeout_ns);
  }
  double event_elapsed(anyplace_event start, anyplace_event end) override {
    return event_at(start).milliseconds_to(event_at(end));
  }
  std::uint64_t event_native(anyplace_event event) override { return to_handle(event_at(event).native()); }

  // -- Memory.
  anyplace_address memory_allocate(std::int32_t device, std::uint32_t kind, std::uint64_t bytes) override {
    return at(device).memory().allocate(kind, bytes);
  }
  void memory_free(std::int32_t device, std::uint32_t kind, anyplace_address address) override {
    at(device).memory().free(kind, address);
  }

  // -- Sharing between processes.
  void memory_export(std::int32_t device, anyplace_address address, std::uint64_t, anyplace_ipc_handle& out) override {
    at(device).shared_memory().export_memory(address, out);
  }
  void memory_export_end(std::int32_t device, anyplace_address address, const anyplace_ipc_handle&) override {
    at(device).shared_memory().end_export(address);
  }
  anyplace_address memory_import(std::int32_t device, const anyplace_ipc_handle& handle) override {
    return at(device).shared_memory().import_memory(handle);
  }
  void memory_import_end(std::int32_t device, anyplace_address address) override {
    at(device).shared_memory().end_import(address);
  }

  void event_export(anyplace_event event, anyplace_ipc_handle& out) override { event_at(event).export_to(out); }
  anyplace_event event_import(std::int32_t device, const anyplace_ipc_handle& handle) override {
    return to_handle(new Event(at(device), SharedEvent::import(handle, "Level Zero")));
  }

  // -- Copies and fills.
  void memory_copy(anyplace_stream stream, anyplace_address destination, anyplace_address source, std::uint64_t bytes,
                   std::uint32_t kind) override {
    copy(stream_at(stream), destination, source, bytes, kind);
  }
  void memory_copy_2d(anyplace_stream stream, const anyplace_copy_2d& lines) override {
    copy_2d(stream_at(stream), lines);
  }
  void memory_copy_peer(anyplace_stream stream, std::int32_t destination_device, anyplace_address destination,
                        std::int32_t source_device, anyplace_address source, std::uint64_t bytes) override {
    copy_peer(stream_at(stream), at(destination_device), destination, at(source_device), source, bytes);
  }
  void memory_set(anyplace_stream stream, anyplace_address address, std::uint32_t value, std::uint32_t width,
                  std::uint64_t count) override {
    fill(stream_at(stream), address, value, width, count);
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
  void kernel_launch(anyplace_stream stream, anyplace_kernel kernel, const anyplace_launch& launch) override {
    from_handle<Kernel>(kernel)->launch(stream_at(stream), launch);
  }

  // -- Graphs.
  anyplace_graph graph_create(std::int32_t device, const anyplace_graph_desc& desc) override {
    return to_handle(new Graph(at(device), desc));
  }
  void graph_update(anyplace_graph, const anyplace_graph_desc&) override {
    refuse(ANYPLACE_STATUS_UNSUPPORTED, "a closed command list can't be changed: another graph has to be made");
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
    VirtualMemory::destroy(from_handle<PhysicalRef>(physical));
  }
  void virtual_map(std::int32_t device, anyplace_address address, anyplace_physical physical) override {
    virtual_memory_of(device).map(address, *from_handle<PhysicalRef>(physical));
  }
  void virtual_unmap(std::int32_t device, anyplace_address address, std::uint64_t bytes) override {
    virtual_memory_of(device).unmap(address, bytes);
  }

 private:
  static Stream& stream_at(anyplace_stream stream) { return *from_handle<Stream>(stream); }
  static Event& event_at(anyplace_event event) { return *from_handle<Event>(event); }
  static Gate& gate_at(anyplace_gate gate) { return *from_handle<Gate>(gate); }
  Device& at(std::int32_t device) { return *devices_.at(static_cast<std::size_t>(device)); }

  VirtualMemory& virtual_memory_of(std::int32_t device) {
    if (!VirtualMemory::is_supported()) {
      refuse(ANYPLACE_STATUS_UNSUPPORTED, "the Level Zero loader is too old for virtual memory");
    }
    if (!VirtualMemory::is_offered()) {
      refuse(
          ANYPLACE_STATUS_UNSUPPORTED,
          "virtual memory is not offered: that memory can be mapped at several addresses at once has not been seen on "
          "a device; ANYPLACE_LEVELZERO_VIRTUAL_MEMORY=1 offers it");
    }
    return at(device).virtual_memory();
  }

  void add_driver(ze_driver_handle_t driver) {
    auto context = std::make_unique<Context>(driver, version_of(driver));
    std::vector<std::unique_ptr<Device>> made;
    const auto handles = devices_of(driver);
    for (const ze_device_handle_t handle : handles) {
      const std::size_t index = devices_.size() + made.size();
      made.push_back(std::make_unique<Device>(host_, *context, handle, static_cast<std::int32_t>(index)));
    }
    contexts_.push_back(std::move(context));
    for (auto& device : made) devices_.push_back(std::move(device));
  }

  bool all_are_peers() const {
    for (const auto& device : devices_) {
      for (const auto& peer : devices_) {
        if (device != peer && !can_access(*device, *peer)) return false;
      }
    }
    return devices_.size() > 1;
  }

  /// Waits for the device's work, if there is any. Returns false if time ran out.
  static bool finish(Device& device, const Deadline& deadline) {
    if (device.lost()) return true;
    try {
      return device.synchronize(deadline.left());
    } catch (const Failure&) {
      return true;  // there is nothing to wait for on a device that fails here
    }
  }

  /// Abandons the threads that couldn't be ended. The driver is shut down next, and no thread may be in one of its
  /// calls then, or make another.
  void leave_threads(const Deadline& deadline) noexcept {
    bool out = true;
    for (const auto& device : devices_) {
      device->host_functions().abandon();
      device->helper().abandon();
    }
    for (const auto& device : devices_) {
      out = device->host_functions().wait_for_last_call(deadline) && out;
      out = device->helper().wait_for_last_call(deadline) && out;
    }
    if (!out) host_.log(ANYPLACE_LOG_WARNING, "a call of the driver's doesn't return: its thread is left in it");
  }

  const Host host_;
  std::vector<std::unique_ptr<Context>> contexts_;
  std::vector<std::unique_ptr<Device>> devices_;
};

}  // namespace anyplace::levelzero

ANYPLACE_EXPORT_BACKEND(anyplace::levelzero::LevelZeroBackend, "levelzero", ANYPLACE_VERSION,
                        "GPUs through Level Zero, Intel's above all")
