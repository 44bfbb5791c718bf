// SPDX-License-Identifier: Apache-2.0
// Reading and writing a file at once.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace anyplace::detail {

/// The bytes of a regular file; none if it can't be read, or has more than `limit`: then errno says why (EFBIG).
std::optional<std::string> read_whole_file(const std::string& path, std::size_t limit);
/// The first bytes of a file, at most `limit`; "" if it can't be read.
std::string read_beginning(const std::string& path, std::size_t limit);
/// Makes a file with mode 0600. Returns 0, or errno.
int write_whole_file(const std::string& path, std::string_view bytes);

}  // namespace anyplace::detail
