// SPDX-License-Identifier: Apache-2.0
// Makes Errors of the statuses that engines return and of the messages that they leave.
#pragma once

#include <string>

#include "ranks/engine_plugins.h"
#include "runtime/call.h"

namespace anyplace::detail {

/// Returns the Error of an engine's status and of the message that came with it. If the vendor gave a code or a name,
/// the Error says `what` about the engine, and has `remedy` unless that is empty. Otherwise neither is used.
Error engine_error(const Engine& engine, anyplace_status status, Message message, const std::string& place,
                   const char* operation, const char* what = "failed", std::string remedy = {});

/// Throws engine_error() of the message that the engine left on this thread.
[[noreturn]] void raise_engine_error(const Engine& engine, anyplace_status status, const std::string& place,
                                     const char* operation);
inline void check_engine(const Engine& engine, anyplace_status status, const std::string& place,
                         const char* operation) {
  if (status != ANYPLACE_STATUS_OK) [[unlikely]]
    raise_engine_error(engine, status, place, operation);
}

/// Opens the engine's library. Throws library_missing, with the engine's reason and what to do.
anyplace_engine_library require_library(const Engine& engine, const std::string& place, const char* operation);
/// Opens the engine's library, for lists of engines. Returns false, with the reason, if it can't be opened.
bool open_library(const Engine& engine, anyplace_engine_library& library, std::string& reason);

}  // namespace anyplace::detail
