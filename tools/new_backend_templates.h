// SPDX-License-Identifier: Apache-2.0
// The files under templates/new_backend/, embedded into the program by the build.
#pragma once

#include <span>
#include <string_view>

namespace anyplace::tool {

struct TemplateFile {
  std::string_view kind;  ///< "common", "cpp" or "c": whose projects have it
  std::string_view path;  ///< in the project
  bool executable;
  std::string_view text;  ///< with the words that new_backend.cpp replaces
};

std::span<const TemplateFile> new_backend_templates() noexcept;

}  // namespace anyplace::tool
