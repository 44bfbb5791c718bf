// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include <anyplace/device.h>

namespace anyplace_ur {

/// The devices that `places` lists, in its order; each is a place, or a backend, which stands for all of its devices.
/// With nothing listed, every device of every backend that can be used. Throws invalid_argument or whatever
/// anyplace::Device throws for a place that isn't there, which names those that are.
std::vector<anyplace::Device> offered_devices(const std::string& places);

}  // namespace anyplace_ur
