// SPDX-License-Identifier: Apache-2.0
//
// Device: a device of a backend, as a value. Making one loads the backend's plugin if this is the first use of its
// name.
//
// The current device is a property of each thread, for each backend on its own; it is 0 until set. It decides what a
// bare name ("cuda") means and nothing else: a stream runs on its own device whichever is current.
#pragma once

#include <chrono>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "export.h"
#include "place.h"

namespace anyplace {

namespace detail {
struct DeviceState;
}
class Device;
class StreamView;

/// Devices are ordered by the backend's name, then by index.
ANYPLACE_API std::strong_ordering operator<=>(const Device& a, const Device& b) noexcept;

/// A device may have each of these or lack it.
enum class Capability : std::uint32_t {
  timed_events = 0,           ///< events that measure time
  priorities = 1,             ///< streams of more than one priority
  blocking_streams = 2,       ///< streams that synchronise with the null stream
  host_functions = 3,         ///< host functions in a stream's order
  gates = 4,                  ///< waits that the host opens
  pinned_memory = 5,          ///< pinned host memory
  managed_memory = 6,         ///< memory that host and device share
  host_register = 7,          ///< pinning host memory of the user's own
  stream_ordered_memory = 8,  ///< allocating and freeing in a stream's order
  copy_2d = 9,                ///< pitched copies
  peer_copy = 10,             ///< copies between this backend's devices
  peer_access = 11,           ///< access to the memory of another device
  modules = 12,               ///< kernels from module images
  host_kernels = 13,          ///< kernels that are functions of this process
  native_handles = 14,        ///< the vendor's own handles of devices, streams and events
  stream_from_native = 15,    ///< wrapping the vendor's own streams
  interprocess_events = 16,   ///< events for several processes
  device_reset = 17,          ///< resetting the device
  virtual_memory = 18,        ///< addresses apart from the memory behind them
  list_processes = 19,        ///< telling which processes use the device
  host_copy = 20,             ///< copies and fills of host memory in a stream's order
  event_from_native = 21,     ///< wrapping the vendor's own events
  graphs = 22,  ///< graphs that the device launches as one; every device has graphs, others submit node by node
  interprocess_memory = 23,  ///< memory for several processes: BufferView::export_handle, Buffer::import
  monitoring = 24,           ///< telling how busy, full and hot the device is: monitor.h
};

/// "timed_events" and so on. Never null, never throws.
ANYPLACE_API const char* to_string(Capability capability) noexcept;
/// All capabilities, in the order of their numbers.
ANYPLACE_API std::span<const Capability> all_capabilities() noexcept;

/// A lower number is a higher priority; 0 is the default and always within. Both ends are 0 where the device has one
/// priority.
struct PriorityRange {
  int least = 0;     ///< the highest number
  int greatest = 0;  ///< the lowest number: runs first
};

/// The device's memory, in bytes. A member is empty where the vendor can't tell.
struct MemoryInfo {
  std::optional<std::uint64_t> free;   ///< bytes that nobody uses, for every process
  std::optional<std::uint64_t> total;  ///< bytes that there are, or the limit where one is set
};

/// The version of what an architecture can do: {9, 0} of "sm_90", {10, 3} of "gfx1030".
struct ComputeCapability {
  int major = 0;  ///< the first number
  int minor = 0;  ///< the second number

  friend auto operator<=>(const ComputeCapability&, const ComputeCapability&) = default;
};

/// A process that uses a device. A member or the name is empty where the vendor or the system can't tell.
struct DeviceProcess {
  std::uint64_t id = 0;                       ///< its number in this process's PID namespace
  std::optional<std::uint64_t> memory_bytes;  ///< how much of the device's memory it has
  std::string name;                           ///< the system's short name of it: /proc/ID/comm
  std::optional<bool> compute;                ///< it has compute work or contexts on the device
  std::optional<bool> graphics;               ///< it has graphics work or contexts there
  /// 0 to 1: its share of the device's time, over a span that the vendor chooses.
  std::optional<double> compute_utilization;
};

/// Facts about a device. Texts are empty where the vendor can't tell.
struct DeviceProperties {
  std::string name;          ///< the product, as the vendor spells it: "NVIDIA H100"
  std::string vendor;        ///< who made it
  std::string architecture;  ///< what code must be built for
  /// Known for NVIDIA's and AMD's devices; empty for an architecture whose name has no such numbers.
  std::optional<ComputeCapability> compute_capability;
  std::string driver_version;  ///< the version of the vendor's driver
  std::string uuid;  ///< a text that names the device on every machine: what the place NAME:uuid=... is compared with
  std::string pci;   ///< where it is on the PCI bus: "0000:17:00.0"
  std::optional<std::uint64_t> total_memory;  ///< bytes
  std::uint32_t compute_units = 0;            ///< blocks of a launch that run at the same time if nothing else does
  std::uint64_t address_alignment = 0;        ///< the alignment of every device allocation, in bytes
  std::uint64_t max_shared_bytes = 0;         ///< dynamic shared memory of one block
  std::uint32_t max_grid[3] = {};             ///< the most blocks of a launch in x, y and z
  std::uint32_t max_block[3] = {};            ///< the most threads of a block in x, y and z
  std::uint32_t max_threads_per_block = 0;    ///< the most threads of a block in all; a kernel may allow less
  PriorityRange priorities;                   ///< the numbers that StreamOptions::priority may have
  std::vector<Capability> capabilities;       ///< what it has, in the order of their numbers
  std::vector<std::string> image_formats;     ///< "ptx", "shared_object"

  // -- These are empty where the vendor can't tell.
  std::optional<std::uint64_t> clock_hz;         ///< the highest clock of the compute units
  std::optional<std::uint64_t> memory_clock_hz;  ///< the highest clock of the memory
  std::optional<std::uint64_t> l2_cache_bytes;   ///< bytes of the last-level cache of the compute units
  std::optional<std::uint64_t> max_allocation;   ///< bytes of one allocation
  std::optional<std::uint32_t> memory_bus_bits;  ///< bits that go to the memory and back at once
  std::optional<std::uint32_t> multiprocessors;  ///< as the vendor counts them: SMs, CUs, cores
  std::vector<std::uint32_t> sub_group_sizes;    ///< threads that run in step, ascending
  std::optional<bool> float16;                   ///< arithmetic with 16-bit floating point
  std::optional<bool> float64;                   ///< arithmetic with 64-bit floating point
  std::optional<bool> int64_atomics;             ///< atomic operations on 64-bit integers
  std::optional<bool> unified_addressing;        ///< no address is both the host's and the device's, nor two devices'
};

/// Two clocks read at the same moment, in nanoseconds.
struct ClockReading {
  /// The device's clock, which has a beginning of its own; timestamps of its events are read from it.
  std::uint64_t device_ns = 0;
  std::uint64_t host_ns = 0;  ///< std::chrono::steady_clock
};

/// A device. Copying is free. Equality, order and hash go by backend and index. A text isn't converted implicitly,
/// since that may load a plugin: compare with another Device, or compare to_string() with a text. Every member may be
/// called from any thread. Every member can throw device_lost, forked, shut_down, and not_permitted inside a host
/// function or kernel; each says what else it throws.
class ANYPLACE_API Device {
 public:
  /// Loads the backend if need be and finds the device. Throws no_such_backend (with the backends that there are, and
  /// why a plugin that was found is refused) or no_such_device (with the devices that there are).
  explicit Device(const Place& place);
  /// The device of a text: "cuda:0". Throws as above, and as Place does for a text that is no place.
  explicit Device(std::string_view place) : Device(Place(place)) {}
  /// The device of a text, as for a std::string_view.
  explicit Device(const char* place) : Device(Place(place)) {}
  /// The device of a text, as for a std::string_view.
  explicit Device(const std::string& place) : Device(Place(place)) {}

  /// "cuda:0": the backend's own name and the number, whatever alias or selector it was found by. Never throws.
  Place place() const;
  /// The text of place(): "cuda:0".
  std::string to_string() const;
  /// The name of its backend: "cuda". Valid for the life of the process.
  const std::string& backend() const noexcept;
  /// Its number among the devices of its backend, from 0.
  int index() const noexcept;

  /// Reads no device state and makes no vendor context.
  DeviceProperties properties() const;
  /// Whether the device has this capability.
  bool has(Capability capability) const;
  /// The priorities that its streams may have.
  PriorityRange priority_range() const;
  /// Free and total memory now, as the vendor tells, for all processes.
  MemoryInfo memory_info() const;
  /// Which processes use the device, as the vendor's driver tells at the time of the call, in no order. This process is
  /// among them at least while it has memory of the device. Processes of other containers aren't, as they have no
  /// number in this PID namespace. Throws unsupported where the device lacks Capability::list_processes.
  std::vector<DeviceProcess> processes() const;

  /// Returns when all work submitted to the device before the call is done. Faults of streams stay with their streams.
  void synchronize() const;
  /// Waits as above, but at most `timeout`: returns false if it ran out first, and the work goes on.
  [[nodiscard]] bool synchronize(std::chrono::nanoseconds timeout) const;

  /// Reads the device's clock and the host's as nearly at once as the backend can. Where the vendor has no call for it,
  /// an event is recorded on a stream that nothing else uses, and waited for. Throws unsupported where the device lacks
  /// Capability::timed_events.
  ClockReading clock() const;

  /// The null stream of this device.
  StreamView default_stream() const;
  /// The calling thread's own blocking stream on this device, made at first use and retired when the thread ends.
  StreamView per_thread_stream() const;

  /// Peer access: `peer` is a device of the same backend, else invalid_argument. Enabling twice is fine, and so is
  /// disabling what is not enabled. Throw unsupported where the backend has no peer access.
  bool can_access_peer(const Device& peer) const;
  /// Lets kernels and copies of this device reach the memory of `peer`.
  void enable_peer_access(const Device& peer) const;
  /// Takes that back.
  void disable_peer_access(const Device& peer) const;

  /// The vendor's device (CUdevice) and context (CUcontext), as numbers. Throw unsupported where there are none.
  std::uint64_t native_handle() const;
  /// The vendor's context (CUcontext). Asking may make it. Throws as native_handle() does.
  std::uint64_t native_context() const;

  /// Waits for the device's work and brings the device back to its first state. All its handles are invalid then but
  /// the null stream: of streams, events, buffers, modules and kernels. Their owners may be destroyed before or after.
  /// Throws unsupported on most devices, and invalid_argument while there are HostBuffers of it.
  void reset() const;

  friend bool operator==(const Device& a, const Device& b) noexcept { return a.state_ == b.state_; }
  friend std::strong_ordering operator<=>(const Device& a, const Device& b) noexcept;

  /// This is for anyplace's own use.
  explicit Device(detail::DeviceState* state) noexcept : state_(state) {}
  /// This is for anyplace's own use.
  detail::DeviceState* state() const noexcept { return state_; }

 private:
  detail::DeviceState* state_;
};

/// How many devices a backend has. Makes no vendor context. Throws no_such_backend as Device does, and no_such_device
/// if the plugin was refused because it has no device.
ANYPLACE_API int device_count(std::string_view backend);
/// All devices of a backend. Throws as above.
ANYPLACE_API std::vector<Device> devices(std::string_view backend);

/// The calling thread's current device of a backend. Throws as Device does.
ANYPLACE_API Device current_device(std::string_view backend);
/// Makes `device` the current one of its backend, on the calling thread. guard.h has the form that restores.
ANYPLACE_API void set_current_device(const Device& device);

}  // namespace anyplace

template <>
struct std::hash<anyplace::Device> {
  std::size_t operator()(const anyplace::Device& device) const noexcept {
    return std::hash<const void*>()(device.state());
  }
};
