// SPDX-License-Identifier: Apache-2.0
//
// What a CUresult means to anyplace: one table of the status for each, and whether the device is lost with it. Where a
// failure belongs to a device, Device::check is the way here: it also remembers that the device is lost.
#pragma once

#include <string>

#include "anyplace/backend/device_backend.h"
#include "driver.h"

namespace anyplace::cuda {

using anyplace::backend::Failure;

/// The status of a result that isn't success. What the table doesn't know is BACKEND_FAILED.
anyplace_status status_of(CUresult result) noexcept;

/// Whether the manual says of it that the context, or the process, can't be used any more.
bool is_sticky(CUresult result) noexcept;

/// "CUDA_ERROR_OUT_OF_MEMORY"; the number where the driver has no name for it.
std::string name_of(CUresult result);
/// What the driver says of it in words; "" if nothing.
std::string text_of(CUresult result);

/// Throws a Failure without a vendor's code: our own account of what is wrong.
[[noreturn]] void refuse(anyplace_status status, const std::string& text);

/// Throws a Failure of what `call` returned. `more` is added to the driver's own text.
[[noreturn]] void fail_call(CUresult result, const char* call, anyplace_status status, const std::string& more = {});
[[noreturn]] void fail_call(CUresult result, const char* call);

/// For calls that belong to no device.
inline void check(CUresult result, const char* call) {
  if (result != CUDA_SUCCESS) [[unlikely]]
    fail_call(result, call);
}

}  // namespace anyplace::cuda
