// SPDX-License-Identifier: Apache-2.0
// Pieces of LLVM's text for programs (.ll): types, names and lists, as far as llvm-spirv writes them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace anyplace::compilers {

/// A parameter of a function.
struct IrParameter {
  std::string type;        ///< "i32", "<4 x float>", "%struct.S*" or "ptr", without address spaces
  std::string attributes;  ///< "byval(%struct.S) align 8"
  bool is_local = false;   ///< it points to local memory, address space 3
};

/// The first line of a function: `define spir_kernel void @name(i32 %0) #0 {`, or a `declare`.
struct IrFunction {
  std::string result;  ///< its type, without address spaces
  std::string name;    ///< with the @, and with quotes where LLVM writes them
  std::vector<IrParameter> parameters;
  bool is_kernel = false;
  bool is_variadic = false;
};
IrFunction read_function(std::string_view line);

/// Where the quoted text that begins at `at` ends: behind the second quote, or at the text's end.
std::size_t end_of_quoted(std::string_view text, std::size_t at);
/// The name that begins with the @ at `at`.
std::string_view global_name_at(std::string_view text, std::size_t at);
/// Puts text behind a global name: @"a b" and "_more" are @"a b_more".
std::string with_suffix(const std::string& name, std::string_view suffix);
/// Puts text in front of it: @"a b" and "more." are @"more.a b".
std::string with_prefix(const std::string& name, std::string_view prefix);
/// The text without ` addrspace(N)`.
std::string without_address_spaces(std::string_view text);
/// The text with `ptr` for each pointer that is written with its type: "i8**" and "void (i8**)*" are "ptr", and
/// "@llvm.memcpy.p0i8.p0i8.i64" is "@llvm.memcpy.p0.p0.i64". So LLVM writes and reads them from version 16 on.
std::string without_pointer_types(std::string_view text);

/// 4 for "<4 x float>"; 0 for what is no vector.
unsigned lanes_of(std::string_view type);
/// "float" for "<4 x float>".
std::string element_of(std::string_view type);

}  // namespace anyplace::compilers
