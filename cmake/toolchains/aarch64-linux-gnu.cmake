# Builds for arm64 with Debian's cross compiler (crossbuild-essential-arm64) and the libraries of the architecture arm64:
#
#   cmake --preset release --toolchain cmake/toolchains/aarch64-linux-gnu.cmake
#
# Programs of the build run in qemu-aarch64 (Debian: qemu-user) if it is there, so that the manual page is made and the tests' cases
# are known. -DCMAKE_CROSSCOMPILING_EMULATOR= goes without.
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)

# pkg-config would answer for this machine's own libraries.
set(ENV{PKG_CONFIG_LIBDIR} /usr/lib/aarch64-linux-gnu/pkgconfig:/usr/share/pkgconfig)

find_program(ANYPLACE_QEMU_AARCH64 NAMES qemu-aarch64 qemu-aarch64-static DOC "What runs arm64 programs on this machine")
mark_as_advanced(ANYPLACE_QEMU_AARCH64)
if(ANYPLACE_QEMU_AARCH64 AND NOT DEFINED CMAKE_CROSSCOMPILING_EMULATOR)
  set(CMAKE_CROSSCOMPILING_EMULATOR ${ANYPLACE_QEMU_AARCH64})
endif()
