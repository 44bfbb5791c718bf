# Writes OUT, a C++ source with the texts of HEADERS, name@file each, and their sum (dialect_headers.h).
cmake_minimum_required(VERSION 3.25)
set(entries)
foreach(header IN LISTS HEADERS)
  string(REGEX MATCH "^([^@]*)@(.*)$" _ "${header}")
  set(name "${CMAKE_MATCH_1}")
  file(READ "${CMAKE_MATCH_2}" text)
  # Compilers needn't take literals of more than 65,536 characters, so the text is cut into several.
  string(REPLACE "\n/* ----" ")anyplace\"\nR\"anyplace(\n/* ----" text "${text}")
  string(APPEND entries "    {\"${name}\", R\"anyplace(${text})anyplace\"},\n")
endforeach()
string(SHA256 sum "${entries}")
file(WRITE "${OUT}" "// Made by embed_headers.cmake.
#include \"compile/dialect_headers.h\"

namespace anyplace::detail {
namespace {
constexpr std::pair<const char*, const char*> texts[] = {
${entries}};
}  // namespace
const std::span<const std::pair<const char*, const char*>> dialect_headers = texts;
const std::string_view dialect_sum = \"${sum}\";
}  // namespace anyplace::detail
")
