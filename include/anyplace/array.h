// SPDX-License-Identifier: Apache-2.0
//
// Arrays: memory seen as elements of a type in several dimensions, as NumPy's ndarray and DLPack's tensor are. An
// ArrayView names memory, an Array shares its ownership, and copy() copies from one to another, whatever their strides.
//
//   anyplace::Array a(stream, DType::f32, {64, 1000});             // made on the stream, not cleared
//   anyplace::copy(stream, a.slice(1, 0, 10), host_view);          // ten columns
//   const anyplace::ArrayView column = a.select(1, 3);             // of 64 elements, 1000 apart
//
// A shape has up to 32 dimensions; the last one is the innermost. Strides count elements from one index to the next;
// they may be 0 or negative. What a shape and its strides reach is checked against the memory when a view is made, so a
// view never names memory outside of the range that it was made of.
//
// A negative dimension is counted from the end: -1 is the last. There is no broadcasting in NumPy's sense, and no
// arithmetic.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "address.h"
#include "device.h"
#include "dtype.h"
#include "export.h"
#include "memory.h"
#include "stream.h"

namespace anyplace {

namespace detail {
struct ArrayMemory;
}  // namespace detail

/// A shape, or strides: one number for each of up to 32 dimensions. Free to copy.
class ANYPLACE_API Extents {
 public:
  static constexpr std::size_t max = 32;  ///< the most dimensions that there may be

  constexpr Extents() noexcept = default;
  /// Throw invalid_argument for more than 32 numbers.
  Extents(std::initializer_list<std::int64_t> values) : Extents(std::span(values.begin(), values.size())) {}
  /// The numbers of a vector; throws as above.
  Extents(const std::vector<std::int64_t>& values) : Extents(std::span(values)) {}
  /// The numbers of a span; throws as above.
  explicit Extents(std::span<const std::int64_t> values);

  /// How many numbers there are.
  constexpr std::size_t size() const noexcept { return size_; }
  /// Whether there are none, as for the shape of a scalar.
  constexpr bool empty() const noexcept { return size_ == 0; }
  /// The i-th number; `i` isn't checked, and is less than size().
  constexpr std::int64_t operator[](std::size_t i) const noexcept { return values_[i]; }
  /// The i-th number, to be changed.
  constexpr std::int64_t& operator[](std::size_t i) noexcept { return values_[i]; }
  /// The first of size() numbers, one behind the other.
  constexpr const std::int64_t* data() const noexcept { return values_.data(); }
  /// The first number, for loops.
  constexpr const std::int64_t* begin() const noexcept { return values_.data(); }
  /// Behind the last number, for loops.
  constexpr const std::int64_t* end() const noexcept { return values_.data() + size_; }
  /// Throws invalid_argument if there are 32 already.
  void push_back(std::int64_t value);
  /// Takes the i-th number out, and moves later ones forward; `i` is less than size().
  void remove(std::size_t i) noexcept;

  /// The numbers as text: "(2, 3)", "(2,)", "()".
  std::string to_string() const;

  friend constexpr bool operator==(const Extents& a, const Extents& b) noexcept {
    if (a.size_ != b.size_) return false;
    for (std::size_t i = 0; i < a.size_; ++i) {
      if (a.values_[i] != b.values_[i]) return false;
    }
    return true;
  }

 private:
  std::array<std::int64_t, max> values_{};
  std::uint32_t size_ = 0;
};

/// Where an array's elements are: in memory of a device, or in memory of the host, pinned or not. Free to copy.
class ANYPLACE_API ArrayPlace {
 public:
  /// The place of the device's memory.
  ArrayPlace(const Device& device) noexcept : device_(device) {}
  /// The place of the host's memory.
  static ArrayPlace host() noexcept { return {}; }

  /// Whether it is the host's memory.
  bool is_host() const noexcept { return !device_; }
  /// Throws invalid_argument for the host.
  Device device() const;
  /// The place as text: "host", "cuda:0".
  std::string to_string() const;

  friend bool operator==(const ArrayPlace&, const ArrayPlace&) noexcept = default;

 private:
  ArrayPlace() noexcept = default;
  std::optional<Device> device_;
};

/// Names an array without owning its memory. Free to copy, and safe to use from any thread. A view of a BufferView is
/// as safe as that: using it after the buffer was destroyed throws invalid_handle. Members throw invalid_argument for a
/// dimension or an index that isn't there, and for a shape that doesn't fit.
class ANYPLACE_API ArrayView {
 public:
  /// A null view: it has no memory and no elements, and the shape (0,). Copies and collectives refuse it.
  ArrayView() noexcept;
  /// Elements one behind the other from the beginning of `memory`, which may have more bytes than they take. Throws
  /// invalid_argument if it has less, if an extent is negative, if the elements are more than 64 bits count, or if the
  /// memory doesn't begin at a multiple of the element's size (of its half, for complex ones).
  ArrayView(const BufferView& memory, DType dtype, const Extents& shape);
  /// The first element is `offset` elements from the beginning of `memory`. Throws as above, and also unless there is a
  /// stride for each dimension and every element lies within.
  ArrayView(const BufferView& memory, DType dtype, const Extents& shape, const Extents& strides,
            std::int64_t offset = 0);
  /// All elements of a span, in one dimension.
  template <class T>
  requires requires { DTypeOf<T>::value; }
  explicit ArrayView(const BufferSpan<T>& span)
      : ArrayView(span, dtype_of<T>, {static_cast<std::int64_t>(span.size())}) {}

  /// A view of the host's memory, which has to stay as long as work uses it. Throws as the constructors.
  static ArrayView on_host(HostSpan memory, DType dtype, const Extents& shape);
  /// As above, with a stride for each dimension and the first element `offset` elements from the beginning of `memory`.
  static ArrayView on_host(HostSpan memory, DType dtype, const Extents& shape, const Extents& strides,
                           std::int64_t offset = 0);
  /// A view of memory that is only known by an address, of a device or of the host. Checks that the range doesn't wrap
  /// around and, where pointer_attributes() knows the address as that device's, that it ends in its allocation.
  static ArrayView at(const ArrayPlace& place, Address first, DType dtype, const Extents& shape);
  /// As above, with a stride for each dimension, which may be negative: `first` is where index 0 is.
  static ArrayView at(const ArrayPlace& place, Address first, DType dtype, const Extents& shape,
                      const Extents& strides);

  /// Whether it names an array: false for a null view.
  explicit operator bool() const noexcept { return kind_ != Kind::null; }
  /// The type of the elements; u8 for a null view.
  DType dtype() const noexcept { return dtype_; }
  /// The extent of each dimension.
  const Extents& shape() const noexcept { return shape_; }
  /// Elements from one index to the next, for each dimension.
  const Extents& strides() const noexcept { return strides_; }
  /// How many dimensions there are.
  std::size_t ndim() const noexcept { return shape_.size(); }
  /// The extent of a dimension. Throws invalid_argument if there is no dimension of that number.
  std::int64_t size(std::int64_t dim) const { return shape_[dim_of(dim, "ArrayView::size")]; }
  /// How many elements there are; 1 for no dimensions.
  std::int64_t size() const noexcept { return size_; }
  /// The bytes of all elements, without gaps between them.
  std::uint64_t size_bytes() const noexcept { return static_cast<std::uint64_t>(size_) * size_of(dtype_); }
  /// The place of the memory. It and device() throw invalid_argument for a null view, and device() also for memory of
  /// the host.
  ArrayPlace place() const;
  /// The device that the memory is of. Throws invalid_argument for a null view and for memory of the host.
  Device device() const { return place().device(); }
  /// Whether the memory is the host's, pinned or not.
  bool is_on_host() const noexcept { return kind_ == Kind::host; }
  /// The address of the first element, which isn't the lowest one if a stride is negative. 0 where there are no
  /// elements.
  Address address() const;
  /// The memory that the view was made of; null if that was an address or the host's memory.
  BufferView buffer() const noexcept { return kind_ == Kind::buffer ? memory_ : BufferView(); }
  /// Bytes from the first byte of the lowest element to the end of the highest.
  std::uint64_t range_bytes() const noexcept { return size_ == 0 ? 0 : high_ - low_; }
  /// The lowest address of any element.
  Address range_begin() const;

  /// Whether the elements lie one behind the other in the order of their indices.
  bool is_contiguous() const noexcept;
  /// Whether the memory may only be read: copies and collectives refuse to write it, and DLPack passes the flag on.
  bool is_read_only() const noexcept { return read_only_; }
  /// The same view of memory that may only be read.
  ArrayView as_read_only() const noexcept;

  // -- Views of the same memory.
  /// The elements whose index in `dim` is `index`, without that dimension. A negative index counts from the end.
  ArrayView select(std::int64_t dim, std::int64_t index) const;
  /// The elements from `begin` to before `end` in `dim`; negative numbers count from the end. Unlike Python's, a slice
  /// that isn't within is refused. A step may be negative: slice(0, n - 1, -n - 1, -1) reverses n elements.
  ArrayView slice(std::int64_t dim, std::int64_t begin, std::int64_t end, std::int64_t step = 1) const;
  /// The same elements with the dimensions in another order: permute({1, 0}) of a matrix is its transpose.
  ArrayView permute(const Extents& order) const;
  /// The same elements in the same order, with another shape; one extent may be -1. Throws invalid_argument, which
  /// names the dimensions, where no strides can express the shape: then copy to a contiguous array before.
  ArrayView reshape(const Extents& shape) const;

  /// Whether the other array has the same type, shape, strides and memory.
  friend bool operator==(const ArrayView&, const ArrayView&) noexcept = default;

 protected:
  /// The dimension of that number from 0 on; throws invalid_argument, which names `operation`, if there is none.
  std::size_t dim_of(std::int64_t dim, const char* operation) const;

 private:
  friend class Array;
  enum class Kind : std::uint8_t { null, buffer, device, host };

  void set(const Extents& shape, const Extents& strides, const char* operation);
  void require_within(std::uint64_t bytes, std::int64_t offset, const char* operation);
  void require_aligned(std::uint64_t address, const char* operation) const;
  std::string where() const;

  Kind kind_ = Kind::null;
  bool read_only_ = false;
  DType dtype_ = DType::u8;
  BufferView memory_;                 ///< the memory, for Kind::buffer
  std::optional<ArrayPlace> place_;   ///< the place of the memory, for the other kinds
  std::uint64_t first_ = 0;           ///< the first element: bytes from the buffer view's beginning, or an address
  std::uint64_t low_ = 0, high_ = 0;  ///< the range of bytes, counted as first_ is
  std::int64_t size_ = 0;
  Extents shape_, strides_;
};

/// An ArrayView that shares the ownership of its memory with its copies and with arrays made of it, and knows the
/// stream it was made on. The memory is freed with the last one; a Buffer is freed in its stream's order, so without a
/// wait.
class ANYPLACE_API Array : public ArrayView {
 public:
  Array() noexcept = default;
  Array(const Array&) noexcept = default;
  Array& operator=(const Array&) noexcept = default;
  /// `other` becomes null: a view without the ownership would outlive its memory.
  Array(Array&& other) noexcept;
  Array& operator=(Array&& other) noexcept;
  ~Array() = default;
  /// Allocates memory of the stream's device, contiguous, not cleared. Throws out_of_memory as Buffer does, and
  /// invalid_argument for a negative extent or more elements than 64 bits count.
  Array(const StreamView& stream, DType dtype, const Extents& shape);
  /// Allocates on the calling thread's current stream of `device`.
  Array(const Device& device, DType dtype, const Extents& shape);
  /// Memory of the host, pinned for the stream's device where that has Capability::pinned_memory.
  static Array on_host(const StreamView& stream, DType dtype, const Extents& shape);
  /// Takes all of a buffer, which becomes the array's; shape and type are checked as ArrayView does.
  static Array own(Buffer buffer, const StreamView& stream, DType dtype, const Extents& shape);
  /// Memory that somebody else owns. `owner` goes with the last array that uses it, on whatever thread that is; its
  /// deleter may be called while work that was submitted still runs, and may not throw. A null owner is for memory that
  /// stays anyway.
  static Array share(const ArrayView& view, const StreamView& stream, std::shared_ptr<const void> owner);

  /// The stream that it was made on; null for memory of the host that share() got without one.
  StreamView stream() const noexcept { return stream_; }
  /// The array as a view, without the ownership.
  const ArrayView& view() const noexcept { return *this; }
  /// A view of this array's memory that shares its ownership. The memory is all of the buffer or of the host's memory
  /// that was made or given; for share(), what its view reaches. Throws invalid_argument for a view of other memory, or
  /// for a null one.
  Array with(const ArrayView& view) const;

  /// ArrayView::as_read_only, which shares the ownership.
  Array as_read_only() const { return cut(ArrayView::as_read_only()); }
  /// ArrayView::select, which shares the ownership.
  Array select(std::int64_t dim, std::int64_t index) const { return cut(ArrayView::select(dim, index)); }
  /// ArrayView::slice, which shares the ownership.
  Array slice(std::int64_t dim, std::int64_t begin, std::int64_t end, std::int64_t step = 1) const {
    return cut(ArrayView::slice(dim, begin, end, step));
  }
  /// ArrayView::permute, which shares the ownership.
  Array permute(const Extents& order) const { return cut(ArrayView::permute(order)); }
  /// ArrayView::reshape, which shares the ownership.
  Array reshape(const Extents& shape) const { return cut(ArrayView::reshape(shape)); }

  /// Says that work on `stream`, submitted up to the moment the memory is freed, uses it. It has no effect on memory
  /// that share() got.
  void record_stream(const StreamView& stream) const;

 private:
  /// The array of a view that was cut out of this one: it shares the ownership.
  Array cut(const ArrayView& view) const;

  std::shared_ptr<const detail::ArrayMemory> memory_;
  StreamView stream_;
};

/// Copies all elements in the order of `stream`, which is of the device of either array. Copies between devices as
/// Stream::copy does, and between arrays of the host, too. Arrays that are contiguous alike take one submission. Others
/// are copied in lines that are contiguous in both: by copy_2d where the lines lie equally far apart, else one by one.
/// Elements without any contiguous line take a submission each. The host doesn't wait where Stream::copy doesn't.
///
/// Throws invalid_argument, before anything is submitted, for a null array, for types or shapes that differ, for a
/// destination that is read-only or has an element twice (a stride of 0), and for ranges that overlap, even where their
/// elements don't. Throws what Stream::copy throws besides.
ANYPLACE_API void copy(const StreamView& stream, const ArrayView& destination, const ArrayView& source);

}  // namespace anyplace
