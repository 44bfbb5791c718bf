// SPDX-License-Identifier: Apache-2.0
// Signals that end a command early are remembered, so that it still says what it found.
#pragma once

#include <string>

namespace anyplace::tool {

/// From now on SIGINT and SIGTERM, unless they are ignored, are remembered for interrupted() instead of ending the
/// process; a second one ends it.
void catch_interruptions() noexcept;

/// The signal, or 0.
int interrupted() noexcept;

/// "SIGTERM".
std::string signal_text(int number);

}  // namespace anyplace::tool
