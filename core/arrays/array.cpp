// SPDX-License-Identifier: Apache-2.0
// Array: the ownership of a view's memory.
#include "anyplace/array.h"

#include <fmt/format.h>

#include <cstddef>
#include <new>
#include <utility>

#include "arrays/layout.h"
#include "runtime/call.h"

namespace anyplace {

namespace detail {

/// The memory that goes with the last Array that uses it. One of its owners is set.
struct ArrayMemory {
  /// The range within which views of the array may lie.
  std::uint64_t begin = 0;
  std::uint64_t bytes = 0;

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
  made.place_ = stream.device();  // taken from the stream, because a buffer of no bytes has no device
  if (buffer && buffer.device() != stream.device()) {
    detail::fail(ErrorCode::invalid_argument, stream.device().to_string(), "Array::own",
                 "the buffer is of " + buffer.device().to_string() + ", and the stream is of " +
                     stream.device().to_string() + "\nan array is made on a stream of its memory's device");
  }
  auto memory = std::make_shared<detail::ArrayMemory>();
  memory->bytes = buffer.size_bytes();
  if (memory->bytes != 0) memory->begin = buffer.address();
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
  memory->begin = reinterpret_cast<std::uintptr_t>(span.data());
  memory->bytes = span.size_bytes();
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
  memory->begin = view.range_begin().value();
  memory->bytes = view.range_bytes();
  memory->others = std::move(owner);
  made.memory_ = std::move(memory);
  made.stream_ = stream;
  return made;
}

Array::Array(Array&& other) noexcept
    : ArrayView(other), memory_(std::move(other.memory_)), stream_(std::exchange(other.stream_, StreamView())) {
  static_cast<ArrayView&>(other) = ArrayView();
}

Array& Array::operator=(Array&& other) noexcept {
  Array taken(std::move(other));
  static_cast<ArrayView&>(*this) = taken;
  memory_.swap(taken.memory_);
  stream_ = taken.stream_;
  return *this;
}

Array Array::with(const ArrayView& view) const {
  constexpr const char* operation = "Array::with";
  const ArrayPlace place = view.place();
  const std::uint64_t begin = view.range_begin().value(), bytes = view.range_bytes();
  const bool is_within = memory_ != nullptr && place == ArrayView::place() &&
                         (bytes == 0 || (begin >= memory_->begin && begin - memory_->begin <= memory_->bytes &&
                                         bytes <= memory_->bytes - (begin - memory_->begin)));
  if (!is_within) {
    detail::fail(
        ErrorCode::invalid_argument, place.to_string(), operation,
        memory_ == nullptr
            ? std::string("the array is null, and owns no memory\ngive a view of memory to an array that owns it")
            : fmt::format("the view is of {} bytes from {:#x} of {}, and the array owns {} from {:#x} of {}\nan array "
                          "keeps its own memory alone: make one of the other memory with Array::share",
                          bytes, begin, place.to_string(), memory_->bytes, memory_->begin,
                          ArrayView::place().to_string()));
  }
  return cut(view);
}

Array Array::cut(const ArrayView& view) const {
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
