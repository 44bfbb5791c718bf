// SPDX-License-Identifier: Apache-2.0
// The files under templates/new_backend/, embedded into the program by the build.
#pragma once

#include <span>
#include <string_view>

namespace anyplace::tool {

struct TemplateFile {
  std::string_view kind;  ///< the kind of project that has the file: "common" (both), "cpp" or "c"
  std::string_view path;  ///< the file's path in the project
  bool executable;
  std::string_view text;  ///< the file's text, with the words that new_backend.cpp replaces
};

std::span<const TemplateFile> new_backend_templates() noexcept;

}  // namespace anyplace::tool
