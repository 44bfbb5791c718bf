// SPDX-License-Identifier: Apache-2.0
//
// ANYPLACE_DYNAMIC_SHARED where no variable can be the dynamic shared memory of a launch: on the host and as SPIR-V.
// Who includes this defines ANYPLACE_DYNAMIC_SHARED_MEMORY first, an expression for where that memory begins, and
// ANYPLACE_DYNAMIC_SHARED_FUNCTION, what a function for the device is declared with; without them nothing is here.
//
// In a function the name is a pointer, which is set each time that the function runs. Outside of functions no pointer
// could be set for each block, so there the name is an object without members that becomes a pointer where it is used.
#pragma once

#ifdef ANYPLACE_DYNAMIC_SHARED_MEMORY

namespace anyplace::device_code {

template <class T>
struct DynamicSharedOfFile {
  ANYPLACE_DYNAMIC_SHARED_FUNCTION constexpr operator T*() const { return (T*)ANYPLACE_DYNAMIC_SHARED_MEMORY; }
  /// (U*)name, as of an array.
  template <class U>
  ANYPLACE_DYNAMIC_SHARED_FUNCTION explicit operator U*() const {
    return (U*)ANYPLACE_DYNAMIC_SHARED_MEMORY;
  }
};

template <class T, bool is_in_function>
struct DynamicShared {
  static_assert(alignof(T) <= 16, "dynamic shared memory is aligned to 16 bytes");
  using Type = T*;
  static ANYPLACE_DYNAMIC_SHARED_FUNCTION Type get() { return (T*)ANYPLACE_DYNAMIC_SHARED_MEMORY; }
};
template <class T>
struct DynamicShared<T, false> {
  static_assert(alignof(T) <= 16, "dynamic shared memory is aligned to 16 bytes");
  using Type = DynamicSharedOfFile<T>;
  static ANYPLACE_DYNAMIC_SHARED_FUNCTION constexpr Type get() { return {}; }
};

}  // namespace anyplace::device_code

/// The dynamic shared memory that is declared here. Outside of functions __builtin_FUNCTION() is "".
#define ANYPLACE_DYNAMIC_SHARED_HERE(type) ::anyplace::device_code::DynamicShared<type, *__builtin_FUNCTION() != '\0'>

#endif  // ANYPLACE_DYNAMIC_SHARED_MEMORY
