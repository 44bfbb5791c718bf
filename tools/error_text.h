// SPDX-License-Identifier: Apache-2.0
//
// The text of an error for people: what is wrong, what would be right, and where to look, each on a line of its own.
#pragma once

#include <string>
#include <string_view>

#include "json.h"

namespace anyplace::tool {

/// "WHO: PLACE: what is wrong (code)\n", and indented lines for the rest. `error` is the result of error_json(). The
/// text is for standard error.
std::string error_text(std::string_view who, const Json& error);
std::string error_text(std::string_view who, const Error& error);

}  // namespace anyplace::tool
