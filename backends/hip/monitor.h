// SPDX-License-Identifier: Apache-2.0
//
// Finds a device in ROCm SMI, whose indices may differ from HIP's, by its PCI address, and reads its figures.
// Thread-safe.
#pragma once

#include <string>
#include <vector>

#include "anyplace/backend/abi.h"

namespace anyplace::hip {

/// Whether processes can be listed. It initialises the library.
bool lists_processes();
/// Adds the library's figures of the device with that PCI address, and their source.
void sample_device(const std::string& pci, anyplace_device_sample& out);
/// Lists the processes with a number in this PID namespace. `uses` says whether this process uses the device and so has
/// to be among them. Throws UNSUPPORTED if the processes can't be listed.
std::vector<anyplace_process> processes_of(const std::string& pci, bool uses);

}  // namespace anyplace::hip
