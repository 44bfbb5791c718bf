// SPDX-License-Identifier: Apache-2.0
// The page of `anyplace timeline`.
#pragma once

#include <string_view>

namespace anyplace::tool {

/// The files of templates/timeline as one page, which is compiled into the program. The data of a trace take the place
/// of
/// "@DATA@" in it.
std::string_view timeline_page() noexcept;

}  // namespace anyplace::tool
