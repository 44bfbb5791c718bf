// SPDX-License-Identifier: Apache-2.0
// Buffer and BufferView: handles, ranges, and the streams that use a buffer. buffer_memory.cpp chooses where the memory
// comes from.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <new>
#include <string>
#include <utility>

#include "anyplace/memory.h"
#include "anyplace/stream.h"
#include "memory/address_book.h"
#include "memory/capture_frees.h"
#include "memory/graph_pool.h"
#include "memory/host_ranges.h"
#include "memory/memory_state.h"
#include "plugins/device_properties.h"
#include "runtime/layer_notes.h"
#include "runtime/service.h"

namespace anyplace {

namespace detail {

constinit NoDestructor<SlotTable<BufferState>> buffer_table("buffer");

namespace {

/// Whether layers hear of the buffer: memory of graphs' pools and memory of others' isn't anybody's to give back.
bool is_told_of(const BufferState& buffer) noexcept {
  return layers_listen() && !is_from<RegionMemory>(buffer.origin) && !is_from<WrappedMemory>(buffer.origin) &&
         !is_from<PinnedMemory>(buffer.origin) && buffer.address != 0;
}

anyplace_layer_memory described(const BufferState& buffer) noexcept {
  anyplace_layer_memory memory{};
  memory.struct_size = sizeof(memory);
  memory.kind = buffer.kind;
  memory.address = buffer.address;
  memory.bytes = buffer.bytes;
  memory.stream = buffer.home ? buffer.home->id : 0;
  return memory;
}

void note_given_back(const BufferState& buffer) noexcept {
  if (!is_told_of(buffer) || !process_running()) return;
  anyplace_layer_memory memory = described(buffer);
  std::vector<std::uint64_t> users;
  try {
    for (const Pin<StreamState>& use : buffer.uses) users.push_back(use->id);
  } catch (const std::bad_alloc&) {  // the layer hears of fewer
  }
  memory.users = users.data();
  memory.user_count = static_cast<std::uint32_t>(users.size());
  note_memory_returned(*buffer.device, memory);
}

}  // namespace

void BufferState::dispose(BufferState* buffer) noexcept {
  if (in_callback()) {
    post_release([buffer] { dispose(buffer); });
    return;
  }
  std::unique_ptr<BufferState> owner(buffer);
  // A graph pool notes itself which captures use its regions, and they go back to it in any case.
  if (is_from<RegionMemory>(owner->origin)) return RegionMemory::free(std::move(owner));
  if (any_capture()) {
    if (keep_for_capture(owner)) return;
    note_given_back(*owner);
  }
  strike_from_book(*owner);
  // Once the backend is shut down, the process's end frees the memory.
  if (!backends_callable()) return;
  if (owner->exported != nullptr) keep_while_shared(owner);
  if (owner != nullptr) free_memory_of(std::move(owner));
}

namespace {

DeviceAddresses::List list_of(const BufferState& buffer) noexcept {
  return is_from<RawMemory>(buffer.origin) ? DeviceAddresses::List::allocations : DeviceAddresses::List::wrapped;
}

/// Whether the caching allocator may know more bytes than the buffer has. An application's allocator may itself use the
/// caching one.
bool has_slack_in_allocator(const BufferState& buffer) noexcept {
  return buffer.slack != 0 && (is_from<CachedMemory>(buffer.origin) || is_from<CustomMemory>(buffer.origin));
}

}  // namespace

void enter_in_book(BufferState& buffer) {
  if (is_from<RegionMemory>(buffer.origin)) return;
  DeviceAddresses& book = *buffer.device->addresses;
  const bool has_slack = has_slack_in_allocator(buffer);
  if (has_slack) book.add_aligned(buffer.allocation(), buffer.allocated(), buffer.address, buffer.bytes);
  buffer.booked = has_slack;
  if (is_from<CachedMemory>(buffer.origin)) return;
  const AddressKind kind = buffer.kind == ANYPLACE_MEMORY_MANAGED ? AddressKind::managed : AddressKind::device;
  try {
    book.add(list_of(buffer), kind, buffer.address, buffer.bytes);
  } catch (...) {
    if (has_slack) book.remove_aligned(buffer.allocation(), buffer.allocated());
    buffer.booked = false;
    throw;
  }
  buffer.booked = true;
}

void strike_from_book(BufferState& buffer) noexcept {
  if (!std::exchange(buffer.booked, false)) return;
  DeviceAddresses& book = *buffer.device->addresses;
  if (has_slack_in_allocator(buffer)) book.remove_aligned(buffer.allocation(), buffer.allocated());
  if (!is_from<CachedMemory>(buffer.origin)) book.remove(list_of(buffer), buffer.address, buffer.bytes);
}

PinnedRange pin_range(const BufferView& view, const char* operation) {
  PinnedRange range;
  if (view.id() == 0 && view.size_bytes() == 0) return range;
  range.buffer = buffers().pin(view.id(), operation);
  BufferState& buffer = *range.buffer;
  range.device = buffer.device;
  if (view.offset_bytes() > buffer.bytes || view.size_bytes() > buffer.bytes - view.offset_bytes()) {
    fail(ErrorCode::invalid_argument, buffer.device->place, operation,
         fmt::format("a view of {} bytes from offset {} reaches beyond its buffer, which has {} bytes",
                     view.size_bytes(), view.offset_bytes(), buffer.bytes));
  }
  range.address = buffer.address + view.offset_bytes();
  range.bytes = view.size_bytes();
  return range;
}

namespace {

bool is_idle(const Pin<StreamState>& use) noexcept { return is_surely_idle(*use, "Buffer: freeing memory"); }

/// Whether a stream was destroyed and has no work left. A stream of a lost device counts as idle, but copies that the
/// buffer's own device makes for it may be left.
bool is_over(const BufferState& buffer, const Pin<StreamState>& use) noexcept {
  const bool lost_elsewhere = use->device != buffer.device && use->device->lost.load(std::memory_order_relaxed);
  return !lost_elsewhere && !streams().try_pin(use->id) && is_idle(use);
}

/// Releases streams that were destroyed and have no work left, so that a long-lived buffer doesn't keep every stream
/// that ever used it. The buffer is pinned, so nobody frees it while its uses are taken out.
void sweep_uses(BufferState& buffer) {
  std::vector<Pin<StreamState>> uses;
  {
    const std::lock_guard lock(buffer.uses_mutex);
    if (buffer.uses.size() < buffer.sweep_at) return;
    uses.swap(buffer.uses);
  }
  std::erase_if(uses, [&](const Pin<StreamState>& use) { return is_over(buffer, use); });
  const std::lock_guard lock(buffer.uses_mutex);
  for (Pin<StreamState>& added : buffer.uses) uses.push_back(std::move(added));
  buffer.uses = std::move(uses);
  buffer.sweep_at = std::max<std::size_t>(first_sweep_at, buffer.uses.size() * 2);
}

}  // namespace

void add_use(BufferState& buffer, Pin<StreamState> user) {
  sweep_uses(buffer);
  const std::lock_guard lock(buffer.uses_mutex);
  const auto is_user = [&](const auto& use) { return use.get() == user.get(); };
  if (std::none_of(buffer.uses.begin(), buffer.uses.end(), is_user)) buffer.uses.push_back(std::move(user));
}

void drop_idle_uses(BufferState& buffer) noexcept { std::erase_if(buffer.uses, is_idle); }

namespace {

/// Whether the buffer wraps memory of a HostBuffer, which notes the streams that use it.
bool is_host_buffers(const BufferState& state) noexcept {
  return is_from<WrappedMemory>(state.origin) && host_ranges().contains(static_cast<std::uintptr_t>(state.address));
}

/// Opens the handle. Copies take the slow path for memory that isn't the device's alone.
void publish(std::uint64_t id, std::unique_ptr<BufferState> state) noexcept {
  const bool careful = state->kind != ANYPLACE_MEMORY_DEVICE || is_host_buffers(*state);
  buffers().publish(id, state.release(), careful);
}

/// Tells layers of the buffer before anybody can use it. Calls with it then take the slow path, so that they hear of
/// its uses, too.
[[gnu::noinline, gnu::cold]] void publish_watched(std::uint64_t id, std::unique_ptr<BufferState> state) noexcept {
  if (is_told_of(*state)) note_memory_taken(*state->device, described(*state));
  publish(id, std::move(state));
  if (layers_listen()) buffers().set_careful(id, true);
}

}  // namespace

std::uint64_t open_buffer(std::unique_ptr<BufferState> state, const char* operation) {
  const std::uint64_t id = buffers().reserve(operation);
  try {
    enter_in_book(*state);
  } catch (...) {
    buffers().cancel(id);
    throw;
  }
  publish(id, std::move(state));
  if (layers_listen()) buffers().set_careful(id, true);
  return id;
}

namespace {

std::uint32_t kind_of(MemoryKind kind, DeviceState& device, const char* operation) {
  switch (kind) {
    case MemoryKind::device:
      return ANYPLACE_MEMORY_DEVICE;
    case MemoryKind::managed:
      require_capability(device, Capability::managed_memory, operation);
      return ANYPLACE_MEMORY_MANAGED;
  }
  fail(ErrorCode::invalid_argument, device.place, operation,
       fmt::format("memory kind {} does not exist", static_cast<int>(kind)));
}

std::uint64_t make_buffer(const StreamView& view, std::uint64_t bytes, const BufferOptions& options,
                          const char* operation) {
  Pin<StreamState> stream = streams().pin(view.id(), operation);
  DeviceState& device = *stream->device;
  require_usable(device, operation);
  const std::uint32_t kind = kind_of(options.kind, device, operation);
  if ((options.alignment & (options.alignment - 1)) != 0) {
    fail(ErrorCode::invalid_argument, device.place, operation,
         fmt::format("an alignment of {} bytes is no power of two", options.alignment));
  }
  if (options.shareable) {
    require_capability(device, Capability::interprocess_memory, operation);
    if (kind != ANYPLACE_MEMORY_DEVICE) {
      fail(ErrorCode::unsupported, device.place, operation, "managed memory can't be shared with other processes");
    }
  }
  if (bytes == 0) return 0;

  auto state = std::make_unique<BufferState>();
  state->device = &device;
  state->bytes = bytes;
  state->kind = kind;
  const std::uint64_t id = buffers().reserve(operation);
  const bool is_watched = any_capture();
  try {
    if (!is_watched || !allocate_in_capture(*state, *stream, options, operation)) [[likely]]
      allocate_for(*state, *stream, options, operation);
  } catch (...) {
    buffers().cancel(id);
    throw;
  }
  state->home = std::move(stream);
  try {
    enter_in_book(*state);
  } catch (...) {
    buffers().cancel(id);
    BufferState::dispose(state.release());
    throw;
  }
  if (is_watched) [[unlikely]] {
    publish_watched(id, std::move(state));
  } else {
    publish(id, std::move(state));
  }
  return id;
}

[[gnu::noinline]] anyplace_address address_slow_path(const BufferView& view, const char* operation) {
  enter(operation);
  detail::join_fast_path();
  const PinnedRange range = pin_range(view, operation);
  // It may become an argument of a kernel, of which the launch itself doesn't tell where it ends.
  note_argument(ANYPLACE_ACCESS_UNDECLARED, range.address, range.bytes);
  return range.address;
}

void close_buffer(std::uint64_t id) noexcept {
  if (id != 0 && process_running()) buffers().close(id);
}

}  // namespace

}  // namespace detail

Device BufferView::device() const {
  constexpr const char* operation = "BufferView::device";
  detail::enter(operation);
  return Device(detail::buffers().pin(id_, operation)->device);
}

namespace detail {
namespace {

/// The fast path of calls that only read a view's address, such as a launch for each buffer among its arguments.
/// Returns false if the slow path is needed, or the view or the thread is wrong.
[[gnu::always_inline]] inline bool read_view(std::uint64_t id, std::uint64_t offset, std::uint64_t bytes,
                                             std::uint64_t& address) noexcept {
  if (call_state.hazards == nullptr || !process_running()) [[unlikely]]
    return false;
  std::uint64_t whole = 0;
  if (!SlotTable<BufferState>::read_range(id, address, whole)) [[unlikely]]
    return false;
  address += offset;
  return offset <= whole && bytes <= whole - offset;
}

}  // namespace
}  // namespace detail

std::uint64_t BufferView::address() const {
  constexpr const char* operation = "BufferView::address";
  std::uint64_t address = 0;
  if (detail::read_view(id_, offset_, bytes_, address)) [[likely]]
    return address;
  return detail::address_slow_path(*this, operation);
}

BufferView BufferView::sub(std::uint64_t offset, std::uint64_t bytes) const {
  constexpr const char* operation = "BufferView::sub";
  std::uint64_t address = 0;
  const bool within = offset <= bytes_ && bytes <= bytes_ - offset;
  if (within && detail::read_view(id_, offset_, bytes_, address)) [[likely]]
    return BufferView(id_, offset_ + offset, bytes);
  detail::enter(operation);
  const detail::PinnedRange range = detail::pin_range(*this, operation);
  if (!within) {
    detail::fail(
        ErrorCode::invalid_argument, range.device != nullptr ? range.device->place : std::string(), operation,
        fmt::format("{} bytes from offset {} are not within this view, which has {} bytes", bytes, offset, bytes_));
  }
  return BufferView(id_, offset_ + offset, bytes);
}

BufferView BufferView::sub(std::uint64_t offset) const { return sub(offset, offset <= bytes_ ? bytes_ - offset : 0); }

void BufferView::record_stream(const StreamView& stream) const {
  constexpr const char* operation = "BufferView::record_stream";
  detail::enter(operation);
  detail::Pin<detail::StreamState> user = detail::streams().pin(stream.id(), operation);
  const detail::PinnedRange range = detail::pin_range(*this, operation);
  if (!range.buffer || range.buffer->home.get() == user.get()) return;
  if (detail::is_from<detail::WrappedMemory>(range.buffer->origin))
    return;  // the user frees it, and sees to it that no stream uses it then
  detail::add_use(*range.buffer, std::move(user));
}

Buffer::Buffer(const Device& device, std::uint64_t bytes, BufferOptions options)
    : Buffer(current_stream(device), bytes, options) {}

Buffer::Buffer(const StreamView& stream, std::uint64_t bytes, BufferOptions options) {
  constexpr const char* operation = "Buffer";
  detail::enter(operation);
  detail::join_fast_path();
  id_ = detail::make_buffer(stream, bytes, options, operation);
  bytes_ = bytes;
}

Buffer::Buffer(Buffer&& other) noexcept : BufferView(std::exchange(static_cast<BufferView&>(other), BufferView())) {}

Buffer& Buffer::operator=(Buffer&& other) noexcept {
  if (this != &other) {
    detail::close_buffer(id_);
    BufferView::operator=(std::exchange(static_cast<BufferView&>(other), BufferView()));
  }
  return *this;
}

Buffer::~Buffer() { detail::close_buffer(id_); }

Buffer Buffer::from_native(const Device& device, std::uint64_t address, std::uint64_t bytes) {
  constexpr const char* operation = "Buffer::from_native";
  detail::enter(operation);
  detail::DeviceState& state = *device.state();
  detail::require_usable(state, operation);
  if (address == 0) {
    detail::fail(ErrorCode::invalid_argument, state.place, operation, "address 0 is no memory");
  }
  if (bytes > UINT64_MAX - address) {
    detail::fail(ErrorCode::invalid_argument, state.place, operation,
                 fmt::format("{} bytes from address {:#x} reach beyond the end of the address space", bytes, address));
  }
  Buffer buffer;
  if (bytes == 0) return buffer;
  auto made = std::make_unique<detail::BufferState>();
  made->device = &state;
  made->address = address;
  made->bytes = bytes;
  static_cast<BufferView&>(buffer) = BufferView(detail::open_buffer(std::move(made), operation), 0, bytes);
  return buffer;
}

void* Buffer::host_data() const {
  constexpr const char* operation = "Buffer::host_data";
  detail::enter(operation);
  const detail::PinnedRange range = detail::pin_range(*this, operation);
  if (!range.buffer) return nullptr;
  if (range.buffer->kind != ANYPLACE_MEMORY_MANAGED) {
    detail::fail(ErrorCode::unsupported, range.device->place, operation,
                 "the host can't reach device memory\nmake the buffer with MemoryKind::managed, or copy");
  }
  return reinterpret_cast<void*>(static_cast<std::uintptr_t>(range.address));
}

}  // namespace anyplace
