// SPDX-License-Identifier: Apache-2.0
//
// The words of the programs are those of cmake/AnyplaceKernels.cmake, which says why they are needed. Clang exports no
// kernel here by itself (device_code/spirv.h), so what exports them is put behind the source.
#include "spirv.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "kernel_source.h"
#include "plugin.h"
#include "run_clang.h"
#include "spirv_programs.h"
#include "spirv_source.h"

namespace anyplace::compilers {
namespace {

constexpr std::uint32_t spirv_standard = 20;  ///< device_code/spirv.h is written in it

/// ANYPLACE_COMPILE_DEBUG changes nothing: Clang's -g has no effect for SPIR-V, and what llvm-spirv makes of debug
/// information that is forced is not valid.
std::vector<std::string> clang_words(const anyplace_compile_request& request, const std::string& source_language) {
  std::vector<std::string> words{request.library, "--cuda-device-only", "-DANYPLACE_BARE_DEVICE=1",
                                 "-DANYPLACE_RUN_TIME_SOURCE=1"};
  for (std::string& word : device_words(request, spirv_standard)) words.push_back(std::move(word));
  words.insert(words.end(),
               {"-O1", "-Xclang", "-disable-llvm-passes", "-x", "hip", "--offload=spirv64", "-nogpuinc", "-nogpulib",
                "-Xclang", "-mlink-bitcode-file", "-Xclang", source_language, "-emit-llvm", "-c"});
  if (!is_clang_14(request.library)) words.insert(words.end(), {"-Xclang", "-no-opaque-pointers"});
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

}  // namespace

anyplace_status compile_spirv(const anyplace_compile_request& request, const anyplace_compile_sink& sink) {
  const std::string folder = request.folder;
  const std::string unit = folder + "/unit.cu", language_text = folder + "/source_language.ll",
                    language = folder + "/source_language.bc", dependencies = folder + "/made.d",
                    bitcode = folder + "/made.bc", made = folder + "/made.spv";
  const std::string translator = spirv_translator_of(request.library);
  if (translator.empty()) return refuse(ANYPLACE_STATUS_LIBRARY_MISSING, "llvm-spirv isn't there any more");
  if (!write_file(unit, unit_with_exports(request, sink)) || !write_file(language_text, spirv_source)) {
    return refuse(ANYPLACE_STATUS_BACKEND_FAILED, "can't write below " + folder);
  }
  const std::vector<std::string> to_bitcode{request.library, "--target=spirv64", "-x", "ir", "-emit-llvm", "-c", "-o",
                                            language,        language_text};
  if (compile_by_program(to_bitcode, request, sink) != ANYPLACE_STATUS_OK) {
    return refuse(ANYPLACE_STATUS_BACKEND_FAILED, std::string(request.library) + " makes no bitcode for spirv64");
  }
  std::vector<std::string> words = clang_words(request, language);
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
  return give_image(made, sink);
}

}  // namespace anyplace::compilers
