// SPDX-License-Identifier: Apache-2.0
//
// What a hipError_t means to anyplace: one table of the status for each, and whether the device is lost with it. Where
// a failure belongs to a device, Device::check is the way here: it also remembers that the device is lost.
#pragma once

#include <span>
#include <string>

#include "anyplace/backend/kit/results.h"
#include "driver.h"

namespace anyplace::hip {

using backend::Called;
using backend::Failure;
using backend::refuse;

/// As anyplace/backend/kit/results.h asks for them.
struct ErrorCalls {
  using Result = hipError_t;

  static std::span<const backend::ResultRow> rows() noexcept;
  /// The number where the driver has no name for it.
  static std::string name_of(hipError_t result);
  static std::string text_of(hipError_t result);
};
using Results = backend::Results<ErrorCalls>;

/// Whether it says that the runtime exports the call and hasn't got it. Other runtimes than AMD's do that for much of
/// what isn't needed for kernels.
bool is_unimplemented(hipError_t result) noexcept;

}  // namespace anyplace::hip
