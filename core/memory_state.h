// SPDX-License-Identifier: Apache-2.0
//
// BufferState: what a buffer handle leads to; and the one seam between buffers and where their memory comes from: the
// device's caching allocator, an allocator that the application put in its place, or the backend's own allocations.
//
// Invariant: a buffer pins its own stream and every stream that record_stream named, so the backend's streams are there
// when the buffer is freed, however long ago the user destroyed them: the free can always be put in their order.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "anyplace/memory.h"
#include "event_state.h"
#include "everlasting.h"
#include "slots.h"
#include "stream_state.h"

namespace anyplace {
class Allocator;
}

namespace anyplace::detail {

struct Block;

constexpr std::size_t first_sweep_at = 32;

struct BufferState {
  static constexpr HandleKind handle_kind = HandleKind::buffer;

  DeviceState* device = nullptr;
  anyplace_address address = 0;
  std::uint64_t bytes = 0;
  std::uint32_t kind = ANYPLACE_MEMORY_DEVICE;
  bool owned = true;     ///< false: somebody else frees it
  bool ordered = false;  ///< the backend can free it in a stream's order
  Pin<StreamState> home;
  Block* block = nullptr;             ///< the caching allocator's, if it is from there
  std::shared_ptr<Allocator> custom;  ///< the application's, if it is from there

  std::mutex uses_mutex;                  // guards uses and sweep_at; a leaf
  std::vector<Pin<StreamState>> uses;     ///< streams of any device, each once (or rarely twice), not home
  std::size_t sweep_at = first_sweep_at;  ///< how many uses are enough to look for some that are over

  // -- While it waits to be freed. deferred_free.cpp alone looks at these.
  std::vector<std::unique_ptr<EventState>> behind;  ///< the memory is unused when all of them are complete
  bool unmarked = false;                            ///< an event is missing: only the device's idleness proves it
  BufferState* next = nullptr;

  /// Frees the memory in the order of its streams. Never waits. Inside a callback, the service thread does it.
  static void dispose(BufferState* buffer) noexcept;
};

extern constinit Everlasting<SlotTable<BufferState>> buffer_table;
inline SlotTable<BufferState>& buffers() noexcept { return buffer_table.value; }

/// A view with its buffer held in place and its address worked out. Of an empty view nothing is pinned and device is
/// null.
struct PinnedRange {
  Pin<BufferState> buffer;
  DeviceState* device = nullptr;
  anyplace_address address = 0;
  std::uint64_t bytes = 0;
};

/// Throws invalid_handle, or invalid_argument for a view that reaches beyond its buffer.
PinnedRange pin_range(const BufferView& view, const char* operation);

/// Fills in where the buffer's memory is, from wherever the device's buffers get theirs: memory that `stream` may use
/// at once, and others after it. device, kind and bytes are set; bytes isn't 0. Throws out_of_memory with the figures,
/// and what an application's own allocator throws.
void allocate_for(BufferState& buffer, StreamState& stream, const char* operation);

/// Gives memory back in the order of the buffer's streams, to where it came from. Never waits, never throws; not inside
/// callbacks.
void free_memory_of(std::unique_ptr<BufferState> buffer) noexcept;

/// The backend's own memory that `stream` may use at once, and others after it. kind is DEVICE or MANAGED; bytes isn't
/// 0. Frees what can be freed before it throws out_of_memory with the figures.
anyplace_address allocate_device_memory(StreamState& stream, std::uint32_t kind, std::uint64_t bytes,
                                        const char* operation);

/// Gives the backend its memory back when the work that its streams have by now is done. Never waits, never throws; not
/// inside callbacks.
void free_device_memory(std::unique_ptr<BufferState> buffer) noexcept;

/// The same Error with figures.
Error with_figures(const Error& plain, const MemoryFigures& figures);

/// The Error of an out_of_memory that a backend just returned, with the device's figures where `figures` has none: free
/// and, if that is less, limit. `text` isn't null: it is the reason, and no backend's. Takes the message away.
Error out_of_memory_error(DeviceState& device, MemoryFigures figures, const char* text, const char* operation);

}  // namespace anyplace::detail
