// SPDX-License-Identifier: Apache-2.0
//
// Text of unknown origin, made fit to be shown: bounded in length, on one line, no control characters.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace anyplace::detail {

/// Nothing that anyplace shows or keeps of a vendor's or a user's text is longer: compilers' logs come through here.
inline constexpr std::size_t text_limit = 64 * 1024;

/// What is there before the NUL, at most `limit` bytes; "" for a null pointer.
std::string_view bounded(const char* text, std::size_t limit = text_limit) noexcept;

/// `text` between double quotes, in printable ASCII: other bytes become \xNN. Over 60 characters, the rest is replaced
/// by
/// "..." and the number of bytes that there were.
std::string quoted(std::string_view text);

/// `text` with control characters escaped (a newline as \n) and cut to text_limit. UTF-8 passes.
std::string one_line(std::string_view text);

}  // namespace anyplace::detail
