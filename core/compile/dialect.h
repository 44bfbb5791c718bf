// SPDX-License-Identifier: Apache-2.0
// The headers of the dialect (anyplace/device_code.h) for sources that are compiled at run time. They are in the folder
// anyplace_dialect, which is installed beside the plugins, so that a machine which only runs programs has them, too.
#pragma once

#include <string_view>

namespace anyplace::detail {

constexpr const char* dialect_folder_name = "anyplace_dialect";

/// Tells one version of the headers from another. The build computes it from their texts; a process would spend more
/// time on that than on all else that a hit in the cache takes.
extern const std::string_view dialect_sum;

}  // namespace anyplace::detail
