// SPDX-License-Identifier: Apache-2.0
// Environment variables that turn something on or off.
#pragma once

namespace anyplace::detail {

/// Whether the variable is 1. If it is unset or empty, returns `otherwise`. If it is neither 0 nor 1, writes a warning
/// to standard error at each call and returns `otherwise`.
bool switch_variable(const char* name, bool otherwise) noexcept;

/// Whether the lines that backends log are shown: ANYPLACE_LOG, which is read once.
bool log_wanted() noexcept;

}  // namespace anyplace::detail
