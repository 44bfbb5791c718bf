// SPDX-License-Identifier: Apache-2.0
//
// What goes wrong in an entry that Paddle calls. No exception leaves the plug-in: each becomes a line on standard
// error, the calling thread's last error, which anyplace_paddle_last_error() hands out, and the status that Paddle
// raises.
#pragma once

#include <string_view>
#include <utility>

#include "paddle/phi/backends/device_ext.h"

namespace anyplace_paddle {

/// What becomes of a text that is the thread's last error already: Paddle asks several times for memory that isn't
/// there.
enum class Repeated { said, not_said };

/// Writes "anyplace: paddle: TEXT" on standard error and keeps TEXT as the thread's last error. Never throws.
void report(std::string_view text, Repeated repeated = Repeated::said) noexcept;

/// Reports the exception in flight: "ENTRY of TYPE:ID: " and its text, which of an anyplace::Error is all of what().
/// C_FAILED for memory that ran out, C_ERROR for what the caller did wrong, else C_INTERNAL_ERROR. `device` may be
/// null.
C_Status report_exception(const char* entry, C_Device device, Repeated repeated = Repeated::said) noexcept;

/// Whether the exception in flight says that there is nothing left to give back: the process forked, it is exiting, or
/// the device is lost.
bool is_nothing_left() noexcept;

/// Runs `body`, the work of the entry of that name.
template <class Body>
C_Status guarded(const char* entry, C_Device device, Body&& body) noexcept {
  try {
    std::forward<Body>(body)();
    return C_SUCCESS;
  } catch (...) {
    return report_exception(entry, device);
  }
}

/// The same for an entry that gives something back. Always C_SUCCESS: Paddle gives back in destructors, where raising
/// an error would end the process. A failure is reported, but for those that say that there is nothing left to give
/// back.
template <class Body>
C_Status guarded_release(const char* entry, C_Device device, Body&& body) noexcept {
  try {
    std::forward<Body>(body)();
  } catch (...) {
    if (!is_nothing_left()) (void)report_exception(entry, device);
  }
  return C_SUCCESS;
}

}  // namespace anyplace_paddle
