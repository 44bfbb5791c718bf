# Writes OUT, a C++ source with the bytes of the object file OBJECT (host_threads.h).
cmake_minimum_required(VERSION 3.25)
file(READ "${OBJECT}" bytes HEX)
string(REGEX REPLACE "(..)" "0x\\1,\n" bytes "${bytes}")
file(WRITE "${OUT}" "// Made by embed_object.cmake.
#include \"host_threads.h\"

namespace anyplace::compilers {
namespace {
constexpr unsigned char bytes[] = {
${bytes}};
}  // namespace
const std::span<const unsigned char> host_threads_object = bytes;
}  // namespace anyplace::compilers
")
