// SPDX-License-Identifier: Apache-2.0
//
// Links between the devices of a backend: whether one reads and writes the other's memory, and which way over PCIe lies
// between them. Devices of two backends have none: what goes between them goes through the host's memory.
#pragma once

#include <anyplace/device.h>

#include "json.h"

namespace anyplace::tool {

/// [{"place", "link", "pci_path"}] for each other device of the backend: `link` is "peer" (direct access), "host" (only
/// through the host's memory) or null; `pci_path` is to_string(PciPath), or null. Null instead of the list if the
/// backend has more devices than most_linked, whose list would be as long as the square of their number. Reads the
/// properties of all, so that it is for a child process (probe.h), whose end by a plugin is no loss.
Json links_json(const Device& device);
constexpr int most_linked = 64;

/// The matrix of the links of `devices`, each as probe_backend() has it, of any backends: "" for less than two of them
/// and for more than would fit on a screen.
std::string link_matrix(const std::vector<Json>& devices);

/// "peer access", "through the host", "unknown", and the way over PCIe behind it if it is known.
std::string link_text(const Json& link);

}  // namespace anyplace::tool
