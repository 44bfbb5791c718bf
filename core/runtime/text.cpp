// SPDX-License-Identifier: Apache-2.0
#include "runtime/text.h"

#include <cstring>

namespace anyplace::detail {
namespace {

constexpr std::size_t quoted_limit = 60;

void append_escaped(std::string& out, unsigned char byte) {
  static constexpr char digits[] = "0123456789abcdef";
  out += "\\x";
  out += digits[byte >> 4];
  out += digits[byte & 15];
}

}  // namespace

std::string_view bounded(const char* text, std::size_t limit) noexcept {
  return text == nullptr ? std::string_view() : std::string_view(text, ::strnlen(text, limit));
}

std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (const char character : text) {
    if (out.size() > quoted_limit) {
      return out + "...\" (" + std::to_string(text.size()) + " bytes)";
    }
    const auto byte = static_cast<unsigned char>(character);
    if (byte < 0x20 || byte >= 0x7f) {
      append_escaped(out, byte);
    } else {
      if (character == '"' || character == '\\') out += '\\';
      out += character;
    }
  }
  return out + '"';
}

std::string one_line(std::string_view text) {
  std::string out;
  const std::string_view shown = text.substr(0, text_limit);
  out.reserve(shown.size());
  for (const char character : shown) {
    const auto byte = static_cast<unsigned char>(character);
    if (character == '\n') {
      out += "\\n";
    } else if (character == '\t') {
      out += ' ';
    } else if (byte < 0x20 || byte == 0x7f) {
      append_escaped(out, byte);
    } else {
      out += character;
    }
  }
  if (shown.size() < text.size()) out += "...";
  return out;
}

}  // namespace anyplace::detail
