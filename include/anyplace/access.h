// SPDX-License-Identifier: Apache-2.0
//
// Access: what a program says of the memory that it uses, for layers that check the order of accesses (docs/layers.md,
// `validate`). Without such a layer a declaration does nothing.
//
//   stream.launch(scale, {blocks, 256}, out(result), in(source), 2.0f);  // writes `result`, reads `source`
//   anyplace::host_write(pinned.data(), pinned.size());                  // the host is about to write
//
// A kernel's argument that is a buffer and isn't declared counts as read and written, in the range of the view. A
// pointer counts from where it points to to the end of its allocation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "export.h"
#include "kernel.h"
#include "memory.h"

namespace anyplace {

namespace detail {

/// The ANYPLACE_ACCESS_* of backend/layer.h.
enum class AccessMode : std::uint32_t { read = 1, write = 2, read_write = 3 };

ANYPLACE_API void declare_argument(AccessMode mode, std::uint64_t address, std::uint64_t bytes);
ANYPLACE_API void declare_host_access(AccessMode mode, const void* address, std::uint64_t bytes);

}  // namespace detail

/// An argument of Stream::launch with what the kernel does to it. It is made by in(), out() and inout(), and is used in
/// the launch that it is written in.
struct DeclaredArgument {
  detail::AccessMode mode = detail::AccessMode::read_write;  ///< what the kernel does to the memory
  std::uint64_t address = 0;  ///< the device address of the first byte; 0 where there are no bytes
  std::uint64_t bytes = 0;    ///< how many bytes are declared
};

namespace detail {

/// It is passed as the address alone; the rest is told to layers before the launch.
template <>
struct ArgumentValue<DeclaredArgument> {
  std::uint64_t value;
  explicit ArgumentValue(const DeclaredArgument& from) : value(from.address) {
    declare_argument(from.mode, from.address, from.bytes);
  }
  LaunchArgument describe() const noexcept { return {LaunchArgument::Kind::address, sizeof(value), &value}; }
};

inline DeclaredArgument declared(AccessMode mode, const BufferView& view) {
  return {mode, view.size_bytes() == 0 ? 0 : view.address(), view.size_bytes()};
}
template <class T>
DeclaredArgument declared(AccessMode mode, const T* pointer, std::uint64_t count) {
  return {mode, reinterpret_cast<std::uintptr_t>(pointer), count * sizeof(T)};
}

/// Memory of the host that is a contiguous range: a std::span, a std::vector, a HostBuffer.
template <class Range>
concept HostRange = ElementRange<const Range> && !std::is_base_of_v<BufferView, Range>;

}  // namespace detail

/// The kernel only reads the argument: a buffer, a view, `count` elements from a pointer on, or a range of host memory.
inline DeclaredArgument in(const BufferView& view) { return detail::declared(detail::AccessMode::read, view); }
/// The kernel only reads `count` elements from `pointer` on.
template <class T>
DeclaredArgument in(const T* pointer, std::uint64_t count) {
  return detail::declared(detail::AccessMode::read, pointer, count);
}
/// The kernel only reads the elements of a range of host memory, which its device reaches.
template <detail::HostRange Range>
DeclaredArgument in(const Range& range) {
  return detail::declared(detail::AccessMode::read, std::data(range), std::size(range));
}
/// The kernel only writes the argument.
inline DeclaredArgument out(const BufferView& view) { return detail::declared(detail::AccessMode::write, view); }
/// The kernel only writes `count` elements from `pointer` on.
template <class T>
DeclaredArgument out(T* pointer, std::uint64_t count) {
  return detail::declared(detail::AccessMode::write, pointer, count);
}
/// The kernel only writes the elements of a range of host memory, which its device reaches.
template <detail::HostRange Range>
DeclaredArgument out(const Range& range) {
  return detail::declared(detail::AccessMode::write, std::data(range), std::size(range));
}
/// The kernel reads and writes the argument.
inline DeclaredArgument inout(const BufferView& view) { return detail::declared(detail::AccessMode::read_write, view); }
/// The kernel reads and writes `count` elements from `pointer` on.
template <class T>
DeclaredArgument inout(T* pointer, std::uint64_t count) {
  return detail::declared(detail::AccessMode::read_write, pointer, count);
}
/// The kernel reads and writes the elements of a range of host memory, which its device reaches.
template <detail::HostRange Range>
DeclaredArgument inout(const Range& range) {
  return detail::declared(detail::AccessMode::read_write, std::data(range), std::size(range));
}

/// Says that the calling thread reads, or writes, memory that devices reach as well: pinned, managed or registered
/// memory, the host memory of a copy, and on cpu_sim device memory. It is called beside the access, also inside a host
/// function, whose accesses are those of its stream. Throws what a layer throws.
inline void host_read(const void* memory, std::uint64_t bytes) {
  detail::declare_host_access(detail::AccessMode::read, memory, bytes);
}
/// As host_read, for a thread that writes the memory.
inline void host_write(const void* memory, std::uint64_t bytes) {
  detail::declare_host_access(detail::AccessMode::write, memory, bytes);
}
/// Says that the calling thread reads all elements of a range.
template <detail::HostRange Range>
void host_read(const Range& range) {
  host_read(std::data(range), std::size(range) * sizeof(*std::data(range)));
}
/// Says that the calling thread writes all elements of a range.
template <detail::HostRange Range>
void host_write(const Range& range) {
  host_write(std::data(range), std::size(range) * sizeof(*std::data(range)));
}
/// The same for a buffer of which the host knows the address: managed memory, and on cpu_sim device memory.
inline void host_read(const BufferView& view) {
  if (view.size_bytes() != 0) host_read(reinterpret_cast<const void*>(view.address()), view.size_bytes());
}
/// Says that the calling thread writes a buffer of which the host knows the address.
inline void host_write(const BufferView& view) {
  if (view.size_bytes() != 0) host_write(reinterpret_cast<const void*>(view.address()), view.size_bytes());
}

}  // namespace anyplace
