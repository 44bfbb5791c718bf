// SPDX-License-Identifier: Apache-2.0
//
// The words of the programs are those of cmake/kernels/compilers.cmake, which says why they are needed. Clang exports
// no kernel here by itself (device_code/spirv.h), so what exports them is put behind the source.
#include "spirv.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernel_source.h"
#include "plugin.h"
#include "run_clang.h"
#include "spirv_programs.h"

namespace anyplace::compilers {
namespace {

constexpr std::uint32_t spirv_standard = 20;  ///< device_code/spirv.h is written in it

/// ANYPLACE_COMPILE_DEBUG changes nothing: Clang's -g has no effect for SPIR-V, and what llvm-spirv makes of debug
/// information that is forced is not valid.
std::vector<std::string> clang_words(const anyplace_compile_request& request) {
  std::vector<std::string> words{request.library, "--cuda-device-only", "-DANYPLACE_BARE_DEVICE=1",
                                 "-DANYPLACE_RUN_TIME_SOURCE=1"};
  for (std::string& word : device_words(request, spirv_standard)) words.push_back(std::move(word));
  words.insert(words.end(), {"-O1", "-Xclang", "-disable-llvm-passes", "-x", "hip", "--offload=spirv64", "-nogpuinc",
                             "-nogpulib", "-emit-llvm", "-c"});
  for (std::string& word : typed_pointer_words(request.library)) words.push_back(std::move(word));
  if (has_flag(request, ANYPLACE_COMPILE_FAST_MATH)) words.push_back("-ffast-math");
  for (const char* const option : options_of(request)) words.push_back(option);
  return words;
}

/// Whether drivers may fuse a multiplication and an addition, as llvm-spirv has it. They do unless Clang is told not
/// to.
std::string contraction_of(const anyplace_compile_request& request) {
  const auto options = options_of(request);
  const bool is_off = std::find(options.begin(), options.end(), std::string_view("-ffp-contract=off")) != options.end();
  return is_off ? "off" : "fast";
}

/// Has the image say that its source is OpenCL C++, which Intel's runtime for processors wants for atomic functions on
/// pointers of any address space. A program that is built links cmake/kernels/spirv_source.ll for that, to the same
/// bytes; here it would be one more start of Clang. Returns false if the image has no such place, so is no SPIR-V.
bool say_source_language(std::string& image) {
  constexpr std::uint32_t magic = 0x07230203, op_source = 3, opencl_cpp[] = {4, 100000};
  constexpr std::size_t word_bytes = sizeof(std::uint32_t), header = 5, operands = sizeof(opencl_cpp) / word_bytes;
  const std::size_t count = image.size() / word_bytes;
  const auto word = [&](std::size_t at) {
    std::uint32_t value = 0;
    std::memcpy(&value, image.data() + at * word_bytes, word_bytes);
    return value;
  };
  if (count < header || word(0) != magic) return false;
  for (std::size_t at = header; at < count && word(at) >> 16 != 0; at += word(at) >> 16) {
    if ((word(at) & 0xffff) != op_source) continue;
    if (at + operands >= count) return false;
    std::memcpy(image.data() + (at + 1) * word_bytes, opencl_cpp, sizeof(opencl_cpp));
    return true;
  }
  return false;
}

}  // namespace

anyplace_status compile_spirv(const anyplace_compile_request& request, const anyplace_compile_sink& sink) {
  const std::string folder = request.folder;
  const std::string unit = folder + "/unit.cu", dependencies = folder + "/made.d", bitcode = folder + "/made.bc",
                    made = folder + "/made.spv";
  const std::string translator = spirv_translator_of(request.library);
  if (translator.empty()) return refuse(ANYPLACE_STATUS_LIBRARY_MISSING, "llvm-spirv isn't there any more");
  if (!write_file(unit, unit_with_exports(request, sink))) {
    return refuse(ANYPLACE_STATUS_BACKEND_FAILED, "can't write below " + folder);
  }
  std::vector<std::string> words = clang_words(request);
  words.insert(words.end(), {"-MD", "-MF", dependencies, "-o", bitcode, unit});
  if (const anyplace_status status = run_clang(words, request, sink, "SPIR-V")) return status;
  report_headers(dependencies, request, sink);
  const std::vector<std::string> translate{
      translator, "--spirv-max-version=1.2", "--spirv-fp-contract=" + contraction_of(request), "-o", made, bitcode};
  if (const anyplace_status status = compile_by_program(translate, request, sink)) {
    const std::string text = "The kernels use something that SPIR-V can't have, says " + translator + ".\n";
    sink.log(sink.context, text.data(), text.size());
    return status;
  }
  std::string image;
  if (!read_file(made, image)) return refuse(ANYPLACE_STATUS_BACKEND_FAILED, "can't read " + made);
  if (!say_source_language(image)) {
    return refuse(ANYPLACE_STATUS_BACKEND_FAILED, "what " + translator + " made is no SPIR-V with an OpSource in it");
  }
  sink.image(sink.context, image.data(), image.size());
  return ANYPLACE_STATUS_OK;
}

}  // namespace anyplace::compilers
