// SPDX-License-Identifier: Apache-2.0
//
// Makes text of unknown origin fit to be shown: bounded in length, on one line, without control characters.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace anyplace::detail {

/// The greatest length of a vendor's or user's text that anyplace shows or keeps. It is large because compilers' logs
/// are such texts.
inline constexpr std::size_t text_limit = 64 * 1024;

/// The text before the NUL, at most `limit` bytes; "" for a null pointer.
std::string_view bounded(const char* text, std::size_t limit = text_limit) noexcept;

/// `text` between double quotes, in printable ASCII: other bytes become \xNN. After 60 characters the rest is replaced
/// by "..." and the text's number of bytes.
std::string in_quotes(std::string_view text);

/// `text` with control characters escaped (a newline as \n) and cut to text_limit. UTF-8 passes.
std::string one_line(std::string_view text);

}  // namespace anyplace::detail
