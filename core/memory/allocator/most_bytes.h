// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace anyplace::detail {

/// A request for more bytes is refused before anything else looks at its size. So sizes can be rounded up and added to
/// without overflow.
inline constexpr std::uint64_t most_bytes = std::uint64_t{1} << 62U;

/// Why a device refuses such a request.
inline constexpr const char* more_than_most_bytes = "no device has that much memory\nis the size a negative number?";

}  // namespace anyplace::detail
