// SPDX-License-Identifier: Apache-2.0
#include "places.h"

#include <algorithm>

#include <anyplace/error.h>
#include <anyplace/plugins.h>

#include "failure.h"
#include "log.h"
#include "place_list.h"

namespace anyplace_ur {

namespace {

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

void add_place(std::vector<anyplace::Device>& devices, const std::string& entry) {
  try {
    for (const anyplace::Device& device : anyplace_adapters::devices_of(entry)) add(devices, device);
  } catch (const anyplace::Error& error) {
    const std::string known = anyplace_adapters::known_devices();
    throw Failure(UR_RESULT_ERROR_ADAPTER_SPECIFIC,
                  "ANYPLACE_UR_PLACES names \"" + entry + "\": " + error.what() +
                      "; the devices that are there: " + (known.empty() ? "none; `anyplace doctor` says why" : known));
  }
}

}  // namespace

std::vector<anyplace::Device> offered_devices(const std::string& places) {
  const std::vector<std::string> entries = anyplace_adapters::entries_of(places);
  if (entries.size() == 1 && entries.front().empty()) return all_devices();
  std::vector<anyplace::Device> listed;
  for (const std::string& entry : entries) {
    if (!entry.empty()) add_place(listed, entry);
  }
  return listed;
}

}  // namespace anyplace_ur
