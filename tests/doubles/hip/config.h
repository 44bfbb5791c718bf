// SPDX-License-Identifier: Apache-2.0
//
// How the double is configured: the environment, read once, at the first call (README.md lists the variables).
#pragma once

#include "../engine/settings.h"

namespace anyplace::doubles::hip {

struct Config : Settings {
  int version = 60'443'484;     // 6.4.43484
  std::string arch = "gfx90a";  // without features
  bool wait_value = true;
  bool virtual_memory = true;

  int major() const noexcept { return version / 10'000'000; }
};
const Config& config();

/// The 16 digits of a physical device's unique id, which HIP gives as the bytes of its uuid.
std::string uuid_digits(int physical);

}  // namespace anyplace::doubles::hip
