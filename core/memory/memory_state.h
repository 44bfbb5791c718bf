// SPDX-License-Identifier: Apache-2.0
//
// BufferState is the object of a buffer's handle. Below it are the functions through which buffers get their memory:
// from the device's caching allocator, from an allocator that the application put in its place, or from the backend
// itself.
//
// Invariant: a buffer pins its own stream and every stream that record_stream named. So the backend's streams still
// exist when the buffer is freed, even if the user has destroyed them, and the free can always be put in their order.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <utility>
#include <variant>
#include <vector>

#include "anyplace/memory.h"
#include "handles/slots.h"
#include "memory/buffer_origin.h"
#include "runtime/no_destructor.h"
#include "streams/event_state.h"
#include "streams/stream_state.h"

namespace anyplace::detail {

struct BufferExport;

/// Destroys what a buffer keeps for the processes that have its memory, too (buffer_sharing.h).
struct EndBufferExport {
  void operator()(BufferExport* exported) const noexcept;
};

constexpr std::size_t first_sweep_at = 32;

struct BufferState {
  static constexpr HandleKind handle_kind = HandleKind::buffer;

  DeviceState* device = nullptr;
  anyplace_address address = 0;
  std::uint64_t bytes = 0;
  std::uint32_t kind = ANYPLACE_MEMORY_DEVICE;
  /// An alignment beyond the device's own takes `slack` additional bytes, of which `lead` lie before `address`.
  std::uint64_t lead = 0;
  std::uint64_t slack = 0;
  bool booked = false;  ///< entered in the address book
  Pin<StreamState> home;
  BufferOrigin origin;
  /// Null until the buffer is exported. Written once, under a lock of buffer_sharing.cpp.
  std::unique_ptr<BufferExport, EndBufferExport> exported;

  std::mutex uses_mutex;  // guards uses and sweep_at; a leaf
  /// The other streams, of any device, that use the buffer. Each is in it once, or twice if it was added while
  /// sweep_uses() had taken the others out.
  std::vector<Pin<StreamState>> uses;
  std::size_t sweep_at = first_sweep_at;  ///< the number of uses at which sweep_uses() removes finished ones

  // -- Used only by deferred_free.cpp, while the buffer waits to be freed.
  std::vector<std::unique_ptr<EventState>> behind;  ///< the memory is unused once all of these are complete
  /// An event is missing, so only an idle device shows that the memory is unused.
  bool unmarked = false;
  /// A stream that used it was on another device, which was lost; the buffer's own device may have unmarked work for
  /// that stream.
  bool left_open = false;
  BufferState* next = nullptr;

  anyplace_address allocation() const noexcept { return address - lead; }
  std::uint64_t allocated() const noexcept { return bytes + slack; }

  /// Frees the memory in the order of its streams. Never waits. Inside a callback it leaves that to the service thread.
  static void dispose(BufferState* buffer) noexcept;
};

extern constinit NoDestructor<SlotTable<BufferState>> buffer_table;
inline SlotTable<BufferState>& buffers() noexcept { return buffer_table.value; }

/// A view's address and size, with its buffer pinned. For an empty view no buffer is pinned, and device is null.
struct PinnedRange {
  Pin<BufferState> buffer;
  DeviceState* device = nullptr;
  anyplace_address address = 0;
  std::uint64_t bytes = 0;
};

/// Throws invalid_handle, or invalid_argument for a view that reaches beyond its buffer.
PinnedRange pin_range(const BufferView& view, const char* operation);

/// Adds a stream whose work uses the memory, unless the buffer has it. The caller keeps the buffer from being freed
/// meanwhile. Throws bad_alloc.
void add_use(BufferState& buffer, Pin<StreamState> user);
/// Removes the uses by streams that have no work left.
void drop_idle_uses(BufferState& buffer) noexcept;

/// Takes an exported buffer that is being freed while another process has it open, and keeps its memory; otherwise it
/// leaves the buffer with the caller. Must not be called inside callbacks. Defined in buffer_sharing.cpp.
void keep_while_shared(std::unique_ptr<BufferState>& buffer) noexcept;

/// Makes the handle of a buffer that has its memory. Throws if there is no room for a handle.
std::uint64_t open_buffer(std::unique_ptr<BufferState> state, const char* operation);

/// Allocates the buffer's memory from wherever the device's buffers get theirs, and fills in where it is. `stream` may
/// use the memory at once, other streams after it. The caller has set device, kind and bytes, which isn't 0, and has
/// checked the options, whose kind is the buffer's. Throws out_of_memory with the figures, and what an application's
/// own allocator throws.
void allocate_for(BufferState& buffer, StreamState& stream, const BufferOptions& options, const char* operation);
/// Does what allocate_for() does if the caching allocator has the memory at hand. If it hasn't, returns false and
/// allocates nothing.
bool allocate_cached_for(BufferState& buffer, StreamState& stream, const BufferOptions& options, const char* operation);

/// Enters memory that the allocators don't know into the address book. Throws bad_alloc.
void enter_in_book(BufferState& buffer);
void strike_from_book(BufferState& buffer) noexcept;

/// Calls free() of the buffer's origin.
inline void free_memory_of(std::unique_ptr<BufferState> buffer) noexcept {
  const BufferOrigin& origin = buffer->origin;
  std::visit([&]<class Origin>(const Origin&) { Origin::free(std::move(buffer)); }, origin);
}
/// Calls give_back() of the buffer's origin.
inline void give_memory_back(std::unique_ptr<BufferState> buffer) noexcept {
  const BufferOrigin& origin = buffer->origin;
  std::visit([&]<class Origin>(const Origin&) { Origin::give_back(std::move(buffer)); }, origin);
}

/// Allocates memory from the backend. `stream` may use it at once, other streams after that stream. kind is DEVICE or
/// MANAGED; bytes isn't 0. Waits for deferred frees before it throws out_of_memory with the figures.
anyplace_address allocate_device_memory(StreamState& stream, std::uint32_t kind, std::uint64_t bytes,
                                        const char* operation);

/// Returns a copy of the Error, with figures.
Error with_figures(const Error& plain, const MemoryFigures& figures);

/// Returns the Error of an out_of_memory that a backend has just returned. Figures that `figures` lacks come from the
/// device: free and, if that is less, limit. If `text` isn't null, the core itself refused the allocation for that
/// reason. Takes the thread's message.
Error out_of_memory_error(DeviceState& device, MemoryFigures figures, const char* text, const char* operation);

}  // namespace anyplace::detail
