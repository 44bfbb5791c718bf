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
#include "anyplace/device.h"
#include "anyplace/error.h"

namespace anyplace::detail {

struct Backend;
struct DeferredFrees;
class DeviceAllocator;
struct DeviceAllocators;
struct HelperStreams;
class HostPool;

struct DeviceState {
  // -- Read on every call.
  const anyplace_backend_table* table = nullptr;
  void* self = nullptr;
  std::int32_t index = 0;
  /// Set by the first DEVICE_LOST of any entry (mark_lost in call.h), for good.
  std::atomic<bool> lost{false};
  /// The first Error that said so, if one did; never freed. Later ones give the vendor's reason from it.
  std::atomic<const Error*> loss{nullptr};
  /// Set when a stream is made on it: then there may be work to wait for at exit.
  std::atomic<bool> used{false};

  // -- Read now and then.
  std::atomic<bool> idle_at_exit{false};  ///< the exit waited for all work of the backend's devices, and saw its end
  Backend* backend = nullptr;
  std::string place;  ///< "cuda:0"

  std::mutex properties_mutex;  ///< guards the asking for properties; the backend is called under it
  std::atomic<bool> properties_known{false};
  anyplace_device_properties properties{};  ///< through properties_of() below; never changes once known

  std::mutex default_stream_mutex;  ///< guards the making of default_stream_id
  std::atomic<std::uint64_t> default_stream_id{0};

  /// What memory and stream code keep per device: made with the device, defined in deferred_free.h and
  /// helper_streams.h.
  DeferredFrees* deferred_frees = nullptr;
  HelperStreams* helper_streams = nullptr;

  /// Likewise: the caching allocator, and allocator/device_allocators.h and allocator/host_pool.h.
  DeviceAllocator* allocator = nullptr;
  DeviceAllocators* allocators = nullptr;
  HostPool* host_pool = nullptr;
  /// Whether Buffers get their memory from an allocator that an application put in.
  std::atomic<bool> has_custom_allocator{false};

  /// Bytes of Buffers of this device that are allocated and whose free was not asked for.
  std::atomic<std::uint64_t> bytes_in_use{0};
};

struct Backend {
  std::string name;
  std::string path;  ///< of the plugin's file
  anyplace_host host{};
  /// Zero, hence null, beyond what the plugin filled.
  anyplace_backend_table table{};
  std::vector<std::unique_ptr<DeviceState>> devices;
};

/// Loads the backend of that name if need be. `name` is a backend's own name, no alias. Throws no_such_backend.
/// `operation` is for the error's text. Concurrent calls for other names are not held up.
Backend& backend_of(const std::string& name, const char* operation);

/// The backend if it was loaded and accepted in this process, else null. Loads nothing.
Backend* loaded_backend(const std::string& name) noexcept;

/// Finds the device of a place; loads its backend if need be. Throws as the constructor of Device does.
DeviceState& resolve(const Place& place, const char* operation);

/// The device's properties, asked for once. Throws what the backend says.
const anyplace_device_properties& properties_of(DeviceState& device, const char* operation);

/// Whether the device says so; the loader has checked that the entries behind it are there.
bool has_capability(DeviceState& device, Capability capability, const char* operation);

/// Throws unsupported, naming the capability and the place, unless the device has it.
void require_capability(DeviceState& device, Capability capability, const char* operation);

}  // namespace anyplace::detail
