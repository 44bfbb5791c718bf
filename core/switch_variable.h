// SPDX-License-Identifier: Apache-2.0
// Environment variables that turn something on or off.
#pragma once

namespace anyplace::detail {

/// 1 or 0; unset or empty is `otherwise`. Anything else is said on standard error, once for each time that it is asked,
/// and is `otherwise` too.
bool switch_variable(const char* name, bool otherwise) noexcept;

/// ANYPLACE_LOG, asked for once: whether the lines that backends write are shown.
bool log_wanted() noexcept;

}  // namespace anyplace::detail
