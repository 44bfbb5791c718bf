// SPDX-License-Identifier: Apache-2.0
// The characters of UTF-8.
#pragma once

#include <cstddef>
#include <string_view>

namespace anyplace::conformance {

/// The length of the well-formed UTF-8 character at the beginning; 0 if there is none.
inline std::size_t utf8_length(std::string_view text) noexcept {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const auto tail = [&](std::size_t i) { return (byte(i) & 0xc0u) == 0x80u; };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf && tail(1)) return 2;
  if (first >= 0xe0 && first <= 0xef && tail(1) && tail(2)) {
    const bool overlong = first == 0xe0 && byte(1) < 0xa0;
    const bool surrogate = first == 0xed && byte(1) >= 0xa0;
    return overlong || surrogate ? 0 : 3;
  }
  const bool four = first >= 0xf0 && first <= 0xf4 && tail(1) && tail(2) && tail(3);
  return four && !(first == 0xf0 && byte(1) < 0x90) && !(first == 0xf4 && byte(1) >= 0x90) ? 4 : 0;
}

}  // namespace anyplace::conformance
