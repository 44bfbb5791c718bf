// SPDX-License-Identifier: Apache-2.0
//
// What a hipError_t means to anyplace: one table of the status for each, and whether the device is lost with it. Where
// a failure belongs to a device, Device::check is the way here: it also remembers that the device is lost.
#pragma once

#include <string>

#include "anyplace/backend/device_backend.h"
#include "driver.h"

namespace anyplace::hip {

using anyplace::backend::Failure;

/// The status of a result that isn't success. What the table doesn't know is BACKEND_FAILED.
anyplace_status status_of(hipError_t result) noexcept;

/// Whether it says that the runtime exports the call and hasn't got it. Other runtimes than AMD's do that for much of
/// what isn't needed for kernels.
bool is_unimplemented(hipError_t result) noexcept;

/// Whether the device can't be used any more after it.
bool is_sticky(hipError_t result) noexcept;

/// "hipErrorOutOfMemory"; the number where the library has no name for it.
std::string name_of(hipError_t result);
/// What the library says of it in words; "" if no more than its name.
std::string text_of(hipError_t result);

/// Throws a Failure without a vendor's code: our own account of what is wrong.
[[noreturn]] void refuse(anyplace_status status, const std::string& text);

/// Throws a Failure of what `call` returned. `more` is added to the library's own text.
[[noreturn]] void fail_call(hipError_t result, const char* call, anyplace_status status, const std::string& more = {});
[[noreturn]] void fail_call(hipError_t result, const char* call);

/// For calls that belong to no device.
inline void check(hipError_t result, const char* call) {
  if (result != hipSuccess) [[unlikely]]
    fail_call(result, call);
}

}  // namespace anyplace::hip
