// SPDX-License-Identifier: Apache-2.0
//
// Copies and fills of a stream. All arguments are checked before anything is submitted. A body is written once and
// compiled for both guards of use.h, the plain and the pinned one; each side of a copy has the same two variants.
#include "memory/copy.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <tuple>
#include <type_traits>

#include "anyplace/stream.h"
#include "handles/use.h"
#include "memory/copy_checks.h"
#include "memory/host_ranges.h"
#include "memory/memory_state.h"
#include "memory/submit_copy.h"

namespace anyplace {

namespace detail {

namespace {

// ---- The sides -----------------------------------------------------------------------------------------------------
// A side is the memory that a copy reads or writes, which stays in place while the side lives. A plain side may find
// that it can't handle its memory: then ready() is false, and the call takes the slow path. A careful side throws if
// something is wrong.

template <bool careful>
class BufferSide;

template <>
class BufferSide<false> {
 public:
  // It is always inlined, because otherwise a copy between buffers costs a third more.
  [[gnu::always_inline]] BufferSide(const BufferView& view, std::uint64_t /*stream_id*/,
                                    const char* /*operation*/) noexcept
      : view_(view), slot_(SlotTable<BufferState>::pin_quickly(view.id())) {}
  BufferSide(const BufferSide&) = delete;  // it has a pin
  BufferSide& operator=(const BufferSide&) = delete;
  [[gnu::always_inline]] ~BufferSide() {
    if (slot_ != nullptr) buffers().unpin(*slot_);
  }

  bool ready() const noexcept {
    if (slot_ == nullptr) return false;
    const std::uint64_t whole = slot_->bytes;
    return view_.offset_bytes() <= whole && view_.size_bytes() <= whole - view_.offset_bytes();
  }
  DeviceState* device() const noexcept { return slot_->device.load(std::memory_order_relaxed); }
  anyplace_address address() const noexcept { return slot_->handle + view_.offset_bytes(); }
  std::uint64_t bytes() const noexcept { return view_.size_bytes(); }

  /// These do nothing, because neither managed memory nor a HostBuffer's is plain.
  void require_apart_from(anyplace_address, std::uint64_t, const char*) const noexcept {}
  void note_use(StreamState&, const char*) const noexcept {}

 private:
  const BufferView& view_;
  Slot* const slot_;
};

template <>
class BufferSide<true> {
 public:
  BufferSide(const BufferView& view, std::uint64_t /*stream_id*/, const char* operation)
      : range_(pin_range(view, operation)) {}

  DeviceState* device() const noexcept { return range_.device; }
  anyplace_address address() const noexcept { return range_.address; }
  std::uint64_t bytes() const noexcept { return range_.bytes; }

  /// Managed memory is the same memory for host and device, so the two sides of a copy may overlap.
  void require_apart_from(anyplace_address host, std::uint64_t bytes, const char* operation) const {
    if (range_.buffer->kind == ANYPLACE_MEMORY_MANAGED && overlap(range_.address, range_.bytes, host, bytes)) {
      refuse_overlap(range_.address, host, bytes, *range_.device, operation);
    }
  }
  /// A buffer that wraps the user's memory may wrap a HostBuffer's.
  void note_use(StreamState& stream, const char* operation) const {
    if (is_from<WrappedMemory>(range_.buffer->origin)) host_ranges().note_use_once(range_.address, stream, operation);
  }

 private:
  PinnedRange range_;
};

template <bool careful>
class HostSide {
 public:
  template <class Span>
  HostSide(const Span& span, std::uint64_t stream_id, const char* /*operation*/) noexcept
      : address_(reinterpret_cast<std::uintptr_t>(span.data())), bytes_(span.size_bytes()), stream_id_(stream_id) {}

  /// False for a HostBuffer that hasn't noted the stream yet.
  bool ready() const noexcept { return host_ranges().is_noted(address_, stream_id_); }
  anyplace_address address() const noexcept { return address_; }
  std::uint64_t bytes() const noexcept { return bytes_; }

  /// Called before the copy is submitted, so that a HostBuffer keeps the memory until the copy is done.
  void note_use(StreamState& stream, const char* operation) const {
    if constexpr (careful) host_ranges().note_use_once(address_, stream, operation);
  }

 private:
  std::uintptr_t address_;
  std::uint64_t bytes_;
  std::uint64_t stream_id_;
};

template <class Range, bool careful>
using Side = std::conditional_t<std::is_same_v<Range, BufferView>, BufferSide<careful>, HostSide<careful>>;

// ---- The bodies ----------------------------------------------------------------------------------------------------
// Each body returns false, having done nothing, if a plain guard doesn't suffice.

constexpr const char* copy_operation = "Stream::copy";
constexpr const char* copy_2d_operation = "Stream::copy_2d";

/// Throws unless the side is on the device. An empty side has no device.
[[gnu::always_inline]] inline void require_on_device(const DeviceState* side, const char* name,
                                                     const DeviceState& device, const char* operation) {
  if (side != &device && side != nullptr) [[unlikely]]
    refuse_device(name, *side, device, operation);
}

/// The copy between a buffer and host memory.
template <std::uint32_t kind>
struct HostCopy {
  static constexpr bool up = kind == ANYPLACE_COPY_HOST_TO_DEVICE;
  static constexpr std::size_t buffer_side = up ? 0 : 1;  ///< index of the buffer in (to, from)

  template <class Guard, class To, class From, class Shape>
  [[gnu::always_inline]] bool operator()(const Guard& guard, const To& to, const From& from, Shape shape,
                                         const char* operation) const {
    StreamState& stream = guard.first();
    const DeviceState& device = *stream.device;
    const auto& buffer = std::get<buffer_side>(std::tie(to, from));
    const auto& host = std::get<1 - buffer_side>(std::tie(to, from));
    require_on_device(buffer.device(), up ? "destination" : "source", device, operation);
    if (!shape.check(to.bytes(), from.bytes(), device, operation)) return true;
    if (host.address() == 0) [[unlikely]]
      refuse_null(host.bytes(), up ? "source" : "destination", device, operation);
    buffer.require_apart_from(host.address(), host.bytes(), operation);
    to.note_use(stream, operation);
    from.note_use(stream, operation);
    submit_copy(guard, kind, to.address(), from.address(), shape, operation);
    return true;
  }
};

/// The copy between two buffers, at least one of which is on the stream's device.
struct BufferCopy {
  template <class Guard, class To, class From, class Shape>
  [[gnu::always_inline]] bool operator()(const Guard& guard, const To& to, const From& from, Shape shape,
                                         const char* operation) const {
    StreamState& stream = guard.first();
    DeviceState& device = *stream.device;
    const bool one_device = to.device() == &device && from.device() == &device;
    if (!one_device) [[unlikely]] {
      if constexpr (!Guard::careful) return false;
      require_one_on_device(to.device(), from.device(), device, operation);
    }
    if (!shape.check(to.bytes(), from.bytes(), device, operation)) return true;
    if (one_device && shape.overlaps(to.address(), from.address())) [[unlikely]]
      refuse_overlap(to.address(), from.address(), std::max(to.bytes(), from.bytes()), device, operation);
    to.note_use(stream, operation);
    from.note_use(stream, operation);
    constexpr std::uint32_t kind = ANYPLACE_COPY_DEVICE_TO_DEVICE;
    if (one_device) [[likely]] {
      submit_copy(guard, kind, to.address(), from.address(), shape, operation);
    } else if constexpr (Guard::careful) {
      submit_between_devices(stream, *to.device(), *from.device(), shape.as_lines(kind, to.address(), from.address()),
                             operation);
    }
    return true;
  }

 private:
  static void require_one_on_device(const DeviceState* to, const DeviceState* from, const DeviceState& device,
                                    const char* operation) {
    const auto is_elsewhere = [&](const DeviceState* side) { return side != &device && side != nullptr; };
    if (is_elsewhere(to) && is_elsewhere(from)) refuse_devices(*to, *from, device, operation);
  }
};

template <class Body, class To, class From, class Shape>
[[gnu::noinline, gnu::cold]] void copy_pinned(const char* operation, std::uint64_t stream_id, To to, From from,
                                              Shape shape) {
  use_pinned<StreamState>(operation, stream_id, [&](const auto& guard) {
    require_usable(*guard.first().device, operation);
    const Side<To, true> to_side(to, stream_id, operation);
    const Side<From, true> from_side(from, stream_id, operation);
    Body()(guard, to_side, from_side, shape, operation);
  });
}

/// Tries the fast path, then the slow one. The sides are pinned before the stream's hazard pointer is set and released
/// after it is cleared, because the last pin of a buffer frees it, which may run the user's code and other calls.
template <class Body, class To, class From, class Shape>
[[gnu::always_inline]] inline void copy_with(const char* operation, std::uint64_t stream_id, const To& to,
                                             const From& from, const Shape& shape) {
  {
    const Side<To, false> to_side(to, stream_id, operation);
    const Side<From, false> from_side(from, stream_id, operation);
    if (to_side.ready() && from_side.ready() && use_plain<StreamState>(stream_id, [&](const auto& guard) {
          return Body()(guard, to_side, from_side, shape, operation);
        })) [[likely]] {
      return;
    }
  }
  copy_pinned<Body>(operation, stream_id, to, from, shape);
}

template <class Guard, class To>
[[gnu::always_inline]] inline bool fill(const Guard& guard, const To& to, std::uint32_t value, std::uint32_t width,
                                        const char* operation) {
  StreamState& stream = guard.first();
  const DeviceState& device = *stream.device;
  require_on_device(to.device(), "destination", device, operation);
  if (((to.bytes() | to.address()) & (width - 1)) != 0) [[unlikely]]
    refuse_elements(to.bytes(), to.address(), width, device, operation);
  if (to.bytes() == 0) return true;
  to.note_use(stream, operation);
  const auto set = [table = device.table, self = device.self, handle = stream.handle, address = to.address(), value,
                    width, count = to.bytes() / width] {
    return table->memory_set(self, handle, address, value, width, count);
  };
  submit_with(guard, operation, set, [&] { return FillWork{to.address(), to.bytes() / width, value, width}; });
  return true;
}

template <std::uint32_t width>
[[gnu::noinline, gnu::cold]] void fill_pinned(const char* operation, std::uint64_t stream_id, BufferView to,
                                              std::uint32_t value) {
  use_pinned<StreamState>(operation, stream_id, [&](const auto& guard) {
    require_usable(*guard.first().device, operation);
    const BufferSide<true> side(to, stream_id, operation);
    fill(guard, side, value, width, operation);
  });
}

template <std::uint32_t width>
[[gnu::always_inline]] inline void fill_with(const char* operation, std::uint64_t stream_id, const BufferView& to,
                                             std::uint32_t value) {
  {
    const BufferSide<false> side(to, stream_id, operation);
    if (side.ready() && use_plain<StreamState>(stream_id, [&](const auto& guard) {
          return fill(guard, side, value, width, operation);
        })) [[likely]] {
      return;
    }
  }
  fill_pinned<width>(operation, stream_id, to, value);
}

}  // namespace

void submit_between_devices(StreamState& stream, DeviceState& to, DeviceState& from, anyplace_copy_2d copy,
                            const char* operation) {
  require_usable(to, operation);
  require_usable(from, operation);
  const bool peers = to.backend == from.backend && has_capability(to, Capability::peer_copy, operation) &&
                     has_capability(from, Capability::peer_copy, operation);
  if (!peers) {
    if (stream.captured.load(std::memory_order_acquire)) {
      divert(stream,
             StagedWork{std::make_shared<const StagedWork::Copy>(StagedWork::Copy{&to, &from, copy, copy_staged})},
             operation);
    } else {
      copy_staged(stream, to, from, copy, operation);
    }
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
    submit(stream, operation, line, [&] {
      const std::uint64_t bytes = copy.width;
      return CopyWork{
          {sizeof(anyplace_copy_2d), ANYPLACE_COPY_DEVICE_TO_DEVICE, copy.destination + row * copy.destination_pitch,
           bytes, copy.source + row * copy.source_pitch, bytes, bytes, 1},
          to.index,
          from.index};
    });
  }
}

void submit_copy_2d(StreamState& stream, const anyplace_copy_2d& copy, const char* operation) {
  submit_lines(Given(stream), copy, operation);
}

}  // namespace detail

using detail::copy_2d_operation;
using detail::copy_operation;
using detail::copy_with;
using detail::LineCopy;
using detail::WholeCopy;

void StreamView::copy(BufferView destination, ConstHostSpan source) const {
  copy_with<detail::HostCopy<ANYPLACE_COPY_HOST_TO_DEVICE>>(copy_operation, id_, destination, source, WholeCopy());
}

void StreamView::copy(HostSpan destination, BufferView source) const {
  copy_with<detail::HostCopy<ANYPLACE_COPY_DEVICE_TO_HOST>>(copy_operation, id_, destination, source, WholeCopy());
}

void StreamView::copy(BufferView destination, BufferView source) const {
  copy_with<detail::BufferCopy>(copy_operation, id_, destination, source, WholeCopy());
}

void StreamView::copy_2d(BufferView destination, std::uint64_t destination_pitch, ConstHostSpan source,
                         std::uint64_t source_pitch, std::uint64_t width, std::uint64_t rows) const {
  copy_with<detail::HostCopy<ANYPLACE_COPY_HOST_TO_DEVICE>>(copy_2d_operation, id_, destination, source,
                                                            LineCopy{destination_pitch, source_pitch, width, rows});
}

void StreamView::copy_2d(HostSpan destination, std::uint64_t destination_pitch, BufferView source,
                         std::uint64_t source_pitch, std::uint64_t width, std::uint64_t rows) const {
  copy_with<detail::HostCopy<ANYPLACE_COPY_DEVICE_TO_HOST>>(copy_2d_operation, id_, destination, source,
                                                            LineCopy{destination_pitch, source_pitch, width, rows});
}

void StreamView::copy_2d(BufferView destination, std::uint64_t destination_pitch, BufferView source,
                         std::uint64_t source_pitch, std::uint64_t width, std::uint64_t rows) const {
  copy_with<detail::BufferCopy>(copy_2d_operation, id_, destination, source,
                                LineCopy{destination_pitch, source_pitch, width, rows});
}

void StreamView::memset8(BufferView destination, std::uint8_t value) const {
  detail::fill_with<1>("Stream::memset8", id_, destination, value);
}

void StreamView::memset16(BufferView destination, std::uint16_t value) const {
  detail::fill_with<2>("Stream::memset16", id_, destination, value);
}

void StreamView::memset32(BufferView destination, std::uint32_t value) const {
  detail::fill_with<4>("Stream::memset32", id_, destination, value);
}

}  // namespace anyplace
