// SPDX-License-Identifier: Apache-2.0
// Writes a file completely or not at all.
#pragma once

#include <string>

namespace anyplace::detail {

/// Writes `bytes` to the file of that path by replacing it with another beside it, so that a reader sees either the old
/// content or all of the new. Keeps the permissions of an existing file, and follows a link. A failure leaves the file
/// unchanged and nothing beside it. Throws invalid_argument with the path and the reason; `place` is for the text.
void write_whole_file(const std::string& path, const std::string& bytes, const std::string& place,
                      const char* operation);

}  // namespace anyplace::detail
