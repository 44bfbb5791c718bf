// SPDX-License-Identifier: Apache-2.0
//
// Links between the devices of a backend: whether one reads and writes the other's memory, and which way over PCIe lies
// between them. Devices of two backends have none: copies between them go through the host's memory.
#pragma once

#include <anyplace/device.h>

#include "json.h"

namespace anyplace::tool {

/// [{"place", "link", "pci_path"}] for each other device of the backend: `link` is "peer" (direct access), "host" (only
/// through the host's memory) or null; `pci_path` is to_string(PciPath), or null. The result is null instead if the
/// backend has more devices than most_linked, because the list of all pairs would be too long. It reads the properties
/// of all devices, and so belongs into a child process (probe.h), which a plugin may crash.
Json links_json(const Device& device);
constexpr int most_linked = 64;

/// The matrix of the links of `devices` of any backends, each as probe_backend() returns it. "" for fewer than two
/// devices, and for more than fit on a screen.
std::string link_matrix(const std::vector<Json>& devices);

/// "peer access", "through the host's memory" or "unknown", followed by the way over PCIe if it is known.
std::string link_text(const Json& link);

}  // namespace anyplace::tool
