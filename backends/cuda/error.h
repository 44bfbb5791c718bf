// SPDX-License-Identifier: Apache-2.0
//
// Maps each CUresult to a status, and says whether the device is lost with it. A failure that belongs to a device goes
// through Device::check, which also marks the device as lost.
#pragma once

#include <span>
#include <string>

#include "anyplace/backend/kit/results.h"
#include "driver.h"

namespace anyplace::cuda {

using backend::Called;
using backend::Failure;
using backend::refuse;

/// The `Vendor` of anyplace/backend/kit/results.h.
struct ErrorCalls {
  using Result = CUresult;

  static std::span<const backend::ResultRow> rows() noexcept;
  /// Returns the number where the driver has no name for the result.
  static std::string name_of(CUresult result);
  static std::string text_of(CUresult result);
};
using Results = backend::Results<ErrorCalls>;

}  // namespace anyplace::cuda
