// SPDX-License-Identifier: Apache-2.0
//
// Copies and fills of a stream. Everything that can be wrong with the arguments is found out before anything is
// submitted.
#include "memory/copy.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "anyplace/stream.h"
#include "handles/use.h"
#include "memory/host_ranges.h"
#include "memory/memory_state.h"
#include "plugins/device_properties.h"

namespace anyplace {

namespace detail {

void submit_copy(StreamState& stream, anyplace_address destination, anyplace_address source, std::uint64_t bytes,
                 std::uint32_t kind, const char* operation) {
  const auto copy = [table = stream.device->table, self = stream.device->self, handle = stream.handle, destination,
                     source, bytes,
                     kind] { return table->memory_copy(self, handle, destination, source, bytes, kind); };
  submit(stream, operation, copy, [&] { return HeldCommand(copy); });
}

void submit_copy_2d(StreamState& stream, const anyplace_copy_2d& copy, const char* operation) {
  const bool one_piece = copy.rows == 1 || (copy.destination_pitch == copy.width && copy.source_pitch == copy.width);
  if (one_piece) {
    submit_copy(stream, copy.destination, copy.source, copy.width * copy.rows, copy.kind, operation);
    return;
  }
  if (has_capability(*stream.device, Capability::copy_2d, operation)) {
    const auto lines = [table = stream.device->table, self = stream.device->self, handle = stream.handle, copy] {
      return table->memory_copy_2d(self, handle, &copy);
    };
    submit(stream, operation, lines, [&] { return HeldCommand(lines); });
    return;
  }
  for (std::uint64_t row = 0; row < copy.rows; ++row) {
    submit_copy(stream, copy.destination + row * copy.destination_pitch, copy.source + row * copy.source_pitch,
                copy.width, copy.kind, operation);
  }
}

namespace {

void require_same_size(std::uint64_t destination, std::uint64_t source, const DeviceState& device,
                       const char* operation) {
  if (destination == source) return;
  fail(ErrorCode::invalid_argument, device.place, operation,
       fmt::format("the destination has {} bytes and the source {}\nboth sides of a copy have the same size",
                   destination, source));
}

void require_pointer(const void* data, std::uint64_t bytes, const char* side, const DeviceState& device,
                     const char* operation) {
  if (data != nullptr || bytes == 0) return;
  fail(ErrorCode::invalid_argument, device.place, operation,
       fmt::format("the {}'s host pointer is null, with {} bytes to copy", side, bytes));
}

void require_on_device(const PinnedRange& range, const char* side, const DeviceState& device, const char* operation) {
  if (range.device == nullptr || range.device == &device) return;
  fail(ErrorCode::invalid_argument, device.place, operation,
       fmt::format("the {} is a buffer of {}, and the stream is of {}\nuse a stream of {}", side, range.device->place,
                   device.place, range.device->place));
}

/// In a copy between buffers one is the stream's. An empty view is of any device.
void require_one_on_device(const PinnedRange& destination, const PinnedRange& source, const DeviceState& device,
                           const char* operation) {
  const bool destination_is = destination.device == nullptr || destination.device == &device;
  const bool source_is = source.device == nullptr || source.device == &device;
  if (destination_is || source_is) return;
  fail(ErrorCode::invalid_argument, device.place, operation,
       fmt::format("the copy is from a buffer of {} to one of {}, and the stream is of {}\nuse a stream of {} or {}",
                   source.device->place, destination.device->place, device.place, source.device->place,
                   destination.device->place));
}

[[noreturn]] void refuse_overlap(anyplace_address destination, anyplace_address source, std::uint64_t bytes,
                                 const DeviceState& device, const char* operation) {
  fail(ErrorCode::invalid_argument, device.place, operation,
       fmt::format("the destination from address {:#x} and the source from {:#x} overlap within {} bytes\ncopy through "
                   "other memory",
                   destination, source, bytes));
}

/// Neither range wraps: buffers don't.
bool overlap(anyplace_address a, std::uint64_t a_bytes, anyplace_address b, std::uint64_t b_bytes) {
  return a < b ? b - a < a_bytes : a - b < b_bytes;
}

/// Managed memory is one memory to the host and to the device.
void require_apart_from_host(const PinnedRange& range, const void* host, std::uint64_t bytes, const char* operation) {
  if (!range.buffer || range.buffer->kind != ANYPLACE_MEMORY_MANAGED || bytes == 0) return;
  const anyplace_address address = reinterpret_cast<std::uintptr_t>(host);
  if (overlap(range.address, range.bytes, address, bytes)) {
    refuse_overlap(range.address, address, bytes, *range.device, operation);
  }
}

/// The bytes from the first of the first line to the last of the last; nothing if they are more than 64 bits count.
std::optional<std::uint64_t> extent(std::uint64_t pitch, std::uint64_t width, std::uint64_t rows) {
  std::uint64_t bytes = 0;
  if (__builtin_mul_overflow(pitch, rows - 1, &bytes) || __builtin_add_overflow(bytes, width, &bytes)) return {};
  return bytes;
}

/// Width and rows aren't 0. Throws unless the lines lie within `bytes`.
void require_lines_within(std::uint64_t pitch, std::uint64_t width, std::uint64_t rows, std::uint64_t bytes,
                          const char* side, const DeviceState& device, const char* operation) {
  if (pitch < width) {
    fail(ErrorCode::invalid_argument, device.place, operation,
         fmt::format("the {}'s pitch of {} bytes is less than the width of {} bytes\na pitch is the bytes from one "
                     "line's start to the next's",
                     side, pitch, width));
  }
  const std::optional<std::uint64_t> needed = extent(pitch, width, rows);
  if (needed && *needed <= bytes) return;
  fail(ErrorCode::invalid_argument, device.place, operation,
       fmt::format("{} lines of {} bytes with a pitch of {} need {} bytes, and the {} has {}", rows, width, pitch,
                   needed ? std::to_string(*needed) : std::string("more than 2^64"), side, bytes));
}

/// Whether any two lines share a byte. Both sides are within a buffer, so nothing here overflows.
bool lines_overlap(const anyplace_copy_2d& copy) {
  const std::uint64_t width = copy.width;
  const std::uint64_t last = copy.rows - 1;
  const std::uint64_t destination_bytes = last * copy.destination_pitch + width;
  const std::uint64_t source_bytes = last * copy.source_pitch + width;
  if (!overlap(copy.destination, destination_bytes, copy.source, source_bytes)) return false;
  if (copy.destination_pitch == copy.source_pitch) {
    // Line i of the one is at a fixed distance from every line of the other: only the two nearest can touch it.
    const std::uint64_t distance =
        copy.destination < copy.source ? copy.source - copy.destination : copy.destination - copy.source;
    const std::uint64_t lines = distance / copy.source_pitch;
    const std::uint64_t rest = distance % copy.source_pitch;
    return (lines <= last && rest < width) || (lines + 1 <= last && copy.source_pitch - rest < width);
  }
  std::uint64_t i = 0;
  std::uint64_t j = 0;
  while (i <= last && j <= last) {
    const anyplace_address to = copy.destination + i * copy.destination_pitch;
    const anyplace_address from = copy.source + j * copy.source_pitch;
    if (overlap(to, width, from, width)) return true;
    (to < from ? i : j) += 1;
  }
  return false;
}

/// Between buffers, of one device or two. Width and rows aren't 0; lines are within the buffers.
void copy_between(StreamState& stream, const PinnedRange& destination, const PinnedRange& source, anyplace_copy_2d copy,
                  const char* operation) {
  DeviceState& to = *destination.device;
  DeviceState& from = *source.device;
  if (&to == &from) {
    if (lines_overlap(copy)) {
      refuse_overlap(copy.destination, copy.source, std::max(destination.bytes, source.bytes), to, operation);
    }
    submit_copy_2d(stream, copy, operation);
    return;
  }
  require_usable(to, operation);
  require_usable(from, operation);
  const bool peers = to.backend == from.backend && has_capability(to, Capability::peer_copy, operation) &&
                     has_capability(from, Capability::peer_copy, operation);
  if (!peers) {
    copy_staged(stream, to, from, copy, operation);
    return;
  }
  if (copy.destination_pitch == copy.width && copy.source_pitch == copy.width) {
    copy.width *= copy.rows;
    copy.rows = 1;
  }
  for (std::uint64_t row = 0; row < copy.rows; ++row) {
    const auto line = [table = stream.device->table, self = stream.device->self, handle = stream.handle,
                       destination_device = to.index, source_device = from.index, bytes = copy.width,
                       destination_address = copy.destination + row * copy.destination_pitch,
                       source_address = copy.source + row * copy.source_pitch] {
      return table->memory_copy_peer(self, handle, destination_device, destination_address, source_device,
                                     source_address, bytes);
    };
    submit(stream, operation, line, [&] { return HeldCommand(line); });
  }
}

anyplace_copy_2d lines(std::uint32_t kind, anyplace_address destination, std::uint64_t destination_pitch,
                       anyplace_address source, std::uint64_t source_pitch, std::uint64_t width, std::uint64_t rows) {
  anyplace_copy_2d copy{};
  copy.struct_size = sizeof(copy);
  copy.kind = kind;
  copy.destination = destination;
  copy.destination_pitch = destination_pitch;
  copy.source = source;
  copy.source_pitch = source_pitch;
  copy.width = width;
  copy.rows = rows;
  return copy;
}

// -- The fast path: the stream is kept by a hazard pointer (hazard_pointer.h), buffers are pinned. Each returns false
// if something isn't as it mostly is, having submitted nothing. Ends are written out instead of left to destructors,
// which cost both ways out what one of them needs.

/// The buffer's side of a copy or fill of device memory.
class BufferSide {
 public:
  explicit BufferSide(const BufferView& of) noexcept : view_(of) {}
  /// Not for managed memory, which the host's side could overlap: its handles want care.
  bool pin() noexcept {
    slot_ = SlotTable<BufferState>::pin_quickly(view_.id());
    return slot_ != nullptr;
  }
  void unpin() const noexcept { buffers().unpin(*slot_); }

  bool is_of(const DeviceState* device) const noexcept {
    const std::uint64_t whole = slot_->extra;
    return slot_->device == device && view_.offset_bytes() <= whole &&
           view_.size_bytes() <= whole - view_.offset_bytes() && view_.size_bytes() != 0;
  }
  anyplace_address address() const noexcept { return slot_->handle + view_.offset_bytes(); }
  std::uint64_t bytes() const noexcept { return view_.size_bytes(); }

 private:
  const BufferView& view_;
  Slot* slot_ = nullptr;
};

/// The host's.
template <class Span>
class HostSide {
 public:
  HostSide(const Span& of, std::uint64_t stream_id) noexcept : span_(of), stream_id_(stream_id) {}
  /// Not for memory of a HostBuffer that doesn't know of the stream yet.
  bool pin() noexcept { return host_ranges().is_noted(address(), stream_id_); }
  void unpin() const noexcept {}

  bool is_of(const DeviceState*) const noexcept { return span_.data() != nullptr; }
  anyplace_address address() const noexcept { return reinterpret_cast<std::uintptr_t>(span_.data()); }
  std::uint64_t bytes() const noexcept { return span_.size_bytes(); }

 private:
  const Span& span_;
  const std::uint64_t stream_id_;
};

/// Of a fill, which has no other side.
class NoSide {
 public:
  bool pin() noexcept { return true; }
  void unpin() const noexcept {}
  bool is_of(const DeviceState*) const noexcept { return true; }
};

constexpr const char* copy_operation = "Stream::copy";
constexpr const char* copy_2d_operation = "Stream::copy_2d";

bool pin_both(auto& to, auto& from) noexcept {
  if (!to.pin()) return false;
  if (from.pin()) return true;
  to.unpin();
  return false;
}

/// The end of a fast path that submitted nothing.
template <class To, class From>
[[gnu::noinline, gnu::cold]] void release_both(ThreadHazards& hazards, To to, From from) noexcept {
  hazards.clear();
  from.unpin();
  to.unpin();
}

/// The end of one whose submission failed.
template <class To, class From>
[[noreturn, gnu::noinline, gnu::cold]] void raise_pinned(anyplace_status status, ThreadHazards& hazards, To to,
                                                         From from, const char* operation) {
  DeviceState* const device = streams().first_slot(hazards.second.load(std::memory_order_relaxed)).device;
  release_both(hazards, to, from);
  raise(status, *device, operation);
}

/// What the fast paths share: pins both sides, publishes the stream, and if `fits(device, to, from)` calls
/// `enter_backend(device, stream, to, from)`, which says what the backend's entry returned.
template <class To, class From, class Fits, class EnterBackend>
[[gnu::always_inline]] inline bool submit_quickly(std::uint64_t stream_id, To to, From from, const char* operation,
                                                  Fits fits, EnterBackend enter_backend) {
  ThreadHazards* const hazards = call_state.hazards;
  if (hazards == nullptr || !pin_both(to, from)) return false;
  hazards->publish(stream_id);
  const Slot& stream = streams().first_slot(stream_id);
  if (stream.is(stream_id)) [[likely]] {
    const DeviceState& device = *stream.device;
    if (to.is_of(&device) && from.is_of(&device) && fits(device, to, from)) [[likely]] {
      const anyplace_status status = enter_backend(device, stream.handle, to, from);
      if (status != ANYPLACE_STATUS_OK) [[unlikely]]
        raise_pinned(status, *hazards, to, from, operation);
      hazards->clear();
      from.unpin();
      to.unpin();
      return true;
    }
  }
  release_both(*hazards, to, from);
  return false;
}

template <std::uint32_t kind, class To, class From>
[[gnu::always_inline]] inline bool copy_quickly(std::uint64_t stream_id, To to, From from) {
  const auto fits = [](const DeviceState&, const To& to_side, const From& from_side) {
    return to_side.bytes() == from_side.bytes() &&
           (kind != ANYPLACE_COPY_DEVICE_TO_DEVICE ||
            !overlap(to_side.address(), to_side.bytes(), from_side.address(), from_side.bytes()));
  };
  const auto copy = [](const DeviceState& device, anyplace_stream stream, const To& to_side, const From& from_side) {
    return device.table->memory_copy(device.self, stream, to_side.address(), from_side.address(), to_side.bytes(),
                                     kind);
  };
  return submit_quickly(stream_id, to, from, copy_operation, fits, copy);
}

/// Pitch, width and rows have at most 32 bits, and width and rows aren't 0.
bool lines_fit(std::uint64_t pitch, const anyplace_copy_2d& copy, std::uint64_t bytes) noexcept {
  return pitch >= copy.width && (copy.rows - 1) * pitch + copy.width <= bytes;
}

/// The device's properties were asked for, and they say so.
bool surely_copies_lines(const DeviceState& device) noexcept {
  return device.properties_known.load(std::memory_order_acquire) &&
         (device.properties.capabilities >> ANYPLACE_CAPABILITY_BIT_COPY_2D & 1) != 0;
}

/// copy has everything but the addresses. Not for lines that make one piece, nor for sides that are within each other.
template <class To, class From>
[[gnu::always_inline]] inline bool copy_2d_quickly(std::uint64_t stream_id, To to, From from, anyplace_copy_2d& copy) {
  if (((copy.destination_pitch | copy.source_pitch | copy.width | copy.rows) >> 32) != 0) return false;
  if (copy.width == 0 || copy.rows <= 1 || (copy.destination_pitch == copy.width && copy.source_pitch == copy.width)) {
    return false;
  }
  const auto fits = [&copy](const DeviceState& device, const To& to_side, const From& from_side) {
    copy.destination = to_side.address();
    copy.source = from_side.address();
    return surely_copies_lines(device) && lines_fit(copy.destination_pitch, copy, to_side.bytes()) &&
           lines_fit(copy.source_pitch, copy, from_side.bytes()) &&
           (copy.kind != ANYPLACE_COPY_DEVICE_TO_DEVICE ||
            !overlap(copy.destination, to_side.bytes(), copy.source, from_side.bytes()));
  };
  const auto copy_lines = [&copy](const DeviceState& device, anyplace_stream stream, const To&, const From&) {
    return device.table->memory_copy_2d(device.self, stream, &copy);
  };
  return submit_quickly(stream_id, to, from, copy_2d_operation, fits, copy_lines);
}

template <std::uint32_t width>
[[gnu::always_inline]] inline bool fill_quickly(std::uint64_t stream_id, BufferSide range, std::uint32_t value,
                                                const char* operation) {
  const auto fits = [](const DeviceState&, const BufferSide& to, NoSide) {
    return ((to.bytes() | to.address()) & (width - 1)) == 0;
  };
  const auto set = [value](const DeviceState& device, anyplace_stream stream, const BufferSide& to, NoSide) {
    return device.table->memory_set(device.self, stream, to.address(), value, width, to.bytes() / width);
  };
  return submit_quickly(stream_id, range, NoSide(), operation, fits, set);
}

// -- The slow path.

anyplace_address address_of(const void* host) { return reinterpret_cast<std::uintptr_t>(host); }

/// Before the copy is submitted: a HostBuffer keeps the memory then until the copy is done.
void note_host(StreamState& stream, const void* host, const char* operation) {
  const auto address = reinterpret_cast<std::uintptr_t>(host);
  if (!host_ranges().is_noted(address, stream.id)) host_ranges().note_use(address, stream, operation);
}

/// Of a buffer that wraps somebody else's memory, which may be a HostBuffer's.
void note_wrapped(StreamState& stream, const PinnedRange& range, const char* operation) {
  if (range.buffer && !range.buffer->owned) note_host(stream, reinterpret_cast<const void*>(range.address), operation);
}

[[gnu::noinline]] void fill(const StreamView& view, const BufferView& destination, std::uint32_t value,
                            std::uint32_t width, const char* operation) {
  enter(operation);
  join_fast_path();
  const Pin<StreamState> stream = streams().pin(view.id(), operation);
  DeviceState& device = *stream->device;
  require_usable(device, operation);
  const PinnedRange range = pin_range(destination, operation);
  require_on_device(range, "destination", device, operation);
  if (range.bytes % width != 0 || range.address % width != 0) {
    fail(ErrorCode::invalid_argument, device.place, operation,
         fmt::format("{} bytes at address {:#x} can't be filled element by element\nsize and address have to be "
                     "multiples of the element's {} bytes",
                     range.bytes, range.address, width));
  }
  if (range.bytes == 0) return;
  note_wrapped(*stream, range, operation);
  const auto set = [table = device.table, self = device.self, handle = stream->handle, address = range.address, value,
                    width, count = range.bytes / width] {
    return table->memory_set(self, handle, address, value, width, count);
  };
  submit(*stream, operation, set, [&] { return HeldCommand(set); });
}

[[gnu::noinline]] void copy_up_slow_path(const StreamView& view, const BufferView& destination, ConstHostSpan source) {
  constexpr const char* operation = copy_operation;
  enter(operation);
  join_fast_path();
  const Pin<StreamState> stream = streams().pin(view.id(), operation);
  DeviceState& device = *stream->device;
  require_usable(device, operation);
  const PinnedRange to = pin_range(destination, operation);
  require_on_device(to, "destination", device, operation);
  require_same_size(destination.size_bytes(), source.size_bytes(), device, operation);
  require_pointer(source.data(), source.size_bytes(), "source", device, operation);
  require_apart_from_host(to, source.data(), source.size_bytes(), operation);
  if (to.bytes == 0) return;
  note_host(*stream, source.data(), operation);
  note_wrapped(*stream, to, operation);
  submit_copy(*stream, to.address, address_of(source.data()), to.bytes, ANYPLACE_COPY_HOST_TO_DEVICE, operation);
}

[[gnu::noinline]] void copy_down_slow_path(const StreamView& view, HostSpan destination, const BufferView& source) {
  constexpr const char* operation = copy_operation;
  enter(operation);
  join_fast_path();
  const Pin<StreamState> stream = streams().pin(view.id(), operation);
  DeviceState& device = *stream->device;
  require_usable(device, operation);
  const PinnedRange from = pin_range(source, operation);
  require_on_device(from, "source", device, operation);
  require_same_size(destination.size_bytes(), source.size_bytes(), device, operation);
  require_pointer(destination.data(), destination.size_bytes(), "destination", device, operation);
  require_apart_from_host(from, destination.data(), destination.size_bytes(), operation);
  if (from.bytes == 0) return;
  note_host(*stream, destination.data(), operation);
  note_wrapped(*stream, from, operation);
  submit_copy(*stream, address_of(destination.data()), from.address, from.bytes, ANYPLACE_COPY_DEVICE_TO_HOST,
              operation);
}

[[gnu::noinline]] void copy_slow_path(const StreamView& view, const BufferView& destination, const BufferView& source) {
  constexpr const char* operation = copy_operation;
  enter(operation);
  join_fast_path();
  const Pin<StreamState> stream = streams().pin(view.id(), operation);
  DeviceState& device = *stream->device;
  require_usable(device, operation);
  const PinnedRange to = pin_range(destination, operation);
  const PinnedRange from = pin_range(source, operation);
  require_one_on_device(to, from, device, operation);
  require_same_size(to.bytes, from.bytes, device, operation);
  if (to.bytes == 0) return;
  note_wrapped(*stream, to, operation);
  note_wrapped(*stream, from, operation);
  copy_between(*stream, to, from,
               lines(ANYPLACE_COPY_DEVICE_TO_DEVICE, to.address, to.bytes, from.address, from.bytes, to.bytes, 1),
               operation);
}

[[gnu::noinline]] void copy_2d_up_slow_path(const StreamView& view, const BufferView& destination,
                                            std::uint64_t destination_pitch, ConstHostSpan source,
                                            std::uint64_t source_pitch, std::uint64_t width, std::uint64_t rows) {
  constexpr const char* operation = copy_2d_operation;
  enter(operation);
  join_fast_path();
  const Pin<StreamState> stream = streams().pin(view.id(), operation);
  DeviceState& device = *stream->device;
  require_usable(device, operation);
  const PinnedRange to = pin_range(destination, operation);
  require_on_device(to, "destination", device, operation);
  if (width == 0 || rows == 0) return;
  require_lines_within(destination_pitch, width, rows, to.bytes, "destination", device, operation);
  require_lines_within(source_pitch, width, rows, source.size_bytes(), "source", device, operation);
  require_pointer(source.data(), source.size_bytes(), "source", device, operation);
  require_apart_from_host(to, source.data(), source.size_bytes(), operation);
  note_host(*stream, source.data(), operation);
  note_wrapped(*stream, to, operation);
  submit_copy_2d(*stream,
                 lines(ANYPLACE_COPY_HOST_TO_DEVICE, to.address, destination_pitch, address_of(source.data()),
                       source_pitch, width, rows),
                 operation);
}

[[gnu::noinline]] void copy_2d_down_slow_path(const StreamView& view, HostSpan destination,
                                              std::uint64_t destination_pitch, const BufferView& source,
                                              std::uint64_t source_pitch, std::uint64_t width, std::uint64_t rows) {
  constexpr const char* operation = copy_2d_operation;
  enter(operation);
  join_fast_path();
  const Pin<StreamState> stream = streams().pin(view.id(), operation);
  DeviceState& device = *stream->device;
  require_usable(device, operation);
  const PinnedRange from = pin_range(source, operation);
  require_on_device(from, "source", device, operation);
  if (width == 0 || rows == 0) return;
  require_lines_within(destination_pitch, width, rows, destination.size_bytes(), "destination", device, operation);
  require_lines_within(source_pitch, width, rows, from.bytes, "source", device, operation);
  require_pointer(destination.data(), destination.size_bytes(), "destination", device, operation);
  require_apart_from_host(from, destination.data(), destination.size_bytes(), operation);
  note_host(*stream, destination.data(), operation);
  note_wrapped(*stream, from, operation);
  submit_copy_2d(*stream,
                 lines(ANYPLACE_COPY_DEVICE_TO_HOST, address_of(destination.data()), destination_pitch, from.address,
                       source_pitch, width, rows),
                 operation);
}

[[gnu::noinline]] void copy_2d_slow_path(const StreamView& view, const BufferView& destination,
                                         std::uint64_t destination_pitch, const BufferView& source,
                                         std::uint64_t source_pitch, std::uint64_t width, std::uint64_t rows) {
  constexpr const char* operation = copy_2d_operation;
  enter(operation);
  join_fast_path();
  const Pin<StreamState> stream = streams().pin(view.id(), operation);
  DeviceState& device = *stream->device;
  require_usable(device, operation);
  const PinnedRange to = pin_range(destination, operation);
  const PinnedRange from = pin_range(source, operation);
  require_one_on_device(to, from, device, operation);
  if (width == 0 || rows == 0) return;
  require_lines_within(destination_pitch, width, rows, to.bytes, "destination", device, operation);
  require_lines_within(source_pitch, width, rows, from.bytes, "source", device, operation);
  note_wrapped(*stream, to, operation);
  note_wrapped(*stream, from, operation);
  copy_between(
      *stream, to, from,
      lines(ANYPLACE_COPY_DEVICE_TO_DEVICE, to.address, destination_pitch, from.address, source_pitch, width, rows),
      operation);
}

}  // namespace

}  // namespace detail

void StreamView::copy(BufferView destination, ConstHostSpan source) const {
  using namespace detail;
  if (copy_quickly<ANYPLACE_COPY_HOST_TO_DEVICE>(id_, BufferSide(destination), HostSide(source, id_))) return;
  copy_up_slow_path(*this, destination, source);
}

void StreamView::copy(HostSpan destination, BufferView source) const {
  using namespace detail;
  if (copy_quickly<ANYPLACE_COPY_DEVICE_TO_HOST>(id_, HostSide(destination, id_), BufferSide(source))) return;
  copy_down_slow_path(*this, destination, source);
}

void StreamView::copy(BufferView destination, BufferView source) const {
  using namespace detail;
  if (copy_quickly<ANYPLACE_COPY_DEVICE_TO_DEVICE>(id_, BufferSide(destination), BufferSide(source))) return;
  copy_slow_path(*this, destination, source);
}

void StreamView::copy_2d(BufferView destination, std::uint64_t destination_pitch, ConstHostSpan source,
                         std::uint64_t source_pitch, std::uint64_t width, std::uint64_t rows) const {
  using namespace detail;
  anyplace_copy_2d copy = lines(ANYPLACE_COPY_HOST_TO_DEVICE, 0, destination_pitch, 0, source_pitch, width, rows);
  if (copy_2d_quickly(id_, BufferSide(destination), HostSide(source, id_), copy)) return;
  copy_2d_up_slow_path(*this, destination, destination_pitch, source, source_pitch, width, rows);
}

void StreamView::copy_2d(HostSpan destination, std::uint64_t destination_pitch, BufferView source,
                         std::uint64_t source_pitch, std::uint64_t width, std::uint64_t rows) const {
  using namespace detail;
  anyplace_copy_2d copy = lines(ANYPLACE_COPY_DEVICE_TO_HOST, 0, destination_pitch, 0, source_pitch, width, rows);
  if (copy_2d_quickly(id_, HostSide(destination, id_), BufferSide(source), copy)) return;
  copy_2d_down_slow_path(*this, destination, destination_pitch, source, source_pitch, width, rows);
}

void StreamView::copy_2d(BufferView destination, std::uint64_t destination_pitch, BufferView source,
                         std::uint64_t source_pitch, std::uint64_t width, std::uint64_t rows) const {
  using namespace detail;
  anyplace_copy_2d copy = lines(ANYPLACE_COPY_DEVICE_TO_DEVICE, 0, destination_pitch, 0, source_pitch, width, rows);
  if (copy_2d_quickly(id_, BufferSide(destination), BufferSide(source), copy)) return;
  copy_2d_slow_path(*this, destination, destination_pitch, source, source_pitch, width, rows);
}

void StreamView::memset8(BufferView destination, std::uint8_t value) const {
  constexpr const char* operation = "Stream::memset8";
  if (!detail::fill_quickly<1>(id_, detail::BufferSide(destination), value, operation)) {
    detail::fill(*this, destination, value, 1, operation);
  }
}

void StreamView::memset16(BufferView destination, std::uint16_t value) const {
  constexpr const char* operation = "Stream::memset16";
  if (!detail::fill_quickly<2>(id_, detail::BufferSide(destination), value, operation)) {
    detail::fill(*this, destination, value, 2, operation);
  }
}

void StreamView::memset32(BufferView destination, std::uint32_t value) const {
  constexpr const char* operation = "Stream::memset32";
  if (!detail::fill_quickly<4>(id_, detail::BufferSide(destination), value, operation)) {
    detail::fill(*this, destination, value, 4, operation);
  }
}

}  // namespace anyplace
