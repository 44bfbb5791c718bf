// SPDX-License-Identifier: Apache-2.0
//
// The words of the programs are those of cmake/AnyplaceKernels.cmake, which says why they are needed. Clang exports no
// kernel here by itself (device_code/spirv.h), so what exports them is put behind the source.
#include "spirv.h"

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "kernel_source.h"
#include "plugin.h"
#include "spirv_source.h"

namespace anyplace::compilers {
namespace {

constexpr std::uint32_t spirv_standard = 20;  ///< device_code/spirv.h is written in it

/// What may be a Clang for SPIR-V, the preferred one first.
std::vector<std::string> spirv_clangs() {
  if (const std::optional<std::string> named = named_program("ANYPLACE_KERNEL_CLANG")) return {*named};
  std::vector<std::string> all;
  for (const char* const name : {"clang++", "clang++-15", "clang++-14"}) {
    if (std::string path = find_program(name); !path.empty()) all.push_back(std::move(path));
  }
  return all;
}

/// "14" or "15" for a Clang of that version, which its file tells without being started: /usr/bin/clang++ leads to
/// /usr/lib/llvm-14/bin/clang, or to clang-14. "" for any other.
std::string major_of(const std::string& clang) {
  std::error_code failed;
  const std::string file = std::filesystem::canonical(clang, failed).string();
  for (const char* const major : {"14", "15"}) {
    const std::string number = major;
    const bool is_in_folder =
        file.find("/llvm-" + number + "/") != file.npos || file.find("/llvm" + number + "/") != file.npos;
    if (is_in_folder || file.ends_with("/clang-" + number) || file.ends_with("/clang++-" + number)) return number;
  }
  return "";
}

/// The llvm-spirv for Clang's bitcode; "" if there is none.
std::string translator_of(const std::string& major) {
  if (const std::optional<std::string> named = named_program("ANYPLACE_LLVM_SPIRV")) return *named;
  std::string path = find_program("llvm-spirv-" + major);
  return path.empty() ? find_program("llvm-spirv") : path;
}

/// ANYPLACE_COMPILE_DEBUG changes nothing: Clang's -g has no effect for SPIR-V, and what llvm-spirv makes of debug
/// information that is forced is not valid.
std::vector<std::string> clang_words(const anyplace_compile_request& request, const std::string& source_language) {
  std::vector<std::string> words{request.library, "--cuda-device-only", "-DANYPLACE_BARE_DEVICE=1",
                                 "-DANYPLACE_RUN_TIME_SOURCE=1"};
  for (std::string& word : common_words(request, spirv_standard)) words.push_back(std::move(word));
  words.insert(words.end(),
               {"-O1", "-Xclang", "-disable-llvm-passes", "-x", "hip", "--offload=spirv64", "-nogpuinc", "-nogpulib",
                "-Xclang", "-mlink-bitcode-file", "-Xclang", source_language, "-emit-llvm", "-c"});
  if (major_of(request.library) != "14") words.insert(words.end(), {"-Xclang", "-no-opaque-pointers"});
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

anyplace_status spirv_library(anyplace_compiler_library* out) {
  static thread_local std::string path, version;
  const std::vector<std::string> clangs = spirv_clangs();
  std::string reason = "SPIR-V is made with Clang 14 or 15, and " +
                       (clangs.empty() ? std::string("there is no clang++ in PATH") : clangs.front() + " is neither") +
                       ": Debian: apt-get install clang-14 llvm-spirv-14; ANYPLACE_KERNEL_CLANG names another";
  for (const std::string& clang : clangs) {
    const std::string major = major_of(clang);
    if (major.empty()) continue;
    const std::string translator = translator_of(major);
    if (translator.empty()) {
      reason = "SPIR-V of what " + clang + " makes needs llvm-spirv-" + major +
               ", which isn't in PATH: Debian: apt-get install llvm-spirv-" + major +
               "; ANYPLACE_LLVM_SPIRV names another";
      continue;
    }
    path = clang;
    version = identity_of(clang) + ", " + translator + ": " + identity_of(translator);
    out->path = path.c_str();
    out->version = version.c_str();
    return ANYPLACE_STATUS_OK;
  }
  return refuse(ANYPLACE_STATUS_LIBRARY_MISSING, reason);
}

anyplace_status compile_spirv(const anyplace_compile_request& request, const anyplace_compile_sink& sink) {
  const std::string folder = request.folder;
  const std::string unit = folder + "/unit.cu", language_text = folder + "/source_language.ll",
                    language = folder + "/source_language.bc", dependencies = folder + "/made.d",
                    bitcode = folder + "/made.bc", made = folder + "/made.spv";
  const std::string translator = translator_of(major_of(request.library));
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
  if (const anyplace_status status = compile_by_program(words, request, sink)) return status;
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
  sink.image(sink.context, image.data(), image.size());
  return ANYPLACE_STATUS_OK;
}

}  // namespace anyplace::compilers
