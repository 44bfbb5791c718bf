// SPDX-License-Identifier: Apache-2.0
//
// Maps each hipError_t to a status, and says whether the device is lost with it. A failure that belongs to a device
// goes through Device::check, which also marks the device as lost.
#pragma once

#include <span>
#include <string>

#include "anyplace/backend/kit/results.h"
#include "driver.h"

namespace anyplace::hip {

using backend::Called;
using backend::Failure;
using backend::refuse;

/// The `Vendor` of anyplace/backend/kit/results.h.
struct ErrorCalls {
  using Result = hipError_t;

  static std::span<const backend::ResultRow> rows() noexcept;
  /// Returns the number where the driver has no name for the result.
  static std::string name_of(hipError_t result);
  static std::string text_of(hipError_t result);
};
using Results = backend::Results<ErrorCalls>;

/// Whether the result says that the runtime exports the call but doesn't implement it. Runtimes other than AMD's do
/// that for much that kernels don't need.
bool is_unimplemented(hipError_t result) noexcept;

}  // namespace anyplace::hip
