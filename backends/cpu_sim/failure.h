// SPDX-License-Identifier: Apache-2.0
//
// An entry of this backend fails by throwing a status and a text.
#pragma once

#include <anyplace/backend/device_backend.h>

#include <string>

namespace anyplace::cpu_sim {

using backend::Failure;

[[noreturn]] inline void fail(anyplace_status status, const std::string& text) { throw Failure(status, text); }
[[noreturn]] inline void bad_argument(const std::string& text) { fail(ANYPLACE_STATUS_INVALID_ARGUMENT, text); }

/// Returns "INVALID_ARGUMENT" and the like; null for a number that is no status.
const char* status_name(anyplace_status status) noexcept;

/// Writes the number with 0x in front, as a debugger shows it.
std::string hex(std::uint64_t number);

/// Quotes text of unknown origin: it is shortened, and everything but printable ASCII is escaped.
std::string in_quotes(const std::string& text);

}  // namespace anyplace::cpu_sim
