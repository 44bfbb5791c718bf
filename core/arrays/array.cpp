// SPDX-License-Identifier: Apache-2.0
// Array: who owns the memory of a view.
#include "anyplace/array.h"

#include <cstddef>
#include <new>
#include <utility>

#include "arrays/layout.h"
#include "runtime/call.h"

namespace anyplace {

namespace detail {

/// What goes with the last Array. One of the members has something.
struct ArrayMemory {
  Buffer buffer;
  HostBuffer pinned;
  std::unique_ptr<std::byte[]> plain;
  std::shared_ptr<const void> others;
};

namespace {

std::uint64_t bytes_of_shape(DType dtype, const Extents& shape, const char* operation) {
  return static_cast<std::uint64_t>(count_elements(shape, dtype, operation)) * size_of(dtype);
}

}  // namespace
}  // namespace detail

Array::Array(const StreamView& stream, DType dtype, const Extents& shape)
    : Array(own(Buffer(stream, detail::bytes_of_shape(dtype, shape, "Array")), stream, dtype, shape)) {}

Array::Array(const Device& device, DType dtype, const Extents& shape) : Array(current_stream(device), dtype, shape) {}

Array Array::own(Buffer buffer, const StreamView& stream, DType dtype, const Extents& shape) {
  Array made;
  static_cast<ArrayView&>(made) = ArrayView(buffer, dtype, shape);
  made.place_ = stream.device();  // a buffer of no bytes has none
  if (buffer && buffer.device() != stream.device()) {
    detail::fail(ErrorCode::invalid_argument, stream.device().to_string(), "Array::own",
                 "the buffer is of " + buffer.device().to_string() + ", and the stream is of " +
                     stream.device().to_string() + "\nan array is made on a stream of its memory's device");
  }
  auto memory = std::make_shared<detail::ArrayMemory>();
  memory->buffer = std::move(buffer);
  made.memory_ = std::move(memory);
  made.stream_ = stream;
  return made;
}

Array Array::on_host(const StreamView& stream, DType dtype, const Extents& shape) {
  const std::uint64_t bytes = detail::bytes_of_shape(dtype, shape, "Array::on_host");
  auto memory = std::make_shared<detail::ArrayMemory>();
  HostSpan span;
  if (stream.device().has(Capability::pinned_memory)) {
    memory->pinned = HostBuffer(stream.device(), bytes);
    span = memory->pinned;
  } else {
    memory->plain.reset(new std::byte[bytes]);
    span = {memory->plain.get(), bytes};
  }
  Array made;
  static_cast<ArrayView&>(made) = ArrayView::on_host(span, dtype, shape);
  made.memory_ = std::move(memory);
  made.stream_ = stream;
  return made;
}

Array Array::share(const ArrayView& view, const StreamView& stream, std::shared_ptr<const void> owner) {
  constexpr const char* operation = "Array::share";
  const ArrayPlace place = view.place();
  if (!place.is_host() && (!stream || stream.device() != place.device())) {
    detail::fail(ErrorCode::invalid_argument, place.to_string(), operation,
                 "the memory is of " + place.to_string() + ", and the stream is " +
                     (stream ? "of " + stream.device().to_string() : "null") +
                     "\nan array is made on a stream of its memory's device");
  }
  Array made;
  static_cast<ArrayView&>(made) = view;
  auto memory = std::make_shared<detail::ArrayMemory>();
  memory->others = std::move(owner);
  made.memory_ = std::move(memory);
  made.stream_ = stream;
  return made;
}

Array Array::with(const ArrayView& view) const {
  Array made;
  static_cast<ArrayView&>(made) = view;
  made.memory_ = memory_;
  made.stream_ = stream_;
  return made;
}

void Array::record_stream(const StreamView& stream) const {
  if (!memory_) return;
  if (memory_->buffer) memory_->buffer.record_stream(stream);
  if (memory_->pinned) memory_->pinned.record_stream(stream);
}

}  // namespace anyplace
