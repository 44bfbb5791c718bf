// SPDX-License-Identifier: Apache-2.0
#include "spirv_programs.h"

#include <charconv>
#include <filesystem>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "plugin.h"

namespace anyplace::compilers {
namespace {

constexpr int oldest_with_spirv = 14;

/// What may be a Clang for SPIR-V, the preferred one first.
std::vector<std::string> spirv_clangs(int newest) {
  if (const std::optional<std::string> named = named_program("ANYPLACE_KERNEL_CLANG")) return {*named};
  std::vector<std::string> all;
  if (std::string path = find_program("clang++"); !path.empty()) all.push_back(std::move(path));
  for (int major = newest; major >= oldest_with_spirv; --major) {
    if (std::string path = find_program("clang++-" + std::to_string(major)); !path.empty()) {
      all.push_back(std::move(path));
    }
  }
  return all;
}

/// The version of a Clang, which its file tells without being started: /usr/bin/clang++ leads to
/// /usr/lib/llvm-14/bin/clang, or to clang-14. 0 if it doesn't.
int major_of(const std::string& clang) {
  std::error_code failed;
  const std::string file = std::filesystem::canonical(clang, failed).string();
  for (const std::string_view before : {"/llvm-", "/llvm", "/clang-", "/clang++-"}) {
    for (std::size_t at = 0; (at = file.find(before, at)) != file.npos; at += before.size()) {
      int major = 0;
      const char* const end = file.data() + file.size();
      const auto [behind, error] = std::from_chars(file.data() + at + before.size(), end, major);
      if (error == std::errc() && (behind == end || *behind == '/')) return major;
    }
  }
  return 0;
}

/// The llvm-spirv for Clang's bitcode; "" if there is none.
std::string translator_of(int major) {
  if (const std::optional<std::string> named = named_program("ANYPLACE_LLVM_SPIRV")) return *named;
  std::string path = find_program("llvm-spirv-" + std::to_string(major));
  return path.empty() ? find_program("llvm-spirv") : path;
}

}  // namespace

anyplace_status spirv_programs(const std::string& what, int newest, anyplace_compiler_library* out) {
  static thread_local std::string path, version;
  const std::vector<std::string> clangs = spirv_clangs(newest);
  const std::string found = clangs.empty()           ? "there is no clang++ in PATH"
                            : clangs.front().empty() ? "ANYPLACE_KERNEL_CLANG names no program"
                                                     : clangs.front() + " is none";
  std::string reason = what + " with Clang 14 to " + std::to_string(newest) + ", and " + found +
                       ": Debian: apt-get install clang-14 llvm-spirv-14 (Debian 13: clang-19 llvm-spirv-19); "
                       "ANYPLACE_KERNEL_CLANG names another";
  for (const std::string& clang : clangs) {
    const int major = major_of(clang);
    if (major < oldest_with_spirv || major > newest) continue;
    const std::string translator = translator_of(major);
    if (translator.empty()) {
      const std::string needed = "llvm-spirv-" + std::to_string(major);
      reason = what + " with " + clang + " and " + needed + ", which isn't in PATH: Debian: apt-get install " + needed +
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

int clang_major(const std::string& clang) { return major_of(clang); }

std::string spirv_translator_of(const std::string& clang) { return translator_of(major_of(clang)); }

std::vector<std::string> typed_pointer_words(const std::string& clang) {
  const int major = major_of(clang);
  if (major != 15 && major != 16) return {};
  return {"-Xclang", "-no-opaque-pointers"};
}

}  // namespace anyplace::compilers
