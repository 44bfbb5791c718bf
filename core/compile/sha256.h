// SPDX-License-Identifier: Apache-2.0
// SHA-256 (FIPS 180-4), by libmd.
#pragma once

#include <sha2.h>

#include <array>
#include <string>
#include <string_view>

namespace anyplace::detail {

/// The digest as 64 hexadecimal digits.
inline std::string sha256(std::string_view bytes) {
  std::array<char, SHA256_DIGEST_STRING_LENGTH> text;
  ::SHA256Data(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size(), text.data());
  return text.data();
}

}  // namespace anyplace::detail
