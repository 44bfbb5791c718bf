// SPDX-License-Identifier: Apache-2.0
//
// Whole numbers and sizes on the command line. CLI11's own parser isn't used, because it takes a negative number for a
// large one, one that doesn't fit for the largest, and a leading 0 for octal.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace anyplace::tool {

/// The number, if the text consists of decimal digits alone and fits 64 bits; else nothing.
inline std::optional<std::uint64_t> parse_number(const std::string& text) {
  std::uint64_t number = 0;
  const bool has_leading_zero = text.size() > 1 && text.front() == '0';
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failed != std::errc() || end != text.data() + text.size() || has_leading_zero) return std::nullopt;
  return number;
}

/// A check of an option for CLI11: says what is wrong if the text isn't a whole number from `least` to `most`.
inline auto whole_number(std::uint64_t least, std::uint64_t most) {
  return [least, most](const std::string& text) {
    const std::optional<std::uint64_t> number = parse_number(text);
    if (number && *number >= least && *number <= most) return std::string();
    return "'" + text + "' is no whole number from " + std::to_string(least) + " to " + std::to_string(most);
  };
}

/// Parses a size such as "40GiB", as ANYPLACE_CPU_SIM_MEMORY takes it; nothing if the text is none.
inline std::optional<std::uint64_t> parse_size(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (failed != std::errc() || value == 0) return std::nullopt;
  const std::string_view unit = text.substr(static_cast<std::size_t>(end - text.data()));
  if (unit.empty()) return value;
  unsigned shift = 10;
  for (const std::string_view known : {"KiB", "MiB", "GiB", "TiB"}) {
    if (unit == known) return value <= UINT64_MAX >> shift ? std::optional(value << shift) : std::nullopt;
    shift += 10;
  }
  return std::nullopt;
}

}  // namespace anyplace::tool
