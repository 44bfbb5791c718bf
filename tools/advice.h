// SPDX-License-Identifier: Apache-2.0
// Advice: what to do about a plugin that can't be used, by the code of the reason.
#pragma once

#include <string>
#include <string_view>

namespace anyplace::tool {

/// `code` is the code of a Problem (probe.h), or "shadowed". `backend` is the name that was asked for. Never empty.
std::string advice(std::string_view code, const std::string& backend);

}  // namespace anyplace::tool
