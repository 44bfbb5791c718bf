// SPDX-License-Identifier: Apache-2.0
#include "places.h"

#include <algorithm>
#include <string_view>

#include <anyplace/error.h>
#include <anyplace/plugins.h>

#include "failure.h"
#include "log.h"

namespace anyplace_ur {

namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

std::string known_devices() {
  std::string known;
  for (const std::string& backend : anyplace::backend_names()) {
    try {
      for (const anyplace::Device& device : anyplace::devices(backend)) {
        known += (known.empty() ? "" : ", ") + device.to_string();
      }
    } catch (const anyplace::Error&) {
      // It can't be used here: `anyplace doctor` says why.
    }
  }
  return known.empty() ? "none; `anyplace doctor` says why" : known;
}

void add(std::vector<anyplace::Device>& devices, const anyplace::Device& device) {
  if (std::find(devices.begin(), devices.end(), device) == devices.end()) devices.push_back(device);
}

std::vector<anyplace::Device> all_devices() {
  std::vector<anyplace::Device> found;
  for (const std::string& backend : anyplace::backend_names()) {
    try {
      for (const anyplace::Device& device : anyplace::devices(backend)) add(found, device);
    } catch (const anyplace::Error& error) {
      // Nobody asked for this backend by name, so that it can't be used here is no failure.
      log_failure("urPlatformGet", UR_RESULT_ERROR_UNSUPPORTED_FEATURE, error.what());
    }
  }
  return found;
}

void add_place(std::vector<anyplace::Device>& devices, const std::string& text) {
  try {
    const anyplace::Place place(text);
    if (place.kind() == anyplace::Place::Kind::current) {
      for (const anyplace::Device& device : anyplace::devices(place.backend())) add(devices, device);
    } else {
      add(devices, anyplace::Device(place));
    }
  } catch (const anyplace::Error& error) {
    throw Failure(UR_RESULT_ERROR_ADAPTER_SPECIFIC, "ANYPLACE_UR_PLACES names \"" + text + "\": " + error.what() +
                                                        "; the devices that are there: " + known_devices());
  }
}

}  // namespace

std::vector<anyplace::Device> offered_devices(const std::string& places) {
  if (trimmed(places).empty()) return all_devices();
  std::vector<anyplace::Device> listed;
  std::string_view rest = places;
  while (!rest.empty()) {
    const std::size_t comma = rest.find(',');
    const std::string_view text = trimmed(rest.substr(0, comma));
    if (!text.empty()) add_place(listed, std::string(text));
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
  }
  return listed;
}

}  // namespace anyplace_ur
