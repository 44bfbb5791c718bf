// SPDX-License-Identifier: Apache-2.0
// Whether a function is declared here as a header declares it, up to the types of handles.
#pragma once

#include <cstddef>
#include <type_traits>

namespace abi_test {

/// A handle is 64 bits here, and an int, an enum or a pointer there; what it points to isn't looked at.
template <class Handle, class Ours, class Theirs>
constexpr bool same_parameter() {
  if (std::is_same_v<Ours, Theirs>) return true;
  if (std::is_same_v<Ours, Handle>) return sizeof(Theirs) == sizeof(int) || std::is_pointer_v<Theirs>;
  if (std::is_pointer_v<Ours>) return std::is_pointer_v<Theirs>;
  return (std::is_enum_v<Theirs> || std::is_integral_v<Theirs> || std::is_class_v<Theirs>)&&sizeof(Ours) ==
         sizeof(Theirs);
}

template <class Handle, class Ours, class Theirs>
struct SameFunction : std::false_type {};
template <class Handle, class Ours, class Theirs, class... OurParameters, class... TheirParameters>
struct SameFunction<Handle, Ours (*)(OurParameters...), Theirs (*)(TheirParameters...)> {
  static constexpr bool value = [] {
    if constexpr (sizeof...(OurParameters) == sizeof...(TheirParameters)) {
      return sizeof(Ours) == sizeof(Theirs) && (same_parameter<Handle, OurParameters, TheirParameters>() && ...);
    }
    return false;
  }();
};

}  // namespace abi_test
