// SPDX-License-Identifier: Apache-2.0
//
// Making views, and cutting others out of them. The range that a view reaches is checked when the view is made of
// memory; a view that is cut out of it reaches no further.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "anyplace/array.h"
#include "arrays/layout.h"
#include "runtime/call.h"

namespace anyplace {

// ---- Extents -------------------------------------------------------------------------------------------------------

Extents::Extents(std::span<const std::int64_t> values) {
  if (values.size() > max) {
    detail::fail(ErrorCode::invalid_argument, {}, "Extents",
                 fmt::format("{} dimensions are too many\nan array has {} at most", values.size(), max));
  }
  std::copy(values.begin(), values.end(), values_.begin());
  size_ = static_cast<std::uint32_t>(values.size());
}

void Extents::push_back(std::int64_t value) {
  if (size_ == max) {
    detail::fail(ErrorCode::invalid_argument, {}, "Extents",
                 fmt::format("there are {} dimensions already, and an array has no more", max));
  }
  values_[size_++] = value;
}

void Extents::remove(std::size_t i) noexcept {
  std::copy(values_.begin() + i + 1, values_.begin() + size_, values_.begin() + i);
  values_[--size_] = 0;
}

std::string Extents::to_string() const {
  return fmt::format("({}{})", fmt::join(begin(), end(), ", "), size_ == 1 ? "," : "");
}

// ---- ArrayPlace ----------------------------------------------------------------------------------------------------

Device ArrayPlace::device() const {
  if (!device_) {
    detail::fail(ErrorCode::invalid_argument, "host", "ArrayPlace::device", "memory of the host is of no device");
  }
  return *device_;
}

std::string ArrayPlace::to_string() const { return device_ ? device_->to_string() : "host"; }

// ---- Making views --------------------------------------------------------------------------------------------------

ArrayView::ArrayView() noexcept : shape_{0}, strides_{1} {}

std::string ArrayView::where() const {
  return kind_ == Kind::null || place_ ? (place_ ? place_->to_string() : "") : "";
}

void ArrayView::set(const Extents& shape, const Extents& strides, const char* operation) {
  size_ = detail::count_elements(shape, dtype_, operation);
  if (strides.size() != shape.size()) {
    detail::fail(
        ErrorCode::invalid_argument, where(), operation,
        fmt::format("{} strides for a shape of {} dimensions\nthere is one for each", strides.size(), shape.size()));
  }
  shape_ = shape;
  strides_ = strides;
}

void ArrayView::require_aligned(std::uint64_t address, const char* operation) const {
  const std::uint64_t alignment = detail::alignment_of(dtype_);
  if (size_ == 0 || address % alignment == 0) return;
  detail::fail(ErrorCode::invalid_argument, where(), operation,
               fmt::format("elements of {} can't begin at {:#x}\ntheir address is a multiple of {}",
                           anyplace::to_string(dtype_), address, alignment));
}

/// Sets the range of a view whose first element is `offset` elements behind the beginning of `bytes` bytes of memory.
/// Throws invalid_argument if it isn't within.
void ArrayView::require_within(std::uint64_t bytes, std::int64_t offset, const char* operation) {
  if (size_ == 0) return;
  const detail::ByteRange range = detail::range_of(shape_, strides_, dtype_, operation);
  std::int64_t first = 0, low = 0, high = 0;
  const bool beyond = __builtin_mul_overflow(offset, static_cast<std::int64_t>(size_of(dtype_)), &first) ||
                      __builtin_add_overflow(first, range.low, &low) ||
                      __builtin_add_overflow(first, range.high, &high);
  if (beyond || low < 0 || static_cast<std::uint64_t>(high) > bytes) {
    detail::fail(ErrorCode::invalid_argument, where(), operation,
                 fmt::format("elements of {} in the shape {} with the strides {} from element {} on don't lie within "
                             "the memory's {} bytes",
                             anyplace::to_string(dtype_), shape_.to_string(), strides_.to_string(), offset, bytes) +
                     (beyond ? std::string() : fmt::format("\nthey take the bytes from {} to before {}", low, high)));
  }
  first_ += static_cast<std::uint64_t>(first);
  low_ = first_ + static_cast<std::uint64_t>(range.low);
  high_ = first_ + static_cast<std::uint64_t>(range.high);
}

ArrayView::ArrayView(const BufferView& memory, DType dtype, const Extents& shape)
    : ArrayView(memory, dtype, shape, detail::contiguous_strides(shape)) {}

ArrayView::ArrayView(const BufferView& memory, DType dtype, const Extents& shape, const Extents& strides,
                     std::int64_t offset) {
  constexpr const char* operation = "ArrayView";
  dtype_ = dtype;
  set(shape, strides, operation);
  kind_ = Kind::buffer;
  memory_ = memory;
  if (memory) place_ = memory.device();
  if (size_ != 0) require_aligned(memory.address(), operation);
  require_within(memory.size_bytes(), offset, operation);
}

ArrayView ArrayView::on_host(HostSpan memory, DType dtype, const Extents& shape) {
  return on_host(memory, dtype, shape, detail::contiguous_strides(shape));
}

ArrayView ArrayView::on_host(HostSpan memory, DType dtype, const Extents& shape, const Extents& strides,
                             std::int64_t offset) {
  constexpr const char* operation = "ArrayView::on_host";
  ArrayView made;
  made.kind_ = Kind::host;
  made.place_ = ArrayPlace::host();
  made.dtype_ = dtype;
  made.set(shape, strides, operation);
  made.first_ = reinterpret_cast<std::uintptr_t>(memory.data());
  if (made.size_ != 0 && memory.data() == nullptr) {
    detail::fail(ErrorCode::invalid_argument, "host", operation,
                 fmt::format("the memory's address is null, for {} elements", made.size_));
  }
  made.require_aligned(made.first_, operation);
  made.require_within(memory.size_bytes(), offset, operation);
  return made;
}

ArrayView ArrayView::at(const ArrayPlace& place, Address first, DType dtype, const Extents& shape) {
  return at(place, first, dtype, shape, detail::contiguous_strides(shape));
}

ArrayView ArrayView::at(const ArrayPlace& place, Address first, DType dtype, const Extents& shape,
                        const Extents& strides) {
  constexpr const char* operation = "ArrayView::at";
  ArrayView made;
  made.kind_ = place.is_host() ? Kind::host : Kind::device;
  made.place_ = place;
  made.dtype_ = dtype;
  made.set(shape, strides, operation);
  made.first_ = made.low_ = made.high_ = first.value();
  if (made.size_ == 0) return made;
  if (first.value() == 0) {
    detail::fail(ErrorCode::invalid_argument, place.to_string(), operation,
                 fmt::format("the address is null, for {} elements", made.size_));
  }
  made.require_aligned(first.value(), operation);
  const detail::ByteRange range = detail::range_of(shape, strides, dtype, operation);
  const std::uint64_t below = 0 - static_cast<std::uint64_t>(range.low);
  if (below >= first.value() || static_cast<std::uint64_t>(range.high) > UINT64_MAX - first.value()) {
    detail::fail(ErrorCode::invalid_argument, place.to_string(), operation,
                 fmt::format("the elements from {:#x} on reach {} bytes down and {} up, beyond the ends of the address "
                             "space",
                             first.value(), below, range.high));
  }
  made.low_ = first.value() - below;
  made.high_ = first.value() + static_cast<std::uint64_t>(range.high);
  const PointerAttributes known = pointer_attributes(first);
  const bool bounds = known.kind == AddressKind::device && known.device && place == ArrayPlace(*known.device);
  if (bounds && (made.low_ < known.allocation || made.high_ - known.allocation > known.size_bytes)) {
    detail::fail(ErrorCode::invalid_argument, place.to_string(), operation,
                 fmt::format("elements of {} in the shape {} with the strides {} from {:#x} on reach beyond their "
                             "allocation, which has {} bytes from {:#x}",
                             anyplace::to_string(dtype), shape.to_string(), strides.to_string(), first.value(),
                             known.size_bytes, known.allocation));
  }
  return made;
}

// ---- Queries -------------------------------------------------------------------------------------------------------

ArrayPlace ArrayView::place() const {
  if (!place_) {
    detail::fail(
        ErrorCode::invalid_argument, {}, "ArrayView::place",
        "a null array has no memory, and so no place\nmake one of a buffer, of memory of the host or of an address");
  }
  return *place_;
}

Address ArrayView::address() const {
  if (size_ == 0) return Address();
  return kind_ == Kind::buffer ? Address(memory_.address() + first_) : Address(first_);
}

Address ArrayView::range_begin() const {
  if (size_ == 0) return Address();
  return kind_ == Kind::buffer ? Address(memory_.address() + low_) : Address(low_);
}

bool ArrayView::is_contiguous() const noexcept {
  std::int64_t expected = 1;
  for (std::size_t i = ndim(); i-- != 0;) {
    if (shape_[i] == 0) return true;
    if (shape_[i] != 1 && strides_[i] != expected) return false;
    expected *= shape_[i];
  }
  return true;
}

ArrayView ArrayView::as_read_only() const noexcept {
  ArrayView made = *this;
  made.read_only_ = true;
  return made;
}

// ---- Views of views ------------------------------------------------------------------------------------------------

std::size_t ArrayView::dim_of(std::int64_t dim, const char* operation) const {
  const auto count = static_cast<std::int64_t>(ndim());
  if (dim >= -count && dim < count) return static_cast<std::size_t>(dim < 0 ? dim + count : dim);
  detail::fail(ErrorCode::invalid_argument, where(), operation,
               fmt::format("there is no dimension {} in the shape {}\n", dim, shape_.to_string()) +
                   (count == 0 ? std::string("an array without dimensions has none to choose")
                               : fmt::format("dimensions go from {} to {}", -count, count - 1)));
}

ArrayView ArrayView::select(std::int64_t dim, std::int64_t index) const {
  constexpr const char* operation = "ArrayView::select";
  const std::size_t at = dim_of(dim, operation);
  const std::int64_t extent = shape_[at];
  if (index < -extent || index >= extent) {
    detail::fail(ErrorCode::invalid_argument, where(), operation,
                 fmt::format("there is no index {} in dimension {} of the shape {}", index, at, shape_.to_string()));
  }
  ArrayView made = slice(static_cast<std::int64_t>(at), index < 0 ? index + extent : index,
                         (index < 0 ? index + extent : index) + 1);
  made.shape_.remove(at);
  made.strides_.remove(at);
  return made;
}

ArrayView ArrayView::slice(std::int64_t dim, std::int64_t begin, std::int64_t end, std::int64_t step) const {
  constexpr const char* operation = "ArrayView::slice";
  const std::size_t at = dim_of(dim, operation);
  const std::int64_t extent = shape_[at];
  const std::int64_t from = begin < 0 ? begin + extent : begin;
  const std::int64_t to = end < 0 ? end + extent : end;
  // In a slice downwards an end before index 0 has to be given as -extent - 1, since -1 is the last element; it is -1
  // here.
  const bool down = step < 0;
  const bool within = down ? from >= to && from < std::max<std::int64_t>(extent, 1) && to >= -1
                           : from >= 0 && from <= to && to <= extent;
  if (step == 0 || step == std::numeric_limits<std::int64_t>::min() || !within) {
    detail::fail(ErrorCode::invalid_argument, where(), operation,
                 fmt::format("a slice from {} to {} in steps of {} isn't within dimension {} of the shape {}", begin,
                             end, step, at, shape_.to_string()));
  }
  const std::int64_t span = down ? from - to : to - from;
  const std::int64_t size_of_step = down ? -step : step;
  const std::int64_t count = span / size_of_step + (span % size_of_step != 0 ? 1 : 0);
  ArrayView made = *this;
  made.shape_[at] = count;
  // With one element or none the stride has no meaning, and its product with the step could overflow.
  if (count > 1) made.strides_[at] *= step;
  made.size_ = detail::count_elements(made.shape_, dtype_, operation);
  if (made.size_ == 0) return made;
  made.first_ += static_cast<std::uint64_t>(from * strides_[at]) * size_of(dtype_);
  const detail::ByteRange range = detail::range_of(made.shape_, made.strides_, dtype_, operation);
  made.low_ = made.first_ + static_cast<std::uint64_t>(range.low);
  made.high_ = made.first_ + static_cast<std::uint64_t>(range.high);
  return made;
}

ArrayView ArrayView::permute(const Extents& order) const {
  constexpr const char* operation = "ArrayView::permute";
  ArrayView made = *this;
  std::uint64_t seen = 0;
  bool fits = order.size() == ndim();
  for (std::size_t i = 0; fits && i < order.size(); ++i) {
    const std::size_t from = dim_of(order[i], operation);
    fits = (seen >> from & 1) == 0;
    seen |= std::uint64_t{1} << from;
    made.shape_[i] = shape_[from];
    made.strides_[i] = strides_[from];
  }
  if (!fits) {
    detail::fail(ErrorCode::invalid_argument, where(), operation,
                 fmt::format("{} isn't the {} dimensions in an order\neach is named once", order.to_string(), ndim()));
  }
  return made;
}

namespace {

/// The shape with the extent that -1 stands for. Throws unless it has as many elements as the old one.
Extents shape_for(const Extents& asked, std::int64_t size, DType dtype, const Extents& old, const std::string& where,
                  const char* operation) {
  Extents shape = asked;
  std::optional<std::size_t> open;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (shape[i] != -1) continue;
    if (open) {
      detail::fail(ErrorCode::invalid_argument, where, operation,
                   fmt::format("the shape {} has -1 twice\none extent may be left open", asked.to_string()));
    }
    open = i;
    shape[i] = 1;
  }
  const std::int64_t count = detail::count_elements(shape, dtype, operation);
  if (open && count != 0 && size % count == 0) {
    shape[*open] = size / count;
  } else if (open || count != size) {
    detail::fail(
        ErrorCode::invalid_argument, where, operation,
        fmt::format("{} elements of the shape {} aren't those of {}", size, old.to_string(), asked.to_string()));
  }
  return shape;
}

/// Neighbouring old dimensions whose elements are evenly spaced, as one dimension of `size` elements.
struct Run {
  std::int64_t size;
  std::int64_t stride;  ///< from one element to the next
};

}  // namespace

ArrayView ArrayView::reshape(const Extents& asked) const {
  constexpr const char* operation = "ArrayView::reshape";
  ArrayView made = *this;
  made.shape_ = shape_for(asked, size_, dtype_, shape_, where(), operation);
  made.strides_ = detail::contiguous_strides(made.shape_);
  if (size_ == 0 || is_contiguous()) return made;
  // A run is a group of old dimensions that one stride walks through. Each run has to be the product of some new
  // extents.
  std::vector<Run> runs;
  for (std::size_t i = 0; i < ndim(); ++i) {
    if (shape_[i] == 1) continue;
    if (!runs.empty() && runs.back().stride == shape_[i] * strides_[i]) {
      runs.back() = {runs.back().size * shape_[i], strides_[i]};
    } else {
      runs.push_back({shape_[i], strides_[i]});
    }
  }
  std::size_t end = made.ndim();
  for (std::size_t r = runs.size(); r-- != 0;) {
    std::int64_t size = 1;
    while (size < runs[r].size && end != 0) {
      made.strides_[--end] = size * runs[r].stride;
      size *= made.shape_[end];
    }
    if (size != runs[r].size) {
      detail::fail(ErrorCode::invalid_argument, where(), operation,
                   fmt::format("elements of the shape {} with the strides {} can't be seen in the shape {} without "
                               "being moved\ncopy them to a contiguous array, and reshape that",
                               shape_.to_string(), strides_.to_string(), made.shape_.to_string()));
    }
  }
  return made;
}

}  // namespace anyplace
