// SPDX-License-Identifier: Apache-2.0
//
// What a CUresult means to anyplace: one table of the status for each, and whether the device is lost with it. Where a
// failure belongs to a device, Device::check is the way here: it also remembers that the device is lost.
#pragma once

#include <span>
#include <string>

#include "anyplace/backend/kit/results.h"
#include "driver.h"

namespace anyplace::cuda {

using backend::Called;
using backend::Failure;
using backend::refuse;

/// As anyplace/backend/kit/results.h asks for them.
struct ErrorCalls {
  using Result = CUresult;

  static std::span<const backend::ResultRow> rows() noexcept;
  /// The number where the driver has no name for it.
  static std::string name_of(CUresult result);
  static std::string text_of(CUresult result);
};
using Results = backend::Results<ErrorCalls>;

}  // namespace anyplace::cuda
