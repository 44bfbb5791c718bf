// SPDX-License-Identifier: Apache-2.0
//
// Subsystem: the functions of a room of the core for moments that rooms below it notice: a backend is about to be
// loaded, a device was made or lost, a stream ends, the process forks or exits. So that no room calls one above it, a
// room registers its functions in its subsystem.cpp, and core/subsystems.cpp lists the rooms from the lowest to the
// highest.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "anyplace/backend/abi.h"

struct anyplace_layer_table;

namespace anyplace::detail {

struct DeviceState;
struct StreamState;

/// A null function is skipped. Functions that are noexcept may run on any thread, also inside a callback.
struct Subsystem {
  /// Sets the functions of `host` that the subsystem offers to backends.
  void (*offer)(anyplace_host& host) noexcept = nullptr;
  /// Makes the subsystem's data for a device. Calls no entry of the backend. May throw bad_alloc, and is then called
  /// again for the same device.
  void (*device_made)(DeviceState& device) = nullptr;
  /// Called when a layer is put over a backend that isn't in use yet, perhaps again. The table is there for the life of
  /// the process, and its size says what the layer filled. May throw bad_alloc, and then the layer isn't put there.
  void (*layer_put)(const anyplace_layer_table& table) = nullptr;
  /// Called when the device was just marked lost.
  void (*device_lost)(DeviceState& device) noexcept = nullptr;
  /// Makes calls with handles of this device (null: of every device) take the slow path from now on.
  void (*close_fast_path)(const DeviceState* device) noexcept = nullptr;
  /// Called when the stream's last pin was dropped; the backend's stream still exists. Not called inside a callback.
  void (*stream_ended)(StreamState& stream) noexcept = nullptr;
  /// Called when memory of the device is needed: ends objects that the program has let go of and whose work is done;
  /// with `wait`, waits for that work. False if there was nothing. Called with no lock held, and not inside a callback.
  bool (*end_let_go)(DeviceState& device, bool wait) noexcept = nullptr;
  /// A note about a stream's handle that leads nowhere, from the calling thread's state. It is appended to the error's
  /// text. Throws bad_alloc.
  std::string (*note_on_missing)(std::uint64_t stream_id) = nullptr;
  /// Called in the child of a fork that may not use the backends. It may not lock, allocate or call a backend.
  void (*forked)() noexcept = nullptr;
  /// Called before a fork, and after it in both processes: locks the mutexes that a child that may use backends needs
  /// to find unlocked, and unlocks them. No lock is taken under such a lock.
  void (*before_fork)() noexcept = nullptr;
  void (*after_fork)() noexcept = nullptr;
  /// Makes a shared object of an image in SPIR-V, for a device that takes the one and not the other. Throws
  /// invalid_image if that can't be done, and what compile() throws.
  std::string (*translate_spirv)(DeviceState& device, std::span<const std::byte> image,
                                 const char* operation) = nullptr;

  // -- Called at exit, in this order, and not inside a callback.
  using Clock = std::chrono::steady_clock;
  /// Waits until the device's work is done. False if time ran out. Throws the error that the device failed with.
  bool (*wait_for_device)(DeviceState& device, std::uint64_t timeout_ns) = nullptr;
  /// Called when that wait is over for all devices of the backend. `all_idle`: none of them has work left.
  void (*after_wait)(DeviceState& device, bool all_idle) noexcept = nullptr;
  /// Waits until no submission is held back any more. False if time ran out.
  bool (*settle)(std::chrono::nanoseconds timeout) noexcept = nullptr;
  /// Releases the objects of closed handles, and memory that is kept for further calls. May call backends.
  void (*end_unused)() noexcept = nullptr;
  /// Frees the device's memory and events that are kept for reuse, as far as there is time.
  void (*give_back)(DeviceState& device, Clock::time_point deadline) noexcept = nullptr;
};

/// The runtime room's own subsystem, which offers backends the functions in host_table.cpp.
extern constinit const Subsystem runtime_subsystem;

/// All subsystems, from the lowest room to the highest. Defined in core/subsystems.cpp.
std::span<const Subsystem* const> subsystems() noexcept;

}  // namespace anyplace::detail
