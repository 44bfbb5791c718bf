// SPDX-License-Identifier: Apache-2.0
//
// The errors for places that don't exist. They say what was asked for, what exists instead, why the files that were
// found can't be used, and where to look.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "anyplace/place.h"
#include "runtime/backend.h"

namespace anyplace::detail {

/// Throws invalid_argument for a text that is no name.
[[noreturn]] void fail_bad_name(std::string_view name, const std::string& problem, const char* operation);

/// Throws no_such_backend, or no_such_device if the plugin refused to load because there is no device. `asked` is the
/// name in `place` as it was given, `name` what it stands for.
[[noreturn]] void fail_no_backend(const std::string& place, const std::string& asked, const std::string& name,
                                  const char* operation);

/// Throws no_such_device for `auto`.
[[noreturn]] void fail_no_automatic(const std::vector<std::string>& order, const char* operation);

/// Throws no_such_device, with the backend's note on what may hide devices, and with `note`, which may be empty.
[[noreturn]] void fail_no_device(const Place& place, Backend& backend, const std::string& note, const char* operation);

}  // namespace anyplace::detail
