// SPDX-License-Identifier: Apache-2.0
//
// LevelZeroBackend: implements the plugin's entries with the classes beside this file, and exports the plugin's
// function.
//
// The entries of four capabilities are null, and the core does without: reset, stream-ordered memory and registering
// host memory, which Level Zero lacks, and kernels that are functions of the host.
#include <algorithm>
#include <memory>
#include <vector>

#include "anyplace/backend/kit/class_backend.h"
#include "anyplace/backend/kit/descriptor_server.h"
#include "anyplace/version.h"
#include "copy.h"
#include "device.h"
#include "event.h"
#include "gate.h"
#include "graph.h"
#include "stream.h"
#include "variable.h"

namespace anyplace::levelzero {

using backend::Host;
using backend::to_handle;

namespace {

/// Calls get(&count, nullptr) for the number of handles, then get(&count, all). Null handles are dropped.
template <class Handle, class Get>
std::vector<Handle> get_all(const char* call, Get&& get) {
  std::uint32_t count = 0;
  Results::check(get(&count, nullptr), call);
  std::vector<Handle> all(count);
  if (count != 0) Results::check(get(&count, all.data()), call);
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
    Results::check(api().DeviceGetProperties(root, &properties), "zeDeviceGetProperties");
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
  Results::check(api().DriverGetApiVersion(driver, &version), "zeDriverGetApiVersion");
  return version;
}

}  // namespace

/// The `Parts` of anyplace/backend/kit/class_backend.h.
struct Parts {
  using Device = levelzero::Device;
  using Copies = levelzero::Copies;
  using Graph = levelzero::Graph;
  using Module = levelzero::Module;
  using Kernel = levelzero::Kernel;

  static constexpr const char* hiding_variables[] = {"ZE_AFFINITY_MASK"};
};

class LevelZeroBackend final : public backend::ClassBackend<Parts> {
 public:
  explicit LevelZeroBackend(Host host) : ClassBackend(host) {
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
    if (failure.result != ZE_RESULT_SUCCESS) Results::fail(failure.result, failure.call);
    return true;
  }

  std::uint64_t device_native(std::int32_t device, std::uint32_t kind) override {
    if (kind == ANYPLACE_NATIVE_CONTEXT) return to_handle(at(device).context());
    return to_handle(at(device).native());
  }
  void stream_wait_event(anyplace_stream stream, anyplace_event event) override {
    event_at(event).hold_back(stream_at(stream));
  }
  double event_elapsed(anyplace_event start, anyplace_event end) override {
    return event_at(start).milliseconds_to(event_at(end));
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

 private:
  static Gate& gate_at(anyplace_gate gate) { return *backend::from_handle<Gate>(gate); }

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
        if (device != peer && !device->can_access(*peer)) return false;
      }
    }
    return devices_.size() > 1;
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

  std::vector<std::unique_ptr<Context>> contexts_;
};

}  // namespace anyplace::levelzero

ANYPLACE_EXPORT_BACKEND(anyplace::levelzero::LevelZeroBackend, "levelzero", ANYPLACE_VERSION,
                        "GPUs through Level Zero, Intel's above all")
