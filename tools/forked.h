// SPDX-License-Identifier: Apache-2.0
//
// Running a function in a copy of this process (fork): whatever it does to a device is gone when it has returned. To be
// used before this process has used any backend, for a process that forks afterwards can't use them in the child.
#pragma once

#include <chrono>
#include <functional>
#include <optional>

#include "json.h"

namespace anyplace::tool {

/// What `body` returned. An anyplace::Error that it throws comes out as {"error": as error_json() has it}; any other
/// exception, a child that dies, and one that was ended because it took longer than `limit`, throws std::runtime_error.
Json in_forked_child(const std::function<Json()>& body, std::optional<std::chrono::milliseconds> limit = {});

}  // namespace anyplace::tool
