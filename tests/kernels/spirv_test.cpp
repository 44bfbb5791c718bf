// SPDX-License-Identifier: Apache-2.0
// Which parameter of a kernel in SPIR-V is its dynamic shared memory. The image is assembled by hand: each instruction
// has its text beside it.
#include "kernels/spirv.h"

#include <catch2/catch.hpp>
#include <cstdint>
#include <cstring>
#include <string>

namespace spirv_test {

using anyplace::detail::shared_arguments_in_spirv;
using anyplace::detail::spirv_needs_doubles;

namespace {

using Words = std::vector<std::uint32_t>;

/// An instruction's first word.
constexpr std::uint32_t op(std::uint32_t words, std::uint32_t code) { return words << 16 | code; }

/// Two kernels: plain(global uint*) and shares(global uint*, local uint*).
Words two_kernels() {
  return {
      0x07230203, 0x00010200, 0,  20,         0,           // SPIR-V 1.2, ids below 20
      op(2, 17),  6,                                       // OpCapability Kernel
      op(5, 15),  6,          10, 0x69616c70, 0x0000006e,  // OpEntryPoint Kernel %10 "plain"
      op(5, 15),  6,          11, 0x72616873, 0x00007365,  // OpEntryPoint Kernel %11 "shares"
      op(2, 19),  1,                                       // %1 = OpTypeVoid
      op(4, 21),  2,          32, 0,                       // %2 = OpTypeInt 32 0
      op(4, 32),  3,          5,  2,                       // %3 = OpTypePointer CrossWorkgroup %2
      op(4, 32),  4,          4,  2,                       // %4 = OpTypePointer Workgroup %2
      op(5, 54),  1,          10, 0,          5,           // %10 = OpFunction %1 None %5
      op(3, 55),  3,          12,                          // %12 = OpFunctionParameter %3
      op(1, 56),                                           // OpFunctionEnd
      op(5, 54),  1,          11, 0,          6,           // %11 = OpFunction %1 None %6
      op(3, 55),  3,          13,                          // %13 = OpFunctionParameter %3
      op(3, 55),  4,          14,                          // %14 = OpFunctionParameter %4
      op(1, 56),                                           // OpFunctionEnd
  };
}

std::string found_in(const Words& words) {
  std::string all;
  for (const auto& kernel : shared_arguments_in_spirv(std::as_bytes(std::span(words)))) {
    all += kernel.name + ":" + std::to_string(kernel.shared_argument) + " ";
  }
  return all;
}

}  // namespace

TEST_CASE("The parameter that points to shared memory is found in either byte order") {
  Words words = two_kernels();
  CHECK(found_in(words) == "shares:1 ");
  for (std::uint32_t& word : words) word = __builtin_bswap32(word);
  CHECK(found_in(words) == "shares:1 ");
}

TEST_CASE("Of two parameters that point to shared memory none is told from the other") {
  Words words = two_kernels();
  words[words.size() - 6] = 4;  // the type of %13
  CHECK(found_in(words).empty());
}

TEST_CASE("Whether doubles are computed with is what the image declares") {
  Words words = two_kernels();
  const auto needs = [&] { return spirv_needs_doubles(std::as_bytes(std::span(words))); };
  CHECK(!needs());
  words.insert(words.begin() + 5, {op(2, 17), 10});  // OpCapability Float64
  CHECK(needs());
  words[6] = 9;  // Float16
  CHECK(!needs());
}

TEST_CASE("Only SPIR-V 1 is read") {
  Words words = two_kernels();
  words[1] = 0x00ff0000;
  CHECK(found_in(words).empty());
}

TEST_CASE("What is cut off or damaged is read no further than its end") {
  const Words words = two_kernels();
  for (std::size_t bytes = 0; bytes < words.size() * 4; ++bytes) {
    std::vector<std::byte> part(bytes);  // of its own, so that a sanitizer sees a read beyond it
    std::memcpy(part.data(), words.data(), bytes);
    CHECK(shared_arguments_in_spirv(part).size() <= 1);
  }
  for (std::size_t i = 0; i < words.size(); ++i) {
    for (const std::uint32_t value : {0u, 0xffffffffu, 0xffff000fu}) {
      Words damaged = words;
      damaged[i] = value;
      CHECK(found_in(damaged).size() <= 2 * std::string("shares:1 ").size());
    }
  }
}

}  // namespace spirv_test
