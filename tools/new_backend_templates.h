// SPDX-License-Identifier: Apache-2.0
// The files under templates/new_backend/, embedded into the program by the build.
#pragma once

#include <span>
#include <string_view>

namespace anyplace::tool {

struct TemplateFile {
  std::string_view kind;  ///< the project that has the file: a backend ("common", and "cpp" or "c"), or a "compiler"
  std::string_view path;  ///< the file's path in the project
  bool executable;
  std::string_view text;  ///< the file's text, with the words that new_backend.cpp replaces
};

std::span<const TemplateFile> new_backend_templates() noexcept;

}  // namespace anyplace::tool
