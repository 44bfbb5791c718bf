// SPDX-License-Identifier: Apache-2.0
//
// From a Place to a device: the index, the selectors, the current device, and the order of `auto`.
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>

#include "anyplace/place.h"
#include "backend.h"
#include "call.h"
#include "current.h"
#include "names.h"
#include "not_found.h"
#include "plugin_search.h"
#include "registry.h"
#include "text.h"

namespace anyplace::detail {
namespace {

constexpr const char* auto_variable = "ANYPLACE_AUTO";
constexpr std::string_view default_order = "cuda,hip,levelzero,cpu_sim";
constexpr std::size_t order_limit = 64;  // names

char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) { return lower(x) == lower(y); });
}

/// Vendors write the domain with 4 or with 8 digits.
std::string_view without_leading_zeros(std::string_view address) {
  address.remove_prefix(std::min(address.find_first_not_of('0'), address.size()));
  return address;
}

bool matches(const Place& place, const anyplace_device_properties& properties) {
  if (place.kind() == Place::Kind::uuid) {
    const std::string_view uuid = bounded(properties.uuid, sizeof(properties.uuid));
    return !uuid.empty() && equal_ignoring_case(place.selector(), uuid);
  }
  const std::string_view address = bounded(properties.pci, sizeof(properties.pci));
  return !address.empty() &&
         equal_ignoring_case(without_leading_zeros(place.selector()), without_leading_zeros(address));
}

/// One device whose properties can't be had doesn't hide another.
DeviceState& select(const Place& place, Backend& backend, const char* operation) {
  std::string note = place.kind() == Place::Kind::uuid ? "their uuids:" : "their pci addresses:";
  for (const auto& device : backend.devices) {
    try {
      const anyplace_device_properties& properties = properties_of(*device, operation);
      if (matches(place, properties)) return *device;
      const std::string_view shown = place.kind() == Place::Kind::uuid
                                         ? bounded(properties.uuid, sizeof(properties.uuid))
                                         : bounded(properties.pci, sizeof(properties.pci));
      if (note.size() < text_limit / 8) note += " " + (shown.empty() ? std::string("(none)") : one_line(shown));
    } catch (const Error& error) {
      note += fmt::format(" (not to be had: {})", one_line(error.what()));
    }
  }
  fail_no_device(place, backend, backend.devices.empty() ? std::string() : note, operation);
}

bool is_planned(std::string_view name) {
  const auto names = planned_names();
  return std::find(names.begin(), names.end(), name) != names.end();
}

[[noreturn]] void fail_order(std::string_view item, const std::string& problem, const char* operation) {
  fail(ErrorCode::invalid_argument, std::string(automatic_name), operation,
       fmt::format(
           "the environment variable {} has the name {}: {}\nit takes names of backends with commas between them, like "
           "{}; {}\n`anyplace doctor` shows what it leads to",
           auto_variable, quoted(item), problem, default_order, suggestion(item)));
}

/// The backend that an item of ANYPLACE_AUTO stands for.
std::string order_item(std::string_view item, const char* operation) {
  if (const std::string problem = name_problem(item); !problem.empty()) fail_order(item, problem, operation);
  if (item == automatic_name) fail_order(item, "it can't stand for itself", operation);
  std::string name(without_table_alias(item));
  if (const std::string other = link_alias(name); !other.empty()) name = without_table_alias(other);
  if (!is_planned(name) && find_plugins(name).empty()) {
    fail_order(item, fmt::format("there is no {}", plugin_file_name(name)), operation);
  }
  return name;
}

std::vector<std::string> parse_order(std::string_view text, const char* operation) {
  const std::string copy(text);  // the environment may change meanwhile
  std::string_view rest = copy;
  std::vector<std::string> order;
  for (;;) {
    const std::size_t comma = rest.find(',');
    std::string name = order_item(rest.substr(0, comma), operation);
    if (std::find(order.begin(), order.end(), name) == order.end()) order.push_back(std::move(name));
    if (order.size() > order_limit) fail_order(rest.substr(0, comma), "only 64 names are taken", operation);
    if (comma == std::string_view::npos) return order;
    rest.remove_prefix(comma + 1);
  }
}

}  // namespace

std::vector<std::string> automatic_order(const char* operation) {
  const char* const value = std::getenv(auto_variable);
  return parse_order(value == nullptr || *value == '\0' ? default_order : bounded(value), operation);
}

std::vector<std::string> automatic_order_or_default() {
  try {
    return automatic_order("");
  } catch (const Error&) {
    return parse_order(default_order, "");
  }
}

DeviceState& resolve(const Place& place, const char* operation) {
  Backend& backend = backend_in_place(place.name(), place.to_string(), operation);
  switch (place.kind()) {
    case Place::Kind::index: {
      const auto index = static_cast<std::size_t>(*place.index());
      if (index >= backend.devices.size()) fail_no_device(place, backend, "", operation);
      return *backend.devices[index];
    }
    case Place::Kind::uuid:
    case Place::Kind::pci:
      return select(place, backend, operation);
    case Place::Kind::current:
    case Place::Kind::automatic:
      break;
  }
  if (backend.devices.empty()) fail_no_device(place, backend, "", operation);
  return current_device_of(backend);
}

}  // namespace anyplace::detail
