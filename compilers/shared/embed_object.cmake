# Writes OUT, a C++ source with the bytes of the file OBJECT: anyplace::compilers::NAME, a std::span<const unsigned char>, as HEADER
# declares it.
cmake_minimum_required(VERSION 3.25)
file(READ "${OBJECT}" bytes HEX)
string(REGEX REPLACE "(..)" "0x\\1,\n" bytes "${bytes}")
file(WRITE "${OUT}" "// Made by embed_object.cmake.
#include \"${HEADER}\"

namespace anyplace::compilers {
namespace {
constexpr unsigned char bytes[] = {
${bytes}};
}  // namespace
const std::span<const unsigned char> ${NAME} = bytes;
}  // namespace anyplace::compilers
")
