// SPDX-License-Identifier: Apache-2.0
//
// How the double is configured: the environment, read once, at the first call (README.md lists the variables).
#pragma once

#include "../engine/settings.h"

namespace anyplace::doubles::cuda {

struct Config : Settings {
  int driver_version = 13000;
  int sm = 90;
  bool mig = false;                  // the devices are instances of one partitioned GPU
  std::vector<std::string> missing;  // exported symbols that the driver is said to lack
};
const Config& config();

/// The 16 bytes of a physical device's uuid, or of an instance's.
void uuid_bytes(const Config& config, int physical, unsigned char* bytes);
/// Those of the GPU that an instance is of; the device's own where it is none.
void gpu_uuid_bytes(const Config& config, int physical, unsigned char* bytes);

}  // namespace anyplace::doubles::cuda
