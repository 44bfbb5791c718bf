// SPDX-License-Identifier: Apache-2.0
// The headers of the dialect (anyplace/device_code.h), which a machine that only runs programs needn't have. CMake
// makes the texts of the files (embed_headers.cmake).
#pragma once

#include <span>
#include <string_view>
#include <utility>

namespace anyplace::detail {

/// A name below the folder of headers, and the text.
extern const std::span<const std::pair<const char*, const char*>> dialect_headers;

/// Tells one version of the headers from another. The build computes it from their texts; a process would spend more
/// time on that than on all else that a hit in the cache takes.
extern const std::string_view dialect_sum;

}  // namespace anyplace::detail
