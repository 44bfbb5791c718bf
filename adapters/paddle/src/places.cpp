// SPDX-License-Identifier: Apache-2.0
#include "places.h"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <utility>

#include <anyplace/error.h>

#include "device_type.h"
#include "place_list.h"

namespace anyplace_paddle {
namespace {

using anyplace::Device;

constexpr const char* variable = "ANYPLACE_PADDLE_PLACES";

[[noreturn]] void refuse(anyplace::ErrorCode code, const std::string& problem) {
  anyplace::ErrorDetails details;
  details.code = code;
  details.operation = variable;
  details.text = problem;
  const std::string known = anyplace_adapters::known_devices();
  details.remedy = known.empty() ? "no backend has a device" : "there are " + known;
  details.see = "docs/frameworks/paddle.md says what the variable takes";
  throw anyplace::Error(std::move(details));
}

std::vector<Device> devices_of(const std::string& entry) {
  try {
    return anyplace_adapters::devices_of(entry);
  } catch (const anyplace::Error& error) {
    refuse(error.code(), "'" + entry + "' is no place to use: " + error.text());
  }
}

}  // namespace

std::vector<Device> parse_places(std::string_view text) {
  const std::vector<std::string> entries = anyplace_adapters::entries_of(text);
  if (entries.size() == 1 && entries.front().empty()) return anyplace_adapters::devices_of("auto");
  std::vector<Device> result;
  for (const std::string& entry : entries) {
    if (entry.empty()) refuse(anyplace::ErrorCode::invalid_argument, "there is nothing between two commas");
    for (const Device& device : devices_of(entry)) {
      if (std::ranges::find(result, device) != result.end())
        refuse(anyplace::ErrorCode::invalid_argument, device.to_string() + " is named twice");
      result.push_back(device);
    }
  }
  return result;
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
