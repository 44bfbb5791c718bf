// SPDX-License-Identifier: Apache-2.0
// Reads this backend's environment variables whose value is 0 or 1.
#pragma once

#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>

#include "error.h"

namespace anyplace::levelzero {

/// The variable's value; empty if it is unset or empty. If it is neither 0 nor 1, throws INVALID_ARGUMENT, which shows
/// the text and what is allowed.
inline std::optional<bool> switch_variable(const char* name) {
  const char* const value = std::getenv(name);
  if (value == nullptr || *value == '\0') return std::nullopt;
  if (std::strcmp(value, "0") == 0) return false;
  if (std::strcmp(value, "1") == 0) return true;
  constexpr std::size_t shown = 60;
  std::string text;
  for (const char* c = value; *c != '\0' && text.size() < shown; ++c) text += *c >= ' ' && *c <= '~' ? *c : '?';
  refuse(ANYPLACE_STATUS_INVALID_ARGUMENT, std::string(name) + " is \"" + text + "\"; allowed is 0 or 1");
}

}  // namespace anyplace::levelzero
