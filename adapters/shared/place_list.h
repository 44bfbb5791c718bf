// SPDX-License-Identifier: Apache-2.0
//
// Lists of places, as the adapters' environment variables have them: "cuda:1, cpu_sim". What an adapter does with a
// blank entry, with a device that is named twice and with an error is its own affair.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <anyplace/device.h>
#include <anyplace/error.h>
#include <anyplace/place.h>
#include <anyplace/plugins.h>

namespace anyplace_adapters {

/// What stands between the commas of `list`, without blanks around it. An entry may be empty; "" has one that is.
inline std::vector<std::string> entries_of(std::string_view list) {
  std::vector<std::string> entries;
  while (true) {
    const std::size_t comma = list.find(',');
    const std::string_view entry = list.substr(0, comma);
    const std::size_t first = entry.find_first_not_of(" \t");
    const std::size_t last = entry.find_last_not_of(" \t");
    entries.emplace_back(first == std::string_view::npos ? "" : entry.substr(first, last - first + 1));
    if (comma == std::string_view::npos) return entries;
    list.remove_prefix(comma + 1);
  }
}

/// The devices that an entry stands for: a backend's name for all of its devices, "auto" for all devices of the backend
/// that it finds, any other place for one device. Loads the backend, and makes no vendor context. Throws
/// anyplace::Error where there is no such device, or where the backend has none.
inline std::vector<anyplace::Device> devices_of(const std::string& entry) {
  const anyplace::Place place(entry);
  if (place.kind() == anyplace::Place::Kind::automatic) return anyplace::devices(anyplace::Device(place).backend());
  if (place.kind() == anyplace::Place::Kind::current) {
    std::vector<anyplace::Device> all = anyplace::devices(place.backend());
    if (!all.empty()) return all;
  }
  return {anyplace::Device(place)};
}

/// "cpu_sim:0, cpu_sim:1, cuda:0": the devices of every backend that can be used, for the end of an error; "" if there
/// are none.
inline std::string known_devices() {
  std::string known;
  for (const std::string& backend : anyplace::backend_names()) {
    try {
      for (const anyplace::Device& device : anyplace::devices(backend)) {
        known += (known.empty() ? "" : ", ") + device.to_string();
      }
    } catch (const anyplace::Error&) {
      // The error is about another backend; `anyplace doctor` says why this one can't be used.
    }
  }
  return known;
}

}  // namespace anyplace_adapters
