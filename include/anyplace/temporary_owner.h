// SPDX-License-Identifier: Apache-2.0
//
// What tells a temporary that owns its elements from a view: functions that keep an address after they return, as an
// asynchronous copy does, are deleted for the former.
#pragma once

#include <span>
#include <string_view>
#include <type_traits>

namespace anyplace::detail {

/// Whether the elements of a `T`, as a parameter `T&&` is called with it, go with the statement: it is a temporary, and
/// neither a pointer nor a view of elsewhere, such as a std::span. A view type that isn't the standard library's says
/// so by std::ranges::enable_borrowed_range.
template <class T>
concept TemporaryOwner = !std::is_lvalue_reference_v<T> && !std::is_pointer_v<std::remove_cvref_t<T>> &&
                         !std::ranges::enable_borrowed_range<std::remove_cvref_t<T>>;

}  // namespace anyplace::detail
