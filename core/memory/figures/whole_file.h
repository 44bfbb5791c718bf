// SPDX-License-Identifier: Apache-2.0
// Writes a file so that it is there as a whole or isn't there.
#pragma once

#include <string>

namespace anyplace::detail {

/// Puts `bytes` into the file of that path by way of another beside it, so that a reader finds what was there before or
/// all that is new. Keeps the permissions of a file that is there, and follows a link to it. What fails leaves the file
/// as it was and nothing beside it. Throws invalid_argument with the path and the reason; `place` is for the text.
void write_whole_file(const std::string& path, const std::string& bytes, const std::string& place,
                      const char* operation);

}  // namespace anyplace::detail
