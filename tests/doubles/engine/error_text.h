// SPDX-License-Identifier: Apache-2.0
//
// The codes of a vendor by number, with their names and texts.
#pragma once

#include <cstddef>

namespace anyplace::doubles {

struct ErrorText {
  int code;
  const char* name;
  const char* text;
};

/// Null for an unknown code.
template <std::size_t count>
const ErrorText* find_error(const ErrorText (&errors)[count], int code) noexcept {
  for (const ErrorText& entry : errors) {
    if (entry.code == code) return &entry;
  }
  return nullptr;
}

}  // namespace anyplace::doubles
