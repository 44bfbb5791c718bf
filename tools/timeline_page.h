// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace anyplace::tool {

/// The text of templates/timeline.html, which is compiled into the program. The data of a trace take the place of
/// "@DATA@" in it.
std::string_view timeline_page() noexcept;

}  // namespace anyplace::tool
