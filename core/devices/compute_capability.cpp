// SPDX-License-Identifier: Apache-2.0
//
// NVIDIA's names end in the major number and one digit of the minor, and perhaps a letter for a variant. AMD's end in
// the major number, one hexadecimal digit of the minor and one of the stepping, and perhaps a list of features.
#include "devices/compute_capability.h"

#include <charconv>

namespace anyplace::detail {

namespace {

/// The number that all of `text` is, in that base; empty if it is none.
std::optional<int> number(std::string_view text, int base) noexcept {
  int value = 0;
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value, base);
  if (error != std::errc() || stopped != end || value < 0) return std::nullopt;
  return value;
}

std::optional<ComputeCapability> numbers(std::string_view major, std::string_view minor, int minor_base) noexcept {
  const std::optional<int> first = number(major, 10);
  const std::optional<int> second = number(minor, minor_base);
  if (!first || !second) return std::nullopt;
  return ComputeCapability{*first, *second};
}

}  // namespace

std::optional<ComputeCapability> compute_capability_of(std::string_view architecture) noexcept {
  constexpr std::string_view sm = "sm_";
  constexpr std::string_view gfx = "gfx";
  if (architecture.starts_with(sm)) {
    std::string_view digits = architecture.substr(sm.size());
    if (!digits.empty() && digits.back() >= 'a' && digits.back() <= 'z') digits.remove_suffix(1);
    if (digits.size() < 2) return std::nullopt;
    return numbers(digits.substr(0, digits.size() - 1), digits.substr(digits.size() - 1), 10);
  }
  if (architecture.starts_with(gfx)) {
    std::string_view digits = architecture.substr(gfx.size());
    digits = digits.substr(0, digits.find(':'));
    if (digits.size() < 3 || !number(digits.substr(digits.size() - 1), 16)) return std::nullopt;
    return numbers(digits.substr(0, digits.size() - 2), digits.substr(digits.size() - 2, 1), 16);
  }
  return std::nullopt;
}

}  // namespace anyplace::detail
