// SPDX-License-Identifier: Apache-2.0
// What the cases of layers share: where the tests' layers are, and the error of a device.
#pragma once

#include <catch2/catch.hpp>
#include <string>
#include <vector>

#include "anyplace/anyplace.h"
#include "support/environment.h"
#include "support/errors.h"

namespace test {

using Names = std::vector<std::string>;

/// Makes the tests' layers of these names be found.
inline void find_layers(const Names& names) {
  std::string folders;
  for (const std::string& name : names) {
    folders += (folders.empty() ? "" : ":") + std::string(ANYPLACE_TEST_LAYERS) + "/" + name;
  }
  set_env("ANYPLACE_BACKEND_PATH", folders);
}

/// The Error of making a device of that place.
inline anyplace::Error device_error(anyplace::ErrorCode code, const std::string& place) {
  return required_error(code, [&] { const anyplace::Device device(place); });
}

}  // namespace test
