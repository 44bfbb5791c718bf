// SPDX-License-Identifier: Apache-2.0
//
// Finds the plugins of compilers, and remembers why a file was refused. They are found and checked as backends' are
// (plugins/registry.h). Loading them starts no compiler.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "anyplace/backend/compiler.h"
#include "plugins/loaded_plugins.h"

namespace anyplace::detail {

/// A compiler whose plugin was accepted. Never destroyed.
struct CompilerPlugin : LoadedPlugin {
  anyplace_compiler_host host{};
  anyplace_compiler_table table{};

  /// Whether it makes the format of a source in the language, ANYPLACE_SOURCE_*.
  bool makes(std::uint32_t format, std::uint32_t language) const noexcept {
    return ((language == ANYPLACE_SOURCE_SPIRV ? table.from_spirv : table.formats) >> format & 1) != 0;
  }
};

/// The library or program that a compiler works with, or why there is none.
struct CompilerLibrary {
  bool is_there = false;
  std::string path, version;
  std::string reason;
};
CompilerLibrary library_of(const CompilerPlugin& compiler, std::uint32_t format);

/// Returns what became of all files, in the order in which compilers are asked: by the rank that their tables say, then
/// in the order of the search. Loads the plugins that aren't loaded yet. Throws shortages (runtime/shortage.h).
std::vector<Candidate<CompilerPlugin>> compiler_candidates();

}  // namespace anyplace::detail
