# Writes OUT, a C++ source that defines the KernelImages NAME with the files that IMAGES names: format@architecture@file each.
# The bytes stand there as numbers of 64 bits in the order BYTE_ORDER (BIG_ENDIAN, else little), an eighth of the tokens that
# a compiler would have to read otherwise.
cmake_minimum_required(VERSION 3.25)
set(digits "([0-9a-f][0-9a-f])")
string(REPEAT "${digits}" 8 eight_bytes)
set(number "0x\\8\\7\\6\\5\\4\\3\\2\\1,\n")
if(BYTE_ORDER STREQUAL "BIG_ENDIAN")
  set(number "0x\\1\\2\\3\\4\\5\\6\\7\\8,\n")
endif()

set(arrays)
set(entries)
set(index 0)
foreach(image IN LISTS IMAGES)
  if(NOT image MATCHES "^([^@]*)@([^@]*)@(.*)$")
    message(FATAL_ERROR "anyplace_add_kernels: '${image}' is not format@architecture@file")
  endif()
  set(format "${CMAKE_MATCH_1}")
  set(architecture "${CMAKE_MATCH_2}")
  set(file "${CMAKE_MATCH_3}")
  if(NOT EXISTS "${file}")
    message(FATAL_ERROR "anyplace_add_kernels: the ${format} image '${file}' of ${NAME} is not there")
  endif()
  file(SIZE "${file}" bytes)
  if(bytes EQUAL 0)
    message(FATAL_ERROR "anyplace_add_kernels: the ${format} image '${file}' of ${NAME} is empty")
  endif()
  file(READ "${file}" hex HEX)
  math(EXPR padding "(8 - ${bytes} % 8) % 8")
  string(REPEAT "00" ${padding} zeros)
  string(REGEX REPLACE "${eight_bytes}" "${number}" numbers "${hex}${zeros}")
  string(APPEND arrays "alignas(64) constexpr std::uint64_t image_${index}[] = {\n${numbers}};\n\n")
  string(APPEND entries "    {\"${format}\", \"${architecture}\", image_${index}, ${bytes}},\n")
  math(EXPR index "${index} + 1")
endforeach()

# Written also when nothing has changed, or it would be older than the images for good.
string(CONFIGURE
"// Made by anyplace_add_kernels.
#include \"@NAME@.h\"

#include <cstdint>

namespace {

@arrays@constexpr anyplace::KernelImage images[] = {
@entries@};

}  // namespace

constinit const anyplace::KernelImages @NAME@(\"@NAME@\", images);
" source @ONLY)
file(WRITE "${OUT}" "${source}")
