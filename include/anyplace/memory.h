// SPDX-License-Identifier: Apache-2.0
//
// Memory: device buffers, pinned host buffers, registered host memory, and the views that copies take.
//
// A Buffer belongs to the stream it was made on and frees itself in that stream's order: work submitted before still
// finds the memory, and nobody else gets it until that work is done. Work of a second stream is named with
// record_stream, which extends the same promise to that stream.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "device.h"
#include "export.h"
#include "temporary_owner.h"

namespace anyplace {

class StreamView;

namespace detail {

/// A contiguous range of trivially copyable elements.
template <class Range>
concept ElementRange = requires(Range& range) {
  {std::data(range)};
  {std::size(range)};
  requires std::is_trivially_copyable_v<std::remove_cv_t<std::remove_pointer_t<decltype(std::data(range))>>>;
};

}  // namespace detail

/// Host memory for a copy to write. Made of any contiguous range of trivially copyable elements; owns nothing.
class HostSpan {
 public:
  constexpr HostSpan() noexcept = default;
  /// `bytes` bytes from `data` on.
  constexpr HostSpan(void* data, std::uint64_t bytes) noexcept : data_(data), bytes_(bytes) {}
  /// All elements of a range that has a name: a temporary would be gone before the copy is done, and doesn't compile.
  template <class Range>
  requires(!std::is_same_v<std::remove_cvref_t<Range>, HostSpan> && detail::ElementRange<Range> &&
           !std::is_const_v<std::remove_pointer_t<decltype(std::data(std::declval<Range&>()))>> &&
           !detail::TemporaryOwner<Range>) constexpr HostSpan(Range&& range) noexcept
      : data_(std::data(range)), bytes_(std::size(range) * sizeof(*std::data(range))) {}
  template <class Range>
  requires(detail::ElementRange<Range>&& detail::TemporaryOwner<Range> &&
           !std::is_same_v<std::remove_cvref_t<Range>, HostSpan>)
      HostSpan(Range&& /*a temporary, gone before the copy is done: name it first*/)
  = delete;

  /// The first byte.
  constexpr void* data() const noexcept { return data_; }
  /// How many bytes there are.
  constexpr std::uint64_t size_bytes() const noexcept { return bytes_; }

 private:
  void* data_ = nullptr;
  std::uint64_t bytes_ = 0;
};

/// Host memory for a copy to read.
class ConstHostSpan {
 public:
  constexpr ConstHostSpan() noexcept = default;
  /// `bytes` bytes from `data` on.
  constexpr ConstHostSpan(const void* data, std::uint64_t bytes) noexcept : data_(data), bytes_(bytes) {}
  /// Memory that may be written may be read.
  constexpr ConstHostSpan(HostSpan span) noexcept : data_(span.data()), bytes_(span.size_bytes()) {}
  /// All elements of a range that has a name; a temporary doesn't compile.
  template <class Range>
  requires(!std::is_same_v<std::remove_cvref_t<Range>, HostSpan> &&
           !std::is_same_v<std::remove_cvref_t<Range>, ConstHostSpan> && detail::ElementRange<const Range> &&
           !detail::TemporaryOwner<Range>) constexpr ConstHostSpan(Range&& range) noexcept
      : data_(std::data(std::as_const(range))), bytes_(std::size(range) * sizeof(*std::data(std::as_const(range)))) {}
  template <class Range>
  requires(!std::is_same_v<std::remove_cvref_t<Range>, HostSpan> &&
           !std::is_same_v<std::remove_cvref_t<Range>, ConstHostSpan> && detail::ElementRange<const Range> &&
           detail::TemporaryOwner<Range>)
      ConstHostSpan(Range&& /*a temporary, gone before the copy is done: name it first*/)
  = delete;

  /// The first byte.
  constexpr const void* data() const noexcept { return data_; }
  /// How many bytes there are.
  constexpr std::uint64_t size_bytes() const noexcept { return bytes_; }

 private:
  const void* data_ = nullptr;
  std::uint64_t bytes_ = 0;
};

template <class T>
class BufferSpan;

/// Names a range of a device buffer without owning it. Using one whose buffer was destroyed, or a null one that claims
/// bytes, throws invalid_handle. A null view of 0 bytes, as an empty Buffer has, is allowed everywhere and has address
/// 0; only device() throws for it. Free to copy.
class ANYPLACE_API BufferView {
 public:
  constexpr BufferView() noexcept = default;
  /// `bytes` bytes of the buffer with that number, from `offset` on; nothing is checked before it is used.
  constexpr BufferView(std::uint64_t id, std::uint64_t offset, std::uint64_t bytes) noexcept
      : id_(id), offset_(offset), bytes_(bytes) {}

  /// The number of the buffer; 0 for a null view. It means the same in this process alone.
  constexpr std::uint64_t id() const noexcept { return id_; }
  /// Bytes from the beginning of the buffer.
  constexpr std::uint64_t offset_bytes() const noexcept { return offset_; }
  /// How many bytes the range has.
  constexpr std::uint64_t size_bytes() const noexcept { return bytes_; }
  /// Whether it names a buffer, which may have been destroyed.
  constexpr explicit operator bool() const noexcept { return id_ != 0; }

  /// The device that the memory is of. Throws invalid_handle for a null view.
  Device device() const;
  /// The device address of the first byte.
  ANYPLACE_HOT std::uint64_t address() const;
  /// A part of the range. Throws invalid_argument if it is not within.
  BufferView sub(std::uint64_t offset, std::uint64_t bytes) const;
  /// The part from `offset` to the end.
  BufferView sub(std::uint64_t offset) const;
  /// The range as elements of T; a remainder that is no whole element is left out. Throws invalid_argument if the range
  /// doesn't begin at a multiple of T's alignment in its buffer.
  template <class T>
  BufferSpan<T> as() const;
  /// Says that work on `stream`, submitted up to the moment the buffer is freed, uses the memory. The stream may be of
  /// any device and backend: a copy between two devices runs on a stream of one of them and uses memory of the other.
  void record_stream(const StreamView& stream) const;

  /// Bytes that another process of this machine passes to Buffer::import, to use the same memory. They are to be sent
  /// as they are. When the buffer is destroyed here, no further process can open it, and its memory isn't given out
  /// again before the processes that have it open have closed it or ended. ipc.h describes sharing. Throws
  /// invalid_argument for 0 bytes, and for memory that isn't the device's own (from_native, import); unsupported where
  /// the device lacks Capability::interprocess_memory, for managed memory, and for a buffer whose memory can't be
  /// shared as it is and that has to be made with BufferOptions::shareable.
  std::vector<std::byte> export_handle() const;

  friend constexpr bool operator==(const BufferView&, const BufferView&) noexcept = default;

 protected:
  std::uint64_t id_ = 0;
  std::uint64_t offset_ = 0;
  std::uint64_t bytes_ = 0;
};

namespace detail {

/// The bytes of `count` elements. If 64 bits can't count them, UINT64_MAX, which no device has.
template <class T>
constexpr std::uint64_t bytes_of(std::uint64_t count) noexcept {
  return count > UINT64_MAX / sizeof(T) ? UINT64_MAX : count * sizeof(T);
}
/// Throws the invalid_argument for a view that doesn't begin at a multiple of `alignment` in its buffer.
[[noreturn]] ANYPLACE_API void refuse_misaligned(const BufferView& view, std::uint64_t alignment);
/// `count` elements of `element` bytes each, from the `offset`-th element of `view` on. Throws as BufferView::sub.
ANYPLACE_API BufferView sub_elements(const BufferView& view, std::uint64_t offset, std::uint64_t count,
                                     std::uint64_t element);

}  // namespace detail

/// A range of a device buffer as elements of T; its counts and offsets are in elements. It is a BufferView as well, so
/// it goes wherever one does; Stream::fill takes nothing else.
template <class T>
class BufferSpan : public BufferView {
  static_assert(std::is_same_v<T, std::remove_cv_t<T>> && std::is_trivially_copyable_v<T>,
                "elements of device memory are trivially copyable, and neither const nor volatile");

 public:
  /// The type of the elements.
  using element_type = T;

  constexpr BufferSpan() noexcept = default;
  /// Makes and checks it as BufferView::as does.
  explicit BufferSpan(const BufferView& view)
      : BufferView(view.id(), view.offset_bytes(), view.size_bytes() / sizeof(T) * sizeof(T)) {
    if (offset_ % alignof(T) != 0) detail::refuse_misaligned(view, alignof(T));
  }

  /// How many elements there are.
  constexpr std::uint64_t size() const noexcept { return bytes_ / sizeof(T); }
  /// Whether there are no elements.
  constexpr bool empty() const noexcept { return bytes_ == 0; }

  /// `count` elements from the `offset`-th on. Throws invalid_argument if they are not within.
  BufferSpan subspan(std::uint64_t offset, std::uint64_t count) const {
    return BufferSpan(detail::sub_elements(*this, offset, count, sizeof(T)));
  }
  /// The elements from the `offset`-th on.
  BufferSpan subspan(std::uint64_t offset) const { return subspan(offset, offset <= size() ? size() - offset : 0); }
  /// The first `count` elements. Throws invalid_argument if there are fewer.
  BufferSpan first(std::uint64_t count) const { return subspan(0, count); }
  /// The last `count` elements. Throws invalid_argument if there are fewer.
  BufferSpan last(std::uint64_t count) const { return subspan(count <= size() ? size() - count : count, count); }
};

template <class T>
BufferSpan<T> BufferView::as() const {
  return BufferSpan<T>(*this);
}

/// Where a Buffer's memory is.
enum class MemoryKind {
  device,   ///< the device's own memory
  managed,  ///< memory that host and device share (Capability::managed_memory)
};

/// What memory a Buffer gets.
struct BufferOptions {
  MemoryKind kind = MemoryKind::device;  ///< device memory, or memory that host and device share
  /// Bytes, a power of two. Less than the device's own alignment, such as 0, gives that one.
  std::uint64_t alignment = 0;
  /// Whether the memory must be shareable with other processes (BufferView::export_handle). It then is an allocation of
  /// the device's own, which takes longer than memory from the cache. Throws unsupported where the device lacks
  /// Capability::interprocess_memory.
  bool shareable = false;
};

/// Owns device (or managed) memory, not cleared, aligned to 256 bytes or more. Destroying it never waits, whatever the
/// vendor's own free does; it is safe inside a host function, after its stream was destroyed, and after the device was
/// lost.
class ANYPLACE_API Buffer : public BufferView {
 public:
  Buffer() noexcept = default;
  /// Allocates on the calling thread's current stream of `device`. 0 bytes gives a null buffer. Throws out_of_memory
  /// with the figures, after pending frees were waited for; unsupported for a kind that the device lacks.
  Buffer(const Device& device, std::uint64_t bytes, BufferOptions options = {});
  /// Allocates on `stream`.
  Buffer(const StreamView& stream, std::uint64_t bytes, BufferOptions options = {});
  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&& other) noexcept;
  Buffer(const Buffer&) = delete;  // device memory is never copied by accident; use Stream::copy
  Buffer& operator=(const Buffer&) = delete;
  ~Buffer();

  /// A buffer of `count` elements of T; throws as the constructors.
  template <class T>
  static Buffer of(const Device& device, std::uint64_t count, BufferOptions options = {}) {
    return Buffer(device, detail::bytes_of<T>(count), options);
  }
  /// As above, on `stream`.
  template <class T>
  static Buffer of(const StreamView& stream, std::uint64_t count, BufferOptions options = {}) {
    return Buffer(stream, detail::bytes_of<T>(count), options);
  }
  /// Wraps memory that somebody else owns and will free after this Buffer is gone. Throws invalid_argument for address
  /// 0 or a range that wraps around.
  static Buffer from_native(const Device& device, std::uint64_t address, std::uint64_t bytes);

  /// Opens another process's memory by the bytes of its export_handle(), on the calling thread's current stream of
  /// `device` or on `stream`. It is the other's memory and not a copy; both processes see to it that they use it in
  /// turn. It isn't freed while this Buffer lives, and stays also when the other process ends. The same memory opened
  /// twice is mapped once. Throws as Event::import does.
  static Buffer import(const Device& device, std::span<const std::byte> handle);
  /// As above, on `stream`.
  static Buffer import(const StreamView& stream, std::span<const std::byte> handle);

  /// The buffer as a view, without the ownership.
  BufferView view() const noexcept { return *this; }
  /// The host's pointer to managed memory. Throws unsupported for other kinds.
  void* host_data() const;
};

/// Owns host memory that the devices of one backend can read and write directly (pinned); to other backends it is
/// ordinary host memory, which a copy may read at the call. Not cleared. Destroying it never waits.
///
/// Its memory is kept for the next HostBuffers. None gets it before the copies from and to it that were submitted up to
/// then are done, whether they named it by as(), by its address, or by a Buffer that wraps it. Other work that uses it,
/// such as a kernel that got its address, is named with record_stream, as for a Buffer. A graph whose nodes name it
/// keeps it. 0 bytes gives a null buffer. Throws as Buffer does.
class ANYPLACE_API HostBuffer {
 public:
  HostBuffer() noexcept = default;
  /// Pins `bytes` bytes for the devices of the backend of `device`, or takes memory that was pinned before. Throws
  /// unsupported where the device lacks Capability::pinned_memory.
  HostBuffer(const Device& device, std::uint64_t bytes);
  HostBuffer(HostBuffer&& other) noexcept;
  HostBuffer& operator=(HostBuffer&& other) noexcept;
  HostBuffer(const HostBuffer&) = delete;  // it owns its memory
  HostBuffer& operator=(const HostBuffer&) = delete;
  ~HostBuffer();

  /// The first byte; null for a null buffer.
  std::byte* data() const noexcept { return data_; }
  /// How many bytes there are.
  std::size_t size_bytes() const noexcept { return bytes_; }
  /// The number of bytes too: as a range, it has a std::byte for each.
  std::size_t size() const noexcept { return bytes_; }
  /// Whether there is memory: false for 0 bytes, and for one that was moved from.
  explicit operator bool() const noexcept { return data_ != nullptr; }
  /// Says that work on `stream`, submitted up to the moment this is destroyed, uses the memory.
  void record_stream(const StreamView& stream) const;
  /// The memory as elements of T; a remainder that is no whole element is left out.
  template <class T>
  std::span<T> as() const noexcept {
    return {reinterpret_cast<T*>(data_), bytes_ / sizeof(T)};
  }

 private:
  void release() noexcept;

  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
  detail::DeviceState* state_ = nullptr;
};

/// Pins host memory that somebody else owns, for as long as this object lives. Throws unsupported where the device
/// can't.
class ANYPLACE_API HostRegistration {
 public:
  HostRegistration() noexcept = default;
  /// Pins `memory` for the device. 0 bytes are nothing to pin. Throws invalid_argument for a null pointer with bytes,
  /// and what the vendor refuses, such as memory that is pinned already.
  [[nodiscard]] HostRegistration(const Device& device, HostSpan memory);
  HostRegistration(HostRegistration&& other) noexcept;
  HostRegistration& operator=(HostRegistration&& other) noexcept;
  HostRegistration(const HostRegistration&) = delete;  // unregistered once
  HostRegistration& operator=(const HostRegistration&) = delete;
  ~HostRegistration();

 private:
  void release() noexcept;

  void* data_ = nullptr;
  std::uint64_t bytes_ = 0;
  detail::DeviceState* state_ = nullptr;
};

}  // namespace anyplace
