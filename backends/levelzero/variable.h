// SPDX-License-Identifier: Apache-2.0
// Environment variables of this backend that are 0 or 1.
#pragma once

#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>

#include "error.h"

namespace anyplace::levelzero {

/// Nothing if it is unset or empty. Throws INVALID_ARGUMENT, which shows the text and what is allowed, for what is
/// neither.
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
