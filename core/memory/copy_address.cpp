// SPDX-License-Identifier: Apache-2.0
//
// Copies by address, and copies within host memory. The kinds of the two sides decide which call of the backend is
// made; otherwise they are like copies of buffers (copy.cpp).
#include <cstring>

#include "anyplace/stream.h"
#include "memory/address_side.h"
#include "memory/copy.h"
#include "memory/host_copy.h"
#include "memory/submit_copy.h"

namespace anyplace {

namespace detail {

void submit_host_copy(StreamState& stream, const anyplace_copy_2d& copy, const char* operation) {
  DeviceState& device = *stream.device;
  if (has_capability(device, Capability::host_copy, operation)) {
    submit_copy_2d(stream, copy, operation);
    return;
  }
  run_on_host(stream, copy, operation, [copy] {
    for (std::uint64_t row = 0; row < copy.rows; ++row) {
      std::memcpy(host_pointer(copy.destination + row * copy.destination_pitch),
                  host_pointer(copy.source + row * copy.source_pitch), copy.width);
    }
  });
}

namespace {

/// Throws unless at least one of the sides with a device is on the stream's device.
void require_reachable(const AddressSide& to, const AddressSide& from, const DeviceState& device,
                       const char* operation) {
  const auto is_elsewhere = [&](const AddressSide& side) {
    return side.device() != nullptr && side.device() != &device;
  };
  if (is_elsewhere(to) && is_elsewhere(from)) refuse_devices(*to.device(), *from.device(), device, operation);
  for (const AddressSide* side : {&to, &from}) {
    const AddressSide& other = side == &to ? from : to;
    if (is_elsewhere(*side) && other.device() == nullptr) {
      refuse_device(side->name(), *side->device(), device, operation);
    }
  }
}

/// The kind of a copy that the backend makes itself, within the stream's device or between it and the host; 0 for any
/// other copy.
std::uint32_t plain_kind(const AddressSide& to, const AddressSide& from, const DeviceState& device) noexcept {
  const bool to_device = to.device() == &device;
  const bool from_device = from.device() == &device;
  if (to_device && from_device) return ANYPLACE_COPY_DEVICE_TO_DEVICE;
  if (to_device && from.device() == nullptr) return ANYPLACE_COPY_HOST_TO_DEVICE;
  if (from_device && to.device() == nullptr) return ANYPLACE_COPY_DEVICE_TO_HOST;
  return 0;
}

template <class Shape>
void submit_unusual(StreamState& stream, const AddressSide& to, const AddressSide& from, const Shape& shape,
                    const char* operation) {
  require_reachable(to, from, *stream.device, operation);
  if (to.device() == nullptr) {
    submit_host_copy(stream, shape.as_lines(ANYPLACE_COPY_HOST_TO_HOST, to.address(), from.address()), operation);
  } else {
    submit_between_devices(stream, *to.device(), *from.device(),
                           shape.as_lines(ANYPLACE_COPY_DEVICE_TO_DEVICE, to.address(), from.address()), operation);
  }
}

/// The body of a copy whose shape fits its sides. Returns false, having done nothing, if a plain guard doesn't suffice.
template <class Guard, class Shape>
bool submit_by_address(const Guard& guard, const AddressSide& to, const AddressSide& from, const Shape& shape,
                       const char* operation) {
  StreamState& stream = guard.first();
  DeviceState& device = *stream.device;
  const std::uint32_t kind = plain_kind(to, from, device);
  if constexpr (!Guard::careful) {
    if (kind == 0 || !to.is_noted(stream) || !from.is_noted(stream)) return false;
  }
  if (to.device() == from.device() && shape.overlaps(to.address(), from.address())) {
    refuse_overlap(to.address(), from.address(), shape.largest(), device, operation);
  }
  if constexpr (Guard::careful) {
    to.note_use(stream, operation);
    from.note_use(stream, operation);
    if (kind == 0) {
      submit_unusual(stream, to, from, shape, operation);
      return true;
    }
  }
  submit_copy(guard, kind, to.address(), from.address(), shape, operation);
  return true;
}

/// Runs body(guard) on the fast path; if that isn't possible or it returned false, on the slow path.
template <class Body>
void on_stream(const char* operation, std::uint64_t stream_id, const Body& body) {
  if (use_plain<StreamState>(stream_id, body)) [[likely]]
    return;
  use_pinned<StreamState>(operation, stream_id, [&](const auto& guard) {
    require_usable(*guard.first().device, operation);
    body(guard);
  });
}

}  // namespace
}  // namespace detail

void StreamView::copy(Address destination, Address source, std::uint64_t bytes) const {
  using namespace detail;
  constexpr const char* operation = "Stream::copy";
  on_stream(operation, id_, [&](const auto& guard) {
    DeviceState& device = *guard.first().device;
    if (bytes == 0) return true;
    const AddressSide to("destination", destination.value(), device);
    const AddressSide from("source", source.value(), device);
    to.require(bytes, device, operation);
    from.require(bytes, device, operation);
    return submit_by_address(guard, to, from, WholeCopy{bytes}, operation);
  });
}

void StreamView::copy_2d(Address destination, std::uint64_t destination_pitch, Address source,
                         std::uint64_t source_pitch, std::uint64_t width, std::uint64_t rows) const {
  using namespace detail;
  constexpr const char* operation = "Stream::copy_2d";
  on_stream(operation, id_, [&](const auto& guard) {
    DeviceState& device = *guard.first().device;
    if (width == 0 || rows == 0) return true;
    const AddressSide to("destination", destination.value(), device);
    const AddressSide from("source", source.value(), device);
    to.require_lines(destination_pitch, width, rows, device, operation);
    from.require_lines(source_pitch, width, rows, device, operation);
    return submit_by_address(guard, to, from, LineCopy{destination_pitch, source_pitch, width, rows}, operation);
  });
}

void StreamView::copy(HostSpan destination, ConstHostSpan source) const {
  using namespace detail;
  constexpr const char* operation = "Stream::copy";
  use_pinned<StreamState>(operation, id_, [&](const auto& guard) {
    StreamState& stream = guard.first();
    const DeviceState& device = *stream.device;
    require_usable(*stream.device, operation);
    WholeCopy shape;
    if (!shape.check(destination.size_bytes(), source.size_bytes(), device, operation)) return;
    const auto to = reinterpret_cast<std::uintptr_t>(destination.data());
    const auto from = reinterpret_cast<std::uintptr_t>(source.data());
    if (to == 0) refuse_null(shape.bytes, "destination", device, operation);
    if (from == 0) refuse_null(shape.bytes, "source", device, operation);
    if (shape.overlaps(to, from)) refuse_overlap(to, from, shape.bytes, device, operation);
    host_ranges().note_use_once(to, stream, operation);
    host_ranges().note_use_once(from, stream, operation);
    submit_host_copy(stream, shape.as_lines(ANYPLACE_COPY_HOST_TO_HOST, to, from), operation);
  });
}

}  // namespace anyplace
