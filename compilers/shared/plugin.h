// SPDX-License-Identifier: Apache-2.0
//
// What the compilers that are plugins here share: the table's texts, the request as C++, and programs that they run.
// Thread safety: everything may be called from any thread.
#pragma once

#include <cstdint>
#include <exception>
#include <new>
#include <optional>
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

/// An entry of the table that throws nothing through C.
template <auto entry, class... Args>
anyplace_status guard(Args... args) noexcept {
  try {
    return entry(args...);
  } catch (const std::bad_alloc&) {
    return ANYPLACE_STATUS_OUT_OF_MEMORY;
  } catch (const std::exception& exception) {
    return refuse(ANYPLACE_STATUS_INTERNAL, exception.what());
  }
}
template <auto entry, class Signature = decltype(entry)>
struct Guarded;
template <auto entry, class... Args>
struct Guarded<entry, anyplace_status (*)(Args...)> {
  static constexpr anyplace_status (*function)(Args...) noexcept = guard<entry, Args...>;
};
template <auto entry>
inline constexpr auto guarded = Guarded<entry>::function;

/// Whether it is a file, or a link to one.
bool is_file(const std::string& path);
/// The path of a program in PATH; "" if there is none. With raised privileges PATH is /usr/bin:/bin.
std::string find_program(const std::string& name);
/// The program that a variable names, by its path or by its name in PATH; "" if there is none of that name. No value
/// means that the variable isn't set, or can't be followed because of raised privileges.
std::optional<std::string> named_program(const char* variable);
/// What a compiler is, for the cache: its file's size and time of change, and the variables that lead it to other
/// files.
std::string identity_of(const std::string& path);

/// Runs a program, waits for it, and gives what it says to the sink's log. Returns its exit status, 128 + the signal
/// that ended it, or 127 if it can't be started.
int run_program(const std::vector<std::string>& words, const std::string& folder, const anyplace_compile_sink& sink);
/// The same for a compiler: COMPILE_FAILED if it isn't content, and a message if it can't be started or crashes.
anyplace_status compile_by_program(const std::vector<std::string>& words, const anyplace_compile_request& request,
                                   const anyplace_compile_sink& sink);

/// Reads and writes a file at once. False, and an empty text, if that can't be done.
bool read_file(const std::string& path, std::string& bytes);
bool write_file(const std::string& path, std::string_view bytes);
/// Gives the sink the image that a program wrote there.
anyplace_status give_image(const std::string& path, const anyplace_compile_sink& sink);

/// Calls sink.header for what a dependency file (-MD) of a compiler names, except the request's own files.
void report_headers(const std::string& dependencies, const anyplace_compile_request& request,
                    const anyplace_compile_sink& sink);

/// The text as it stands between the quotes of a literal.
std::string in_literal(std::string_view text);

/// The words -I and -D of the request, as every compiler but NVRTC has them.
std::vector<std::string> common_words(const anyplace_compile_request& request, std::uint32_t least_standard = 17);
/// The same for a device without a standard library: <math.h> and <cmath> are the dialect's.
std::vector<std::string> device_words(const anyplace_compile_request& request, std::uint32_t least_standard = 17);

}  // namespace anyplace::compilers
