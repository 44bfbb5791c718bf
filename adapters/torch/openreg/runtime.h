// SPDX-License-Identifier: Apache-2.0
//
// What the files of the runtime share.
#pragma once

#include <anyplace/anyplace.h>

#include <utility>

#include "interface.h"

namespace openreg_anyplace {

/// The device of that index in ANYPLACE_TORCH_PLACES (without it, those of the backend that "auto" finds). Throws
/// anyplace::Error.
const anyplace::Device& device(int index);
int device_count();
/// The calling thread's.
int current_device() noexcept;

/// Says what went wrong on standard error if ANYPLACE_OPENREG_ERRORS=1.
void tell(const char* what) noexcept;

/// Runs `function`, which returns an orError_t. Nothing that is thrown leaves the C interface.
template <class Function>
orError_t guarded(Function&& function) noexcept {
  try {
    return std::forward<Function>(function)();
  } catch (const std::exception& error) {
    tell(error.what());
  } catch (...) {
    tell("something was thrown that is no exception");
  }
  return orErrorUnknown;
}

/// The stream's view, for a copy.
anyplace::StreamView view_of(orStream_t stream);

}  // namespace openreg_anyplace
