// SPDX-License-Identifier: Apache-2.0
//
// The meaning of each ze_result_t: a table with its status, name and text, because Level Zero has no function for
// these. Device::check uses it for failures of a device; it also marks the device lost.
#pragma once

#include <level_zero/ze_api.h>

#include <string>

#include "anyplace/backend/device_backend.h"

namespace anyplace::levelzero {

using anyplace::backend::Failure;

/// The status of a result that isn't success: BACKEND_FAILED if the table lacks the result.
anyplace_status status_of(ze_result_t result) noexcept;

/// Whether the result means, by the specification, that the device can't be used any more.
bool is_loss(ze_result_t result) noexcept;

/// Such as "ZE_RESULT_ERROR_DEVICE_LOST"; the number in hexadecimal where the table has no name.
std::string name_of(ze_result_t result);
std::string text_of(ze_result_t result);

/// Throws a Failure without a vendor's code; the text is the backend's own.
[[noreturn]] void refuse(anyplace_status status, const std::string& text);

/// Throws the Failure of a result that `call` returned. `more` is added to the table's text.
[[noreturn]] void fail_call(ze_result_t result, const std::string& call, anyplace_status status,
                            const std::string& more = {});
[[noreturn]] void fail_call(ze_result_t result, const char* call);

/// Throws if the result isn't success. Used for calls that belong to no device.
inline void check(ze_result_t result, const char* call) {
  if (result != ZE_RESULT_SUCCESS) [[unlikely]]
    fail_call(result, call);
}

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
