// SPDX-License-Identifier: Apache-2.0
//
// What a ze_result_t means to anyplace: one table with the status, the name and a text for each, because Level Zero has
// no function that gives them. Where a failure belongs to a device, Device::check is the way here: it also remembers
// that the device is lost.
#pragma once

#include <level_zero/ze_api.h>

#include <string>

#include "anyplace/backend/device_backend.h"

namespace anyplace::levelzero {

using anyplace::backend::Failure;

/// The status of a result that isn't success. What the table doesn't know is BACKEND_FAILED.
anyplace_status status_of(ze_result_t result) noexcept;

/// Whether the specification says of it that the device can't be used any more.
bool is_loss(ze_result_t result) noexcept;

/// "ZE_RESULT_ERROR_DEVICE_LOST"; the number in hexadecimal where the table has no name.
std::string name_of(ze_result_t result);
std::string text_of(ze_result_t result);

/// Throws a Failure without a vendor's code: our own account of what is wrong.
[[noreturn]] void refuse(anyplace_status status, const std::string& text);

/// Throws a Failure of what `call` returned. `more` is added to the table's text.
[[noreturn]] void fail_call(ze_result_t result, const std::string& call, anyplace_status status,
                            const std::string& more = {});
[[noreturn]] void fail_call(ze_result_t result, const char* call);

/// For calls that belong to no device.
inline void check(ze_result_t result, const char* call) {
  if (result != ZE_RESULT_SUCCESS) [[unlikely]]
    fail_call(result, call);
}

/// For a call that succeeded and must have made something: a driver that does nothing answers success, too.
inline void check_made(const void* handle, const char* call) {
  if (handle == nullptr) [[unlikely]]
    refuse(ANYPLACE_STATUS_BACKEND_FAILED, std::string(call) + " answered success and gave nothing");
}

/// The first of several results that isn't success, and whose it is: where many things are ended, and each is tried.
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
