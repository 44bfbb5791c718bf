# Copies HEADERS, name@file each, into FOLDER, and writes the sum of their texts there and into OUT, a C++ source (dialect.h).
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE "${FOLDER}")
set(texts)
foreach(header IN LISTS HEADERS)
  string(REGEX MATCH "^([^@]*)@(.*)$" _ "${header}")
  set(name "${CMAKE_MATCH_1}")
  set(file "${CMAKE_MATCH_2}")
  configure_file("${file}" "${FOLDER}/${name}" COPYONLY)
  file(SHA256 "${file}" sum)
  string(APPEND texts "${name} ${sum}\n")
endforeach()
string(SHA256 sum "${texts}")
file(WRITE "${FOLDER}/sum" "${sum}")
file(WRITE "${OUT}" "// Made by copy_headers.cmake.
#include \"compile/dialect.h\"

namespace anyplace::detail {
const std::string_view dialect_sum = \"${sum}\";
}  // namespace anyplace::detail
")
