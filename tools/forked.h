// SPDX-License-Identifier: Apache-2.0
//
// Runs a function in a copy of this process (fork), so that all that it did to a device is gone when it has returned.
// It must be called before this process has used any backend, because a process that forks afterwards can't use them in
// the child.
#pragma once

#include <chrono>
#include <functional>
#include <optional>

#include "json.h"

namespace anyplace::tool {

/// Returns the result of `body`. If that throws an anyplace::Error, the result is {"error": the result of
/// error_json()}. Throws std::runtime_error for any other exception, for a child that dies, and for one that was ended
/// because it took longer than `limit`.
Json in_forked_child(const std::function<Json()>& body, std::optional<std::chrono::milliseconds> limit = {});

}  // namespace anyplace::tool
