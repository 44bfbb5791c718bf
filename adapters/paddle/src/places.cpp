// SPDX-License-Identifier: Apache-2.0
#include "places.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>

#include <anyplace/error.h>
#include <anyplace/place.h>
#include <anyplace/plugins.h>

#include "device_type.h"

namespace anyplace_paddle {
namespace {

using anyplace::Device;
using anyplace::Place;

constexpr const char* variable = "ANYPLACE_PADDLE_PLACES";

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(" \t");
  return first == std::string_view::npos ? "" : text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

/// "cpu_sim:0, cpu_sim:1, cuda:0": those of every backend that has some. Backends that can't be used are left out: this
/// is the end of an error about another one.
std::string places_that_are_there() {
  std::string list;
  for (const std::string& backend : anyplace::backend_names()) {
    try {
      for (const Device& device : anyplace::devices(backend)) list += (list.empty() ? "" : ", ") + device.to_string();
    } catch (const anyplace::Error&) {
      continue;
    }
  }
  return list.empty() ? "no backend has a device" : "there are " + list;
}

[[noreturn]] void refuse(anyplace::ErrorCode code, const std::string& problem) {
  anyplace::ErrorDetails details;
  details.code = code;
  details.operation = variable;
  details.text = problem;
  details.remedy = places_that_are_there();
  details.see = "docs/frameworks/paddle.md says what the variable takes";
  throw anyplace::Error(std::move(details));
}

std::vector<Device> devices_of(std::string_view entry) {
  try {
    const Place place(entry);
    if (place.kind() == Place::Kind::current) return anyplace::devices(place.backend());
    return {Device(place)};
  } catch (const anyplace::Error& error) {
    refuse(error.code(), "'" + std::string(entry) + "' is no place to use: " + error.text());
  }
}

}  // namespace

std::vector<Device> parse_places(std::string_view text) {
  if (trimmed(text).empty()) return anyplace::devices(Device("auto").backend());
  std::vector<Device> result;
  while (true) {
    const auto comma = text.find(',');
    const std::string_view entry = trimmed(text.substr(0, comma));
    if (entry.empty()) refuse(anyplace::ErrorCode::invalid_argument, "there is nothing between two commas");
    for (const Device& device : devices_of(entry)) {
      if (std::ranges::find(result, device) != result.end())
        refuse(anyplace::ErrorCode::invalid_argument, device.to_string() + " is named twice");
      result.push_back(device);
    }
    if (comma == std::string_view::npos) return result;
    text.remove_prefix(comma + 1);
  }
}

const std::vector<Device>& places() {
  // Outlives Paddle's calls at exit. A static of a function isn't set where its making throws.
  static const std::vector<Device>& all = *new std::vector<Device>([] {
    const char* const value = std::getenv(variable);
    return parse_places(value == nullptr ? "" : value);
  }());
  return all;
}

const Device& device_of(C_Device device) {
  const std::vector<Device>& all = places();
  const int id = device == nullptr ? -1 : device->id;
  if (id >= 0 && static_cast<std::size_t>(id) < all.size()) return all[static_cast<std::size_t>(id)];
  anyplace::ErrorDetails details;
  details.code = anyplace::ErrorCode::no_such_device;
  details.text = "there is no device " + device_type() + ":" + std::to_string(id);
  details.remedy = std::string(variable) + " gives " + std::to_string(all.size()) + ": ";
  for (const Device& place : all)
    details.remedy += (&place == &all.front() ? "" : ", ") + device_type() + ":" + std::to_string(&place - all.data()) +
                      " is " + place.to_string();
  throw anyplace::Error(std::move(details));
}

}  // namespace anyplace_paddle
