// SPDX-License-Identifier: Apache-2.0
#include "devices/resolve.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "devices/current.h"
#include "plugins/device_properties.h"
#include "plugins/not_found.h"
#include "plugins/registry.h"
#include "runtime/call.h"
#include "runtime/text.h"

namespace anyplace::detail {
namespace {

char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) { return lower(x) == lower(y); });
}

/// A PCI address without leading zeros: some vendors write the domain with 4 digits, others with 8.
std::string_view without_leading_zeros(std::string_view address) {
  address.remove_prefix(std::min(address.find_first_not_of('0'), address.size()));
  return address;
}

/// How a UUID fits. A beginning of it is a part, as for CUDA_VISIBLE_DEVICES.
enum class Match { none, part, whole };

Match match(const Place& place, const anyplace_device_properties& properties) {
  if (place.kind() == Place::Kind::uuid) {
    const std::string_view uuid = bounded(properties.uuid, sizeof(properties.uuid));
    if (uuid.empty() || !equal_ignoring_case(place.selector(), uuid.substr(0, place.selector().size()))) {
      return Match::none;
    }
    return uuid.size() == place.selector().size() ? Match::whole : Match::part;
  }
  const std::string_view address = bounded(properties.pci, sizeof(properties.pci));
  const bool is_it =
      !address.empty() && equal_ignoring_case(without_leading_zeros(place.selector()), without_leading_zeros(address));
  return is_it ? Match::whole : Match::none;
}

/// Throws no_such_device for a UUID with which those of several devices begin.
[[noreturn]] void fail_ambiguous(const Place& place, const std::vector<DeviceState*>& fitting, const char* operation) {
  std::string list;
  for (DeviceState* const device : fitting) {
    if (list.size() >= text_limit / 8) break;
    const anyplace_device_properties& properties = properties_of(*device, operation);
    list += fmt::format("{}{} ({})", list.empty() ? "" : ", ",
                        one_line(bounded(properties.uuid, sizeof(properties.uuid))), device->place);
  }
  fail(ErrorCode::no_such_device, place.to_string(), operation,
       fmt::format("{} fits {} devices: {}\ngive so much of the uuid that one alone begins so, or the index\n`anyplace "
                   "devices` lists the devices of all backends",
                   place.to_string(), fitting.size(), list));
}

/// Finds the device with the place's UUID or PCI address. A device that can't tell its properties is passed over.
DeviceState& select(const Place& place, Backend& backend, const char* operation) {
  std::string note = place.kind() == Place::Kind::uuid ? "their uuids:" : "their pci addresses:";
  std::vector<DeviceState*> fitting;
  for (const auto& device : backend.devices) {
    try {
      const anyplace_device_properties& properties = properties_of(*device, operation);
      const Match found = match(place, properties);
      if (found == Match::whole) return *device;
      if (found == Match::part) fitting.push_back(device.get());
      const std::string_view shown = place.kind() == Place::Kind::uuid
                                         ? bounded(properties.uuid, sizeof(properties.uuid))
                                         : bounded(properties.pci, sizeof(properties.pci));
      if (note.size() < text_limit / 8) note += " " + (shown.empty() ? std::string("(none)") : one_line(shown));
    } catch (const Error& error) {
      note += fmt::format(" (not to be had: {})", one_line(error.what()));
    }
  }
  if (fitting.size() == 1) return *fitting.front();
  if (fitting.size() > 1) fail_ambiguous(place, fitting, operation);
  fail_no_device(place, backend, backend.devices.empty() ? std::string() : note, operation);
}

}  // namespace

DeviceState& resolve(const Place& place, const char* operation) {
  Backend& backend = backend_in_place(place.name(), place.layers(), place.to_string(), operation);
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
