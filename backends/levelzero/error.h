// SPDX-License-Identifier: Apache-2.0
//
// Maps each ze_result_t to a status, and says whether the device is lost with it. A failure that belongs to a device
// goes through DeviceBase::check, which also marks the device as lost.
#pragma once

#include <level_zero/ze_api.h>

#include <span>
#include <string>

#include "anyplace/backend/kit/results.h"

namespace anyplace::levelzero {

using backend::Failure;
using backend::refuse;

/// The `Vendor` of anyplace/backend/kit/results.h. Level Zero has no function for names and texts, so the table has
/// them.
struct ErrorCalls {
  using Result = ze_result_t;

  static std::span<const backend::ResultRow> rows() noexcept;
  /// Returns the number in hexadecimal where the table has no name for the result.
  static std::string name_of(ze_result_t result);
  static std::string text_of(ze_result_t result);
};
using Results = backend::Results<ErrorCalls>;

/// Throws if a call that returned success made no object: a driver that does nothing returns success, too.
inline void check_made(const void* handle, const char* call) {
  if (handle == nullptr) [[unlikely]]
    refuse(ANYPLACE_STATUS_BACKEND_FAILED, std::string(call) + " answered success and gave nothing");
}

/// Keeps the first failure, and the name of the call that failed, where many objects are ended and each one is tried.
struct FirstFailure {
  ze_result_t result = ZE_RESULT_SUCCESS;
  const char* call = "";
  void add(ze_result_t next, const char* of) noexcept {
    if (result != ZE_RESULT_SUCCESS || next == ZE_RESULT_SUCCESS) return;
    result = next;
    call = of;
  }
};

}  // namespace anyplace::levelzero
