// SPDX-License-Identifier: Apache-2.0
//
// Whole numbers on the command line. CLI11's own parser isn't used, because it takes a negative number for a large one,
// one that doesn't fit for the largest, and a leading 0 for octal.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>

namespace anyplace::tool {

/// The number, if the text consists of decimal digits alone and fits 64 bits; else nothing.
inline std::optional<std::uint64_t> parse_number(const std::string& text) {
  std::uint64_t number = 0;
  const bool has_leading_zero = text.size() > 1 && text.front() == '0';
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failed != std::errc() || end != text.data() + text.size() || has_leading_zero) return std::nullopt;
  return number;
}

}  // namespace anyplace::tool
