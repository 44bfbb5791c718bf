// SPDX-License-Identifier: Apache-2.0
// The order in which `auto` looks for a device: ANYPLACE_AUTO, or the default.
#pragma once

#include <string>
#include <vector>

namespace anyplace::detail {

/// The names of ANYPLACE_AUTO, with aliases replaced. Throws invalid_argument, naming the variable, if one of them
/// isn't a known name.
std::vector<std::string> automatic_order(const char* operation);
/// Like automatic_order(), but returns the default order where the variable is bad: listings have to work then, too.
std::vector<std::string> automatic_order_or_default();

}  // namespace anyplace::detail
