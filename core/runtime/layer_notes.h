// SPDX-License-Identifier: Apache-2.0
//
// What layers are told that calls to the backend don't show (anyplace_layer_table): whose memory is whose, what a
// kernel does to its arguments, what the host reads and writes, and which calls are the core's own bookkeeping.
//
// Invariant: without a layer that listens nobody is slower for it. The flag is read only on slow paths;
// `careful_memory` takes buffers to theirs, and the fast paths never look at either.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>

#include "anyplace/backend/layer.h"

namespace anyplace::detail {

struct Backend;
struct DeviceState;

/// Whether some layer has one of the functions. Set for good when it is put over its first backend.
extern std::atomic<bool> layers_listen_flag;
inline bool layers_listen() noexcept { return layers_listen_flag.load(std::memory_order_relaxed); }

/// Buffers are made and freed on the slow path while it isn't 0: the captures under way, and one more if layers listen.
extern std::atomic<std::uint32_t> careful_memory;

/// A layer that was put over some backend, in a list that only grows and is read without a lock. Never freed.
struct PutLayer {
  const anyplace_layer_table* table;
  const PutLayer* next;
};
/// The layer that was first put over a backend last; null if there are none.
const PutLayer* put_layers_list() noexcept;
/// Adds a layer, unless it is in the list: the runtime room's Subsystem::layer_put.
void add_put_layer(const anyplace_layer_table& table);

/// What layers are told of a HostBuffer's memory.
inline anyplace_layer_memory pinned_memory(anyplace_address address, std::uint64_t bytes) noexcept {
  anyplace_layer_memory memory{};
  memory.struct_size = sizeof(memory);
  memory.kind = ANYPLACE_MEMORY_PINNED;
  memory.address = address;
  memory.bytes = bytes;
  return memory;
}

// -- Each of these does nothing if no layer listens.
void note_memory_taken(const DeviceState& device, const anyplace_layer_memory& memory) noexcept;
void note_memory_returned(const DeviceState& device, const anyplace_layer_memory& memory) noexcept;
void note_argument(std::uint32_t access, anyplace_address address, std::uint64_t bytes) noexcept;
void note_launch_kept(const anyplace_launch& launch) noexcept;
void note_stream_waits(const DeviceState& device, anyplace_event event, std::uint64_t stream) noexcept;
/// Returns as note_host_access does.
anyplace_status note_engine_work(const DeviceState& device, std::uint64_t stream, const char* name,
                                 std::span<const anyplace_layer_access> accesses,
                                 std::span<const anyplace_layer_meeting> meetings) noexcept;
/// `copy` is what a host function of the core's own does; null for the application's.
void note_host_function(void* user, const anyplace_copy_2d* copy) noexcept;
/// Returns the first status that isn't OK; its message is the thread's.
anyplace_status note_host_access(std::uint32_t access, anyplace_address address, std::uint64_t bytes) noexcept;

/// Marks the thread's calls to backends as the core's own, for a scope.
class CoreCalls {
 public:
  CoreCalls() noexcept : told_(layers_listen()) {
    if (told_) [[unlikely]]
      tell(1);
  }
  CoreCalls(const CoreCalls&) = delete;  // it is bound to its scope
  CoreCalls& operator=(const CoreCalls&) = delete;
  ~CoreCalls() {
    if (told_) [[unlikely]]
      tell(0);
  }

 private:
  static void tell(std::uint32_t begin) noexcept;

  const bool told_;
};

}  // namespace anyplace::detail
