// SPDX-License-Identifier: Apache-2.0
//
// Tells a temporary that owns its elements from a view. Functions that keep an address after they return, as an
// asynchronous copy does, are deleted for the former.
#pragma once

#include <span>
#include <string_view>
#include <type_traits>

namespace anyplace::detail {

/// True if the elements of a `T`, passed as a parameter `T&&`, are gone after the statement: it is a temporary, and
/// neither a pointer nor a view such as a std::span. A view type that isn't the standard library's says so by
/// std::ranges::enable_borrowed_range.
template <class T>
concept TemporaryOwner = !std::is_lvalue_reference_v<T> && !std::is_pointer_v<std::remove_cvref_t<T>> &&
                         !std::ranges::enable_borrowed_range<std::remove_cvref_t<T>>;

}  // namespace anyplace::detail
