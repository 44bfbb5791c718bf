// SPDX-License-Identifier: Apache-2.0
#include "failure.h"

#include <cinttypes>
#include <cstdio>

namespace anyplace::cpu_sim {

const char* status_name(anyplace_status status) noexcept {
  switch (status) {
#define ANYPLACE_CPU_SIM_NAME(upper, lower, number, text) \
  case number:                                            \
    return #upper;
    ANYPLACE_STATUS_LIST(ANYPLACE_CPU_SIM_NAME)
#undef ANYPLACE_CPU_SIM_NAME
    default:
      return nullptr;
  }
}

std::string hex(std::uint64_t number) {
  char text[32];
  std::snprintf(text, sizeof(text), "0x%" PRIx64, number);
  return text;
}

std::string in_quotes(const std::string& text) {
  constexpr std::size_t shown = 64;
  std::string out = "\"";
  for (std::size_t i = 0; i < text.size() && i < shown; ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (c >= 0x20 && c < 0x7f && c != '"' && c != '\\') {
      out += text[i];
    } else {
      char escape[8];
      std::snprintf(escape, sizeof(escape), "\\x%02x", c);
      out += escape;
    }
  }
  out += '"';
  if (text.size() > shown) out += "... (" + std::to_string(text.size()) + " bytes)";
  return out;
}

}  // namespace anyplace::cpu_sim
