// SPDX-License-Identifier: Apache-2.0
//
// Backend: an accepted plugin and its devices, as the core holds them. Made by the registry, never destroyed, so
// pointers to a Backend or a DeviceState are good for the life of the process.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "anyplace/backend/abi.h"
#include "anyplace/backend/layer.h"
#include "anyplace/device.h"
#include "anyplace/error.h"

namespace anyplace::detail {

struct Backend;
struct DeferredFrees;
class DeviceAddresses;
class DeviceAllocator;
struct DeviceAllocators;
class DeviceClock;
struct EventPool;
struct HelperStreams;
class HostPool;
class PressureCallbacks;

struct DeviceState {
  // -- Read on every call.
  const anyplace_backend_table* table = nullptr;
  void* self = nullptr;
  std::int32_t index = 0;
  /// Set by the first DEVICE_LOST of any entry (mark_lost in call.h), for good.
  std::atomic<bool> lost{false};
  /// The first Error with the vendor's reason for the loss; null if there was none. Later device_lost errors repeat
  /// that reason. Never freed.
  std::atomic<const Error*> loss{nullptr};
  /// Somebody was told of the loss: an Error said it, or the error handler got it.
  mutable std::atomic<bool> loss_is_told{false};
  /// Set when a stream is made on the device: then there may be work to wait for at exit.
  std::atomic<bool> used{false};

  // -- Read now and then.
  /// How many calls of Device::reset there were; each ended all handles of the device.
  std::atomic<std::uint64_t> resets{0};
  std::atomic<bool> idle_at_exit{false};  ///< at exit, all work of the backend's devices was seen to be done
  Backend* backend = nullptr;
  std::string place;  ///< "cuda:0"

  std::mutex properties_mutex;  ///< serialises asking the backend for the properties; the backend is called under it
  std::atomic<bool> properties_known{false};
  anyplace_device_properties properties{};  ///< read through properties_of() (plugins/); never changes once known

  std::mutex default_stream_mutex;  ///< serialises making the default stream; the backend is called under it
  std::atomic<std::uint64_t> default_stream_id{0};

  // -- The subsystems' data for the device (subsystem.h): made with it, never destroyed.
  HelperStreams* helper_streams = nullptr;
  EventPool* event_pool = nullptr;
  DeferredFrees* deferred_frees = nullptr;
  PressureCallbacks* pressure = nullptr;
  DeviceAllocator* allocator = nullptr;
  DeviceAllocators* allocators = nullptr;
  HostPool* host_pool = nullptr;
  DeviceAddresses* addresses = nullptr;
  DeviceClock* clock = nullptr;
  /// Whether Buffers get their memory from an allocator that an application put in.
  std::atomic<bool> has_custom_allocator{false};

  /// Bytes of Buffers of this device that are allocated and whose free was not asked for.
  std::atomic<std::uint64_t> bytes_in_use{0};
};

/// Whether the device's operations take virtual time. False if its properties were never asked for, as they are for any
/// work.
inline bool is_known_in_virtual_time(const DeviceState& device) noexcept {
  return device.properties_known.load(std::memory_order_acquire) &&
         (device.properties.features & ANYPLACE_FEATURE_VIRTUAL_TIME) != 0;
}

/// Whether a device whose operations take virtual time was ever asked for its properties.
inline constinit std::atomic<bool> any_in_virtual_time{false};

/// A layer over a backend (plugins/layer_stack.h).
struct BackendLayer {
  std::string name;
  anyplace_backend_table next{};                ///< the table that the layer calls
  void (*end)(void* instance) = nullptr;        ///< anyplace_layer_table::end; may be null
  void* instance = nullptr;                     ///< the self of the layer's table
  const anyplace_layer_table* table = nullptr;  ///< the plugin's, for what it is told (layer_notes.h)
};

struct Backend {
  std::string name;
  std::string path;  ///< the path of the plugin's file
  anyplace_host host{};
  /// The table that the core calls: the plugin's, or that of the outermost layer. Entries beyond those that were filled
  /// are null.
  anyplace_backend_table table{};
  std::vector<std::unique_ptr<BackendLayer>> layers;  ///< the outermost first; fixed before the devices are made
  std::vector<std::unique_ptr<DeviceState>> devices;
  /// The backend's note on what may hide further devices; often empty.
  std::string hidden_note;
};

/// Adds a backend whose devices have been made. Throws bad_alloc.
void add_accepted(Backend& backend);
/// Calls the layers' `end`, the outermost first.
void end_layers(const Backend& backend) noexcept;
/// All accepted backends, in the order of their acceptance.
std::vector<Backend*> accepted_backends();

}  // namespace anyplace::detail
