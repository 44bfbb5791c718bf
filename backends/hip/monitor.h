// SPDX-License-Identifier: Apache-2.0
//
// A device as ROCm SMI sees it, which may be another index there than HIP's: it is found by its PCI address. Any
// thread.
#pragma once

#include <string>
#include <vector>

#include "anyplace/backend/abi.h"

namespace anyplace::hip {

/// Whether processes can be listed. Begins the library.
bool lists_processes();
/// Adds what the library tells of the device with that PCI address, and where it comes from.
void sample_device(const std::string& pci, anyplace_device_sample& out);
/// Those with a number in this PID namespace. `uses`: whether this process uses the device, and so has to be among
/// them. Throws UNSUPPORTED where they can't be told.
std::vector<anyplace_process> processes_of(const std::string& pci, bool uses);

}  // namespace anyplace::hip
