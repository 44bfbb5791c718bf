// SPDX-License-Identifier: Apache-2.0
//
// How an entry of this backend fails: a status and a printf-like text.
#pragma once

#include <anyplace/backend/device_backend.h>

#include <string>

namespace anyplace::cpu_sim {

using backend::Failure;

[[noreturn]] inline void fail(anyplace_status status, const std::string& text) { throw Failure(status, text); }
[[noreturn]] inline void bad_argument(const std::string& text) { fail(ANYPLACE_STATUS_INVALID_ARGUMENT, text); }

/// "INVALID_ARGUMENT"; null for a number that is no status.
const char* status_name(anyplace_status status) noexcept;

/// 0x-prefixed, as a debugger shows it.
std::string hex(std::uint64_t number);

/// Text of unknown origin, shortened and with everything but printable ASCII escaped, in quotes.
std::string quoted(const std::string& text);

}  // namespace anyplace::cpu_sim
