// SPDX-License-Identifier: Apache-2.0
//
// The blur as a plain loop on the host, a pixel at a time: what the devices' result is checked with.
#pragma once

#include <cstdint>
#include <optional>

#include "picture.h"

namespace image_pipeline {

struct Mismatch {
  std::uint32_t x = 0;
  std::uint32_t y = 0;
  std::uint32_t channel = 0;
  int expected = 0;
  int found = 0;
};

/// Blurs `source` and compares: the first byte of `result` that is another, or nothing.
std::optional<Mismatch> check_on_host(const Picture& source, const Picture& result);

}  // namespace image_pipeline
