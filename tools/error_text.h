// SPDX-License-Identifier: Apache-2.0
//
// Errors for people: what is wrong, what would be right, and where to look, on a line each.
#pragma once

#include <string>
#include <string_view>

#include "json.h"

namespace anyplace::tool {

/// "WHO: PLACE: what is wrong (code)\n", and indented lines for the rest. `error` is as error_json() has it. For
/// standard error.
std::string error_text(std::string_view who, const Json& error);
std::string error_text(std::string_view who, const Error& error);

}  // namespace anyplace::tool
