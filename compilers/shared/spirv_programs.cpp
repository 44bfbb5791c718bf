// SPDX-License-Identifier: Apache-2.0
#include "spirv_programs.h"

#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

#include "plugin.h"

namespace anyplace::compilers {
namespace {

/// What may be a Clang for SPIR-V, the preferred one first.
std::vector<std::string> spirv_clangs() {
  if (const std::optional<std::string> named = named_program("ANYPLACE_KERNEL_CLANG")) return {*named};
  std::vector<std::string> all;
  for (const char* const name : {"clang++", "clang++-15", "clang++-14"}) {
    if (std::string path = find_program(name); !path.empty()) all.push_back(std::move(path));
  }
  return all;
}

/// "14" or "15" for a Clang of that version, which its file tells without being started: /usr/bin/clang++ leads to
/// /usr/lib/llvm-14/bin/clang, or to clang-14. "" for any other.
std::string major_of(const std::string& clang) {
  std::error_code failed;
  const std::string file = std::filesystem::canonical(clang, failed).string();
  for (const char* const major : {"14", "15"}) {
    const std::string number = major;
    const bool is_in_folder =
        file.find("/llvm-" + number + "/") != file.npos || file.find("/llvm" + number + "/") != file.npos;
    if (is_in_folder || file.ends_with("/clang-" + number) || file.ends_with("/clang++-" + number)) return number;
  }
  return "";
}

/// The llvm-spirv for Clang's bitcode; "" if there is none.
std::string translator_of(const std::string& major) {
  if (const std::optional<std::string> named = named_program("ANYPLACE_LLVM_SPIRV")) return *named;
  std::string path = find_program("llvm-spirv-" + major);
  return path.empty() ? find_program("llvm-spirv") : path;
}

}  // namespace

anyplace_status spirv_programs(const std::string& what, anyplace_compiler_library* out) {
  static thread_local std::string path, version;
  const std::vector<std::string> clangs = spirv_clangs();
  std::string reason = what + " with Clang 14 or 15, and " +
                       (clangs.empty() ? std::string("there is no clang++ in PATH") : clangs.front() + " is neither") +
                       ": Debian: apt-get install clang-14 llvm-spirv-14; ANYPLACE_KERNEL_CLANG names another";
  for (const std::string& clang : clangs) {
    const std::string major = major_of(clang);
    if (major.empty()) continue;
    const std::string translator = translator_of(major);
    if (translator.empty()) {
      reason = what + " with " + clang + " and llvm-spirv-" + major +
               ", which isn't in PATH: Debian: apt-get install llvm-spirv-" + major +
               "; ANYPLACE_LLVM_SPIRV names another";
      continue;
    }
    path = clang;
    version = identity_of(clang) + ", " + translator + ": " + identity_of(translator);
    out->path = path.c_str();
    out->version = version.c_str();
    return ANYPLACE_STATUS_OK;
  }
  return refuse(ANYPLACE_STATUS_LIBRARY_MISSING, reason);
}

std::string spirv_translator_of(const std::string& clang) { return translator_of(major_of(clang)); }

bool is_clang_14(const std::string& clang) { return major_of(clang) == "14"; }

}  // namespace anyplace::compilers
