// SPDX-License-Identifier: Apache-2.0
// The parser of device strings: any text is a place that prints as it was written, or an invalid_argument whose message
// is short and printable.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "anyplace/error.h"
#include "anyplace/place.h"

namespace {

void require(bool holds) {
  if (!holds) std::abort();
}

void check_message(std::string_view message) {
  require(message.size() < 2000);
  for (const char c : message) require(c >= 0x20 && c < 0x7f);
}

void check_place(const anyplace::Place& place, std::string_view text) {
  require(place.to_string() == text);
  require(anyplace::Place(place.to_string()) == place);
  require(!place.backend().empty() && place.name().size() <= 31);
  require(place.index().has_value() == (place.kind() == anyplace::Place::Kind::index));
  if (place.index()) require(*place.index() >= 0);
  if (place.index() && place.layers().empty()) require(anyplace::Place(place.name(), *place.index()) == place);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  try {
    check_place(anyplace::Place(text), text);
  } catch (const anyplace::Error& error) {
    require(error.code() == anyplace::ErrorCode::invalid_argument);
    check_message(error.what());
  }
  return 0;
}
