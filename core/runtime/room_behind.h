// SPDX-License-Identifier: Apache-2.0
//
// WithRoomBehind: an allocator for std::allocate_shared that leaves room behind the object, from `this + 1` on.
#pragma once

#include <cstddef>
#include <new>

namespace anyplace::detail {

/// Allocates additional bytes for data that lies behind an object that shared pointers own.
template <class T>
struct WithRoomBehind {
  using value_type = T;

  std::size_t behind = 0;

  explicit WithRoomBehind(std::size_t bytes) noexcept : behind(bytes) {}
  template <class Other>
  WithRoomBehind(const WithRoomBehind<Other>& other) noexcept : behind(other.behind) {}
  T* allocate(std::size_t count) { return static_cast<T*>(::operator new(count * sizeof(T) + behind)); }
  void deallocate(T* memory, std::size_t /*count*/) noexcept { ::operator delete(memory); }
  friend bool operator==(const WithRoomBehind&, const WithRoomBehind&) noexcept { return true; }
};

}  // namespace anyplace::detail
