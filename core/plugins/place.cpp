// SPDX-License-Identifier: Apache-2.0
//
// The parser of places. It looks at the text alone. Only when the text is bad does it read the names of plugin files,
// to suggest one.
#include "anyplace/place.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "anyplace/error.h"
#include "plugins/names.h"
#include "runtime/text.h"

namespace anyplace {
namespace {

using detail::in_quotes;

constexpr std::size_t uuid_limit = 63;
constexpr std::string_view uuid_key = "uuid=";
constexpr std::string_view pci_key = "pci=";

bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
bool is_hex(char c) noexcept { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool is_uuid_character(char c) noexcept {
  return is_digit(c) || c == '-' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/// `meant` is the place that was probably meant. If it is empty, the text guesses the name.
[[noreturn]] void refuse(std::string_view text, const std::string& problem, const std::string& meant = {}) {
  ErrorDetails details;
  details.code = ErrorCode::invalid_argument;
  details.place = in_quotes(text);
  details.operation = "Place";
  details.text = details.place + " names no device: " + problem;
  details.remedy =
      "allowed are NAME, NAME:INDEX, NAME:uuid=UUID, NAME:pci=ADDRESS and auto, where NAME is [a-z][a-z0-9_]*, with "
      "+LAYER after it for a layer, and INDEX is 0 to 2147483647 without sign or leading zeros, like cuda:0; " +
      (meant.empty() ? detail::suggestion(text) : "did you mean " + in_quotes(meant) + "?");
  details.see = "`anyplace devices` lists the places of this machine";
  throw Error(std::move(details));
}

/// The reason why `digits` is no index. If it is one, returns "" and sets *index.
std::string parse_index(std::string_view digits, int* index) {
  if (digits.empty()) return "nothing follows the ':'";
  const auto* const odd = std::find_if_not(digits.begin(), digits.end(), is_digit);
  if (odd != digits.end()) return "the index has the character " + in_quotes({odd, 1});
  if (digits.size() > 1 && digits.front() == '0') return "the index has a leading zero";
  std::int64_t value = 0;
  for (const char digit : digits) {
    value = value * 10 + (digit - '0');
    if (value > std::numeric_limits<int>::max()) return "the index is greater than 2147483647";
  }
  *index = static_cast<int>(value);
  return "";
}

std::string uuid_problem(std::string_view uuid) {
  if (uuid.empty()) return "nothing follows 'uuid='";
  const auto* const odd = std::find_if_not(uuid.begin(), uuid.end(), is_uuid_character);
  if (odd != uuid.end()) return "the uuid has the character " + in_quotes({odd, 1});
  if (uuid.size() > uuid_limit) return "the uuid is longer than 63 characters";
  return "";
}

/// The layers of "+LAYER+LAYER".
std::vector<std::string> parse_layers(std::string_view layers, std::string_view text) {
  std::vector<std::string> names;
  while (!layers.empty()) {
    layers.remove_prefix(1);  // the plus
    const std::string_view layer = layers.substr(0, layers.find('+'));
    layers.remove_prefix(layer.size());
    if (const std::string problem = detail::name_problem(layer); !problem.empty()) {
      refuse(text, "in the layer after a '+' " + problem);
    }
    if (std::find(names.begin(), names.end(), layer) != names.end()) {
      refuse(text, "the layer " + std::string(layer) + " stands there twice");
    }
    names.emplace_back(layer);
  }
  return names;
}

/// Whether `text` is dddd:dd:dd.d, with 4 to 8 digits in the first part.
bool is_pci_address(std::string_view text) noexcept {
  constexpr std::string_view rest_shape = ":dd:dd.d";
  const std::size_t domain = std::min(text.find(':'), text.size());
  if (domain < 4 || domain > 8 || text.size() != domain + rest_shape.size()) return false;
  if (!std::all_of(text.begin(), text.begin() + domain, is_hex)) return false;
  return std::equal(rest_shape.begin(), rest_shape.end(), text.begin() + domain,
                    [](char shape, char c) { return shape == 'd' ? is_hex(c) : c == shape; });
}

/// Makes a selector of a text that is in the place of an index: a vendor's uuid without "uuid=", or an address on the
/// bus without "pci=", with its domain or without. Empty if it is neither.
std::string selector_without_key(std::string_view rest) {
  constexpr std::size_t least_digits = 16;  // the length of a uuid without hyphens
  const bool has_letter =
      std::any_of(rest.begin(), rest.end(), [](char c) { return is_uuid_character(c) && c != '-' && !is_digit(c); });
  const bool has_hyphen = !rest.empty() && rest.find('-', 1) != std::string_view::npos && rest.front() != '-';
  const bool is_long = rest.size() >= least_digits && std::all_of(rest.begin(), rest.end(), is_hex);
  if (uuid_problem(rest).empty() && has_letter && (has_hyphen || is_long))
    return std::string(uuid_key) + std::string(rest);
  for (const char* const domain : {"", "0000:"}) {
    const std::string address = domain + std::string(rest.substr(0, 32));
    if (rest.size() <= 32 && is_pci_address(address)) return std::string(pci_key) + address;
  }
  return "";
}

}  // namespace

Place::Place(std::string_view text) {
  const std::size_t colon = text.find(':');
  const std::string_view backend = text.substr(0, colon);
  const std::string_view name = backend.substr(0, backend.find('+'));
  if (text.empty()) refuse(text, "the text is empty");
  if (const std::string problem = detail::name_problem(name); !problem.empty()) refuse(text, problem);
  name_ = name;
  layers_ = parse_layers(backend.substr(name.size()), text);
  const bool automatic = name == detail::automatic_name;
  if (colon == std::string_view::npos) {
    kind_ = automatic ? Kind::automatic : Kind::current;
    return;
  }
  if (automatic) refuse(text, "'auto' takes no index and no selector");
  const std::string_view rest = text.substr(colon + 1);
  if (rest.starts_with(uuid_key)) {
    kind_ = Kind::uuid;
    const std::string_view uuid = rest.substr(uuid_key.size());
    if (const std::string problem = uuid_problem(uuid); !problem.empty()) refuse(text, problem);
    selector_ = uuid;
  } else if (rest.starts_with(pci_key)) {
    kind_ = Kind::pci;
    const std::string_view address = rest.substr(pci_key.size());
    if (!is_pci_address(address)) {
      refuse(text, "a pci address is dddd:dd:dd.d in hexadecimal digits, 4 to 8 of them before the first ':'");
    }
    selector_ = address;
  } else {
    kind_ = Kind::index;
    if (const std::string problem = parse_index(rest, &index_); !problem.empty()) {
      const std::string selector = selector_without_key(rest);
      refuse(text, problem, selector.empty() ? selector : name_ + ":" + selector);
    }
  }
}

Place::Place(const char* text) : Place(text == nullptr ? std::string_view() : std::string_view(text)) {}

Place::Place(const std::string& text) : Place(std::string_view(text)) {}

Place::Place(std::string_view name, int index) : kind_(Kind::index), index_(index), name_(name) {
  const auto whole = [&] { return std::string(name) + ":" + std::to_string(index); };
  if (const std::string problem = detail::name_problem(name); !problem.empty()) refuse(whole(), problem);
  if (name == detail::automatic_name) refuse(whole(), "'auto' takes no index and no selector");
  if (index < 0) refuse(whole(), "the index is negative");
}

std::string Place::backend() const { return std::string(detail::without_table_alias(name_)); }

std::optional<int> Place::index() const noexcept {
  if (kind_ != Kind::index) return std::nullopt;
  return index_;
}

std::string Place::to_string() const {
  std::string text = name_;
  for (const std::string& layer : layers_) text += "+" + layer;
  switch (kind_) {
    case Kind::current:
    case Kind::automatic:
      break;
    case Kind::index:
      text += ":" + std::to_string(index_);
      break;
    case Kind::uuid:
      text += ":" + std::string(uuid_key) + selector_;
      break;
    case Kind::pci:
      text += ":" + std::string(pci_key) + selector_;
      break;
  }
  return text;
}

}  // namespace anyplace
