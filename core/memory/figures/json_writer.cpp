// SPDX-License-Identifier: Apache-2.0
#include "memory/figures/json_writer.h"

#include <fmt/format.h>

#include <utility>

namespace anyplace::detail {

namespace {

/// A container that begins at most this deep is on a line of its own: a segment, an event.
constexpr std::size_t deepest_line = 3;

}  // namespace

void JsonWriter::begin_value() {
  if (std::exchange(after_key_, false)) return;
  if (!std::exchange(first_, false)) written_ += ',';
}

void JsonWriter::begin_dict() {
  begin_value();
  if (depth_ != 0 && depth_ <= deepest_line && written_.back() != ':') written_ += '\n';
  written_ += '{';
  first_ = true;
  ++depth_;
}

void JsonWriter::begin_list() {
  begin_value();
  written_ += '[';
  first_ = true;
  ++depth_;
}

void JsonWriter::end_container(char closing) {
  written_ += closing;
  first_ = false;
  --depth_;
}

void JsonWriter::end_dict() { end_container('}'); }
void JsonWriter::end_list() { end_container(']'); }

void JsonWriter::put_text(std::string_view value) {
  written_ += '"';
  for (const char c : value) {
    if (c == '"' || c == '\\') {
      written_ += '\\';
      written_ += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      written_ += fmt::format("\\u{:04x}", static_cast<unsigned>(c));
    } else {
      written_ += c;
    }
  }
  written_ += '"';
}

void JsonWriter::key(std::string_view name) {
  begin_value();
  put_text(name);
  written_ += ':';
  after_key_ = true;
}

void JsonWriter::text(std::string_view value) {
  begin_value();
  put_text(value);
}

void JsonWriter::number(std::int64_t value) {
  begin_value();
  fmt::format_to(std::back_inserter(written_), "{}", value);
}

void JsonWriter::unsigned_number(std::uint64_t value) {
  begin_value();
  fmt::format_to(std::back_inserter(written_), "{}", value);
}

void JsonWriter::truth(bool value) {
  begin_value();
  written_ += value ? "true" : "false";
}

std::string JsonWriter::take() {
  written_ += '\n';
  return std::exchange(written_, {});
}

}  // namespace anyplace::detail
