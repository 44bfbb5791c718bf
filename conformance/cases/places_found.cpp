// SPDX-License-Identifier: Apache-2.0
// Places as devices: how a place is found, what is reported if it isn't, and that other backends play no part in it.
#include <algorithm>
#include <filesystem>

#include "support.h"

namespace anyplace::conformance::places_found_cases {
namespace {

ANYPLACE_CASE("places", "places.current", "a name alone is device 0 before a current device is set") {
  CHECK_EQUAL(CALL(Device(run.backend())).index(), 0);
  CHECK_EQUAL(CALL(Device(run.backend())).to_string(), run.backend() + ":0");
}

ANYPLACE_CASE("places", "places.current", "a name alone is the device that was made the current one", second_device) {
  CALL(set_current_device(Device(Place(run.backend(), 1))));
  CHECK_EQUAL(CALL(Device(run.backend())).index(), 1);
}

ANYPLACE_CASE("places", "places.current", "a name alone is device 0 on a thread that set no current device",
              second_device) {
  CALL(set_current_device(Device(Place(run.backend(), 1))));
  run_threads(1, [&](int) { CHECK_EQUAL(CALL(Device(run.backend())).index(), 0); });
}

ANYPLACE_CASE("places", "places.auto", "auto is the backend that ANYPLACE_AUTO names first") {
  set_variable("ANYPLACE_AUTO", run.backend());
  const Device device = CALL(Device("auto"));
  CHECK_EQUAL(device.backend(), run.backend());
  CHECK_EQUAL(device.index(), 0);
}

ANYPLACE_CASE("places", "places.auto", "auto passes over a backend that has no plugin") {
  set_variable("ANYPLACE_AUTO", std::string(run.backend() == "hip" ? "cuda" : "hip") + "," + run.backend());
  const Device device = CALL(Device("auto"));
  CHECK(device.backend() == run.backend() || device.backend() == "hip" || device.backend() == "cuda");
}

ANYPLACE_CASE("places", "places.auto", "auto is the same device each time") {
  set_variable("ANYPLACE_AUTO", run.backend());
  CHECK_EQUAL(CALL(Device("auto")), CALL(Device("auto")));
}

ANYPLACE_CASE("places", "places.selectors", "a device is found by its uuid") {
  const Device device = run.device();
  const std::string uuid = CALL(device.properties()).uuid;
  if (uuid.empty()) skip("a uuid");
  CHECK_EQUAL(CALL(Device(run.backend() + ":uuid=" + uuid)), device);
}

ANYPLACE_CASE("places", "places.selectors", "a device is found by its pci address") {
  const Device device = run.device();
  const std::string pci = CALL(device.properties()).pci;
  if (pci.empty()) skip("a pci address");
  CHECK_EQUAL(CALL(Device(run.backend() + ":pci=" + pci)), device);
}

ANYPLACE_CASE("places", "places.selectors", "each device is found by its own uuid", second_device) {
  for (const Device& device : CALL(devices(run.backend()))) {
    const std::string uuid = CALL(device.properties()).uuid;
    if (uuid.empty()) skip("a uuid");
    CHECK_EQUAL(CALL(Device(run.backend() + ":uuid=" + uuid)), device);
  }
}

ANYPLACE_CASE("places", "places.selectors", "a uuid that no device has is no_such_device") {
  const Error error = CHECK_ERROR(no_such_device, Device(run.backend() + ":uuid=GPU-no-such-device"));
  CHECK(error.text().find(run.backend() + ":0") != std::string::npos);
}

ANYPLACE_CASE("places", "places.selectors", "a pci address that no device has is no_such_device") {
  const Error error = CHECK_ERROR(no_such_device, Device(run.backend() + ":pci=fffffff0:fe:1d.7"));
  CHECK(error.text().find(run.backend() + ":0") != std::string::npos);
}

ANYPLACE_CASE("places", "places.missing", "an index past the last device is no_such_device and lists the devices") {
  const int count = CALL(device_count(run.backend()));
  const Error error = CHECK_ERROR(no_such_device, Device(Place(run.backend(), count)));
  CHECK(error.text().find(run.backend() + ":0") != std::string::npos);
  CHECK_EQUAL(error.place(), run.backend() + ":" + std::to_string(count));
}

ANYPLACE_CASE("places", "places.missing", "the greatest index is no_such_device") {
  CHECK_ERROR(no_such_device, Device(Place(run.backend(), 2147483647)));
}

ANYPLACE_CASE("places", "places.missing", "a backend without a plugin is no_such_backend and the others are named") {
  const Error error = CHECK_ERROR(no_such_backend, Device("nobody_has_this:0"));
  CHECK(error.text().find(run.backend()) != std::string::npos);
}

ANYPLACE_CASE("places", "places.missing", "counting the devices of a backend without a plugin is no_such_backend") {
  CHECK_ERROR(no_such_backend, device_count("nobody_has_this"));
  CHECK_ERROR(no_such_backend, devices("nobody_has_this"));
  CHECK_ERROR(no_such_backend, current_device("nobody_has_this"));
}

/// Puts the folder before those that are searched.
void search_first(const Folder& folder) {
  const char* const before = std::getenv("ANYPLACE_BACKEND_PATH");
  set_variable("ANYPLACE_BACKEND_PATH", folder.path() + (before != nullptr ? std::string(":") + before : ""));
}

ANYPLACE_CASE("places", "places.missing", "a plugin that was found and refused is named with the reason") {
  const Folder folder;
  folder.file("libanyplace_backend_broken_one.so", "this is no shared object");
  search_first(folder);
  const Error error = CHECK_ERROR(no_such_backend, Device("broken_one:0"));
  CHECK(error.text().find("libanyplace_backend_broken_one.so") != std::string::npos);
}

ANYPLACE_CASE("places", "places.missing", "an error about a missing device leaves those that are there usable") {
  CHECK_ERROR(no_such_device, Device(Place(run.backend(), 2147483647)));
  CHECK_ERROR(no_such_backend, Device("nobody_has_this:0"));
  const Stream stream = CALL(Stream(run.device()));
  CALL(stream.synchronize());
}

/// Puts the plugin that the case uses first in the search, with broken ones beside it.
void search_among_broken(const Folder& folder, const std::string& backend) {
  for (const char* const name : {"cuda", "hip", "levelzero", "zzz"}) {
    if (name != backend) folder.file(std::string("libanyplace_backend_") + name + ".so", "this is no shared object");
  }
  search_first(folder);
}

ANYPLACE_CASE("places", "places.isolation", "broken plugins of other backends don't disturb this one") {
  const Folder folder;
  search_among_broken(folder, run.backend());
  const Stream stream = CALL(Stream(run.device()));
  CALL(stream.synchronize());
}

ANYPLACE_CASE("places", "places.isolation", "the plugins of other backends stay unopened") {
  const Folder folder;
  search_among_broken(folder, run.backend());
  const Stream stream = CALL(Stream(run.device()));
  bool own = false;
  for (const PluginCandidate& candidate : CALL(plugin_candidates())) {
    if (candidate.name == run.backend()) {
      own = own || candidate.state == PluginCandidate::State::accepted;
    } else {
      CHECK(candidate.state == PluginCandidate::State::unopened || candidate.state == PluginCandidate::State::shadowed);
    }
  }
  CHECK(own);
}

ANYPLACE_CASE("places", "places.isolation", "this backend works after another one failed") {
  const Folder folder;
  search_among_broken(folder, run.backend());
  CHECK_ERROR(no_such_backend, Device("zzz:0"));
  const Stream stream = CALL(Stream(run.device()));
  CALL(stream.synchronize());
}

}  // namespace
}  // namespace anyplace::conformance::places_found_cases
