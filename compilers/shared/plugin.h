// SPDX-License-Identifier: Apache-2.0
//
// What the compilers that are plugins here share: the table's texts, the request as C++, and programs that they run. A
// plugin runs these in anyplace_compile_helper, which has one thread.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "anyplace/backend/compiler.h"

namespace anyplace::compilers {

extern const anyplace_compiler_host* host;  ///< set by fill_table()

/// Leaves the message, and returns the status.
anyplace_status refuse(anyplace_status status, const std::string& text) noexcept;

/// Fills what every table has. Returns OK, or why the plugin can't be used.
anyplace_status fill_table(const anyplace_compiler_host* given, anyplace_compiler_table& out, const char* name,
                           const char* description, std::uint32_t formats, std::uint32_t rank) noexcept;

inline std::span<const char* const> defines_of(const anyplace_compile_request& request) {
  return {request.defines, request.define_count};
}
inline std::span<const char* const> includes_of(const anyplace_compile_request& request) {
  return {request.includes, request.include_count};
}
inline std::span<const char* const> expressions_of(const anyplace_compile_request& request) {
  return {request.expressions, request.expression_count};
}
inline std::span<const char* const> options_of(const anyplace_compile_request& request) {
  return {request.options, request.option_count};
}
inline bool has_flag(const anyplace_compile_request& request, std::uint32_t flag) {
  return (request.flags & flag) != 0;
}

/// The path of a program in PATH; "" if there is none. With raised privileges PATH is /usr/bin:/bin.
std::string find_program(const std::string& name);
/// What a program is, for the cache: its path, size and time of change.
std::string identity_of(const std::string& path);

/// Runs a program, waits for it, and gives what it says to the sink's log. Returns its exit status, 128 + the signal
/// that ended it, or 127 if it can't be started.
int run_program(const std::vector<std::string>& words, const std::string& folder, const anyplace_compile_sink& sink);

/// Reads and writes a file at once. False, and an empty text, if that can't be done.
bool read_file(const std::string& path, std::string& bytes);
bool write_file(const std::string& path, std::string_view bytes);

/// Calls sink.header for what a dependency file (-MD) of a compiler names, except the request's own files.
void report_headers(const std::string& dependencies, const anyplace_compile_request& request,
                    const anyplace_compile_sink& sink);

/// The words -I and -D of the request, as every compiler but NVRTC has them.
std::vector<std::string> common_words(const anyplace_compile_request& request, std::uint32_t least_standard = 17);

}  // namespace anyplace::compilers
