// SPDX-License-Identifier: Apache-2.0
// The Errors of what an engine returns and leaves as its message.
#pragma once

#include <string>

#include "ranks/engine_plugins.h"
#include "runtime/call.h"

namespace anyplace::detail {

/// The Error of an engine's status with the message that came with it. `what` is said of the engine where its vendor
/// gave a code or a name; `remedy` then, too, where it isn't empty.
Error engine_error(const Engine& engine, anyplace_status status, Message message, const std::string& place,
                   const char* operation, const char* what = "failed", std::string remedy = {});

/// Throws it, with the message that the engine left on this thread.
[[noreturn]] void raise_engine_error(const Engine& engine, anyplace_status status, const std::string& place,
                                     const char* operation);
inline void check_engine(const Engine& engine, anyplace_status status, const std::string& place,
                         const char* operation) {
  if (status != ANYPLACE_STATUS_OK) [[unlikely]]
    raise_engine_error(engine, status, place, operation);
}

/// Opens the engine's library. Throws library_missing, with the engine's reason and what to do.
anyplace_engine_library require_library(const Engine& engine, const std::string& place, const char* operation);
/// The same for those who only look: false, with the reason.
bool open_library(const Engine& engine, anyplace_engine_library& library, std::string& reason);

}  // namespace anyplace::detail
