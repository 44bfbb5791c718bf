// SPDX-License-Identifier: Apache-2.0
// What the core takes bytes for. Every image that is cut off anywhere is read no further than it goes.
#include "kernels/image_format.h"

#include <anyplace/backend/abi.h>

#include <catch2/catch.hpp>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

namespace image_format_test {

using anyplace::detail::describe_formats;
using anyplace::detail::identify_image;
using namespace std::string_view_literals;

namespace {

/// In memory of exactly that size, so that a memory checker sees a read beyond it.
anyplace::detail::ImageFormat identify(std::string_view text) {
  const auto bytes = std::make_unique<std::byte[]>(text.size());
  if (!text.empty()) std::memcpy(bytes.get(), text.data(), text.size());
  return identify_image({bytes.get(), text.size()});
}

std::string elf(bool little, std::uint8_t bits, std::uint16_t type, std::uint16_t machine) {
  std::string image(64, '\0');
  std::memcpy(image.data(),
              "\x7f"
              "ELF",
              4);
  image[4] = bits == 64 ? 2 : 1;
  image[5] = little ? 1 : 2;
  const auto put = [&](std::size_t at, std::uint16_t value) {
    image[at + (little ? 0 : 1)] = static_cast<char>(value & 0xff);
    image[at + (little ? 1 : 0)] = static_cast<char>(value >> 8);
  };
  put(16, type);
  put(18, machine);
  return image;
}

constexpr std::uint16_t host_machine =
#if defined(__x86_64__)
    62;
#elif defined(__aarch64__)
    183;
#else
    0;
#endif

}  // namespace

TEST_CASE("Each known format is told by its first bytes") {
  CHECK(identify(".version 8.0\n.target sm_90a\n").format == ANYPLACE_IMAGE_PTX);
  CHECK(identify("//\n// Generated\n//\n\n.version 8.0\r\n.target sm_52, debug\n.address_size 64\0"sv).format ==
        ANYPLACE_IMAGE_PTX);
  CHECK(identify(elf(true, 64, 2, 190)).format == ANYPLACE_IMAGE_CUBIN);
  CHECK(identify("\x50\xed\x55\xba"sv).format == ANYPLACE_IMAGE_FATBIN);
  CHECK(identify(elf(true, 64, 3, 224)).format == ANYPLACE_IMAGE_HSACO);
  CHECK(identify("__CLANG_OFFLOAD_BUNDLE__"sv).format == ANYPLACE_IMAGE_HSACO);
  CHECK(identify("\x03\x02\x23\x07"sv).format == ANYPLACE_IMAGE_SPIRV);
  CHECK(identify("\x07\x23\x02\x03"sv).format == ANYPLACE_IMAGE_SPIRV);
  CHECK(identify("kernel void f(global int* x) {}").format == ANYPLACE_IMAGE_OPENCL_C);
  CHECK(identify("/* \xc3\xbc */ __kernel void f(__global int* x) {}\n").format == ANYPLACE_IMAGE_OPENCL_C);
}

TEST_CASE("A shared object counts only for the host's own machine") {
  if (host_machine != 0) {
    CHECK(identify(elf(true, 64, 3, host_machine)).format == ANYPLACE_IMAGE_SHARED_OBJECT);
    CHECK(identify(elf(false, 64, 3, host_machine)).format == 0);
    CHECK(identify(elf(true, 32, 3, host_machine)).format == 0);
    CHECK(identify(elf(true, 64, 1, host_machine)).format == 0);
    CHECK(identify(elf(true, 64, 2, host_machine)).format == 0);
  }
  CHECK_THAT(identify(elf(false, 64, 3, 22)).description, Catch::Contains("s390x") && Catch::Contains("shared object"));
  CHECK_THAT(identify(elf(true, 64, 1, 243)).description, Catch::Contains("riscv") && Catch::Contains("object file"));
  CHECK_THAT(identify(elf(true, 64, 2, 40000)).description, Catch::Contains("40000") && Catch::Contains("program"));
}

TEST_CASE("What is no image says what it is") {
  CHECK(identify("").format == 0);
  CHECK_THAT(identify("").description, Catch::Contains("empty"));
  CHECK_THAT(identify("BC\xc0\xde"sv).description, Catch::Contains("bitcode"));
  CHECK_THAT(identify("!<arch>\nfoo").description, Catch::Contains("static library"));
  CHECK_THAT(identify("mykernels and kernel_x").description, Catch::Contains("text"));
  CHECK_THAT(identify(".version 8.0").description, Catch::Contains("text"));
  CHECK_THAT(identify("\0"sv).description, Catch::Contains("begins with 00"));
  CHECK_THAT(identify("\xff\xfe\x00\x01"sv).description, Catch::Contains("ff fe 00 01"));
  CHECK(identify("kernel\0void"sv).format == 0);
}

TEST_CASE("An image that is cut off anywhere is read no further") {
  const std::string images[] = {elf(true, 64, 3, host_machine),          ".version 8.0\n.target sm_90\n",
                                std::string("__CLANG_OFFLOAD_BUNDLE__"), std::string("\x03\x02\x23\x07"),
                                std::string("\x50\xed\x55\xba"),         "__kernel void f() {}"};
  for (const std::string& image : images) {
    for (std::size_t size = 0; size < image.size(); ++size) {
      CHECK_FALSE(identify(std::string_view(image).substr(0, size)).description.empty());
    }
  }
}

TEST_CASE("A device's formats are listed by what they are") {
  CHECK(describe_formats(0) == "no image at all");
  CHECK(describe_formats(1ull << ANYPLACE_IMAGE_SPIRV) == "SPIR-V");
  CHECK_THAT(describe_formats(1ull << ANYPLACE_IMAGE_PTX | 1ull << ANYPLACE_IMAGE_CUBIN),
             Catch::Contains("PTX") && Catch::Contains(", or ") && Catch::Contains("cubin"));
}

}  // namespace image_format_test
