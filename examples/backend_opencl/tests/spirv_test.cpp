// SPDX-License-Identifier: Apache-2.0
//
// Modules of SPIR-V, where the driver takes it. The image is assembled by hand: each instruction has its text beside
// it.
#include <algorithm>
#include <cstring>
#include <span>

#include "../src/spirv.h"
#include "support.h"

namespace {

using Words = std::vector<std::uint32_t>;

/// An instruction's first word.
constexpr std::uint32_t op(std::uint32_t words, std::uint32_t code) { return words << 16 | code; }

/// __kernel void store(__global uint* to, uint value, __local uint* unused) { to[0] = value; }
Words store_kernel() {
  return {
      0x07230203, 0x00010000, 0,  11,         0,              // SPIR-V 1.0, ids below 11
      op(2, 17),  4,                                          // OpCapability Addresses
      op(2, 17),  6,                                          // OpCapability Kernel
      op(3, 14),  2,          2,                              // OpMemoryModel Physical64 OpenCL
      op(5, 15),  6,          5,  0x726f7473, 0x00000065,     // OpEntryPoint Kernel %5 "store"
      op(2, 19),  1,                                          // %1 = OpTypeVoid
      op(4, 21),  2,          32, 0,                          // %2 = OpTypeInt 32 0
      op(4, 32),  3,          5,  2,                          // %3 = OpTypePointer CrossWorkgroup %2
      op(4, 32),  9,          4,  2,                          // %9 = OpTypePointer Workgroup %2
      op(6, 33),  4,          1,  3,          2,          9,  // %4 = OpTypeFunction %1 %3 %2 %9
      op(5, 54),  1,          5,  0,          4,              // %5 = OpFunction %1 None %4
      op(3, 55),  3,          6,                              // %6 = OpFunctionParameter %3
      op(3, 55),  2,          7,                              // %7 = OpFunctionParameter %2
      op(3, 55),  9,          10,                             // %10 = OpFunctionParameter %9
      op(2, 248), 8,                                          // %8 = OpLabel
      op(5, 62),  6,          7,  2,          4,              // OpStore %6 %7 Aligned 4
      op(1, 253),                                             // OpReturn
      op(1, 56),                                              // OpFunctionEnd
  };
}

bool takes_spirv() {
  const std::vector<std::string> formats = device().properties().image_formats;
  return std::find(formats.begin(), formats.end(), "spirv") != formats.end();
}

anyplace::Module load(const Words& words) { return anyplace::Module(device(), std::as_bytes(std::span(words))); }

}  // namespace

TEST_CASE("Given SPIR-V when its kernels are read then each parameter is told from the others in either byte order") {
  using opencl_backend::Parameter;
  const std::vector<Parameter> expected = {Parameter::address, Parameter::value, Parameter::shared};
  Words words = store_kernel();
  for (int order = 0; order < 2; ++order) {
    const auto kernels = opencl_backend::spirv_kernels(words.data(), words.size() * 4);
    REQUIRE(kernels.size() == 1);
    CHECK(kernels.at("store") == expected);
    for (std::uint32_t& word : words) word = __builtin_bswap32(word);
  }
}

TEST_CASE("Given SPIR-V that is cut off or damaged when its kernels are read then nothing beyond it is") {
  const Words words = store_kernel();
  for (std::size_t bytes = 0; bytes < words.size() * 4; ++bytes) {
    std::vector<char> part(bytes);  // of its own, so that a sanitizer sees a read beyond it
    std::memcpy(part.data(), words.data(), bytes);
    CHECK(opencl_backend::spirv_kernels(part.data(), bytes).size() <= 1);
  }
  for (std::size_t i = 0; i < words.size(); ++i) {
    for (const std::uint32_t value : {0u, 0xffffffffu, 0xffff000fu}) {
      Words damaged = words;
      damaged[i] = value;
      CHECK(opencl_backend::spirv_kernels(damaged.data(), damaged.size() * 4).size() <= 1);
    }
  }
}

TEST_CASE("Given SPIR-V when loaded where the driver takes it then its kernel runs and elsewhere it is refused") {
  if (!takes_spirv()) {
    const anyplace::Error error = error_of([] { load(store_kernel()); });
    CHECK(error.code() == anyplace::ErrorCode::invalid_image);
    CHECK_THAT(error.what(), Catch::Contains("SPIR-V") && Catch::Contains("OpenCL C"));
    return;
  }
  const anyplace::Device on = device();
  const anyplace::Stream stream(on);
  const anyplace::Buffer to(stream, 8);
  const anyplace::Module module = load(store_kernel());
  const anyplace::KernelView store = module.kernel("store");
  stream.memset8(to, 0);
  stream.launch(store, {1, 1, 64}, to.sub(4), 42u);
  CHECK(read(stream, to) == std::vector<std::uint32_t>{0, 42});
  using anyplace::ErrorCode;
  CHECK(error_of([&] { stream.launch(store, {1, 1}, to); }).code() == ErrorCode::invalid_argument);
  CHECK(error_of([&] { stream.launch(store, {1, 1}, 1u, 1u); }).code() == ErrorCode::invalid_argument);
  CHECK(error_of([&] { static_cast<void>(module.kernel("nothing")); }).code() == ErrorCode::no_such_kernel);
}

TEST_CASE("Given SPIR-V that is cut off when loaded then it is an invalid image with what is wrong") {
  const Words whole = store_kernel();
  for (std::size_t words = 1; words < whole.size(); ++words) {
    CHECK_FALSE(opencl_backend::spirv_fault(whole.data(), words * 4).empty());
  }
  CHECK_FALSE(opencl_backend::spirv_fault(whole.data(), whole.size() * 4 - 1).empty());
  CHECK(opencl_backend::spirv_fault(whole.data(), whole.size() * 4).empty());
  const anyplace::Error error = error_of([&] { load(Words(whole.begin(), whole.end() - 1)); });
  CHECK(error.code() == anyplace::ErrorCode::invalid_image);
  CHECK_THAT(error.what(), Catch::Contains(takes_spirv() ? "no end" : "OpenCL C"));
}

TEST_CASE("Given SPIR-V that the driver refuses when loaded then its words are in the error and the device goes on") {
  if (!takes_spirv()) return;  // how such a device refuses is a case above
  Words words = store_kernel();
  words[8] = 0x7ffe;  // no such capability
  const anyplace::Error error = error_of([&] { load(words); });
  INFO(error.what());
  CHECK(error.code() == anyplace::ErrorCode::invalid_image);
  CHECK_THAT(error.what(), Catch::Contains("SPIR-V 1.0") && Catch::Contains("CL_"));
  const anyplace::Device on = device();
  const anyplace::Stream stream(on);
  const anyplace::Buffer to(stream, 4);
  stream.memset8(to, 1);
  CHECK(read(stream, to) == std::vector<std::uint32_t>{0x01010101});
}
