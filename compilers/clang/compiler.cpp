// SPDX-License-Identifier: Apache-2.0
//
// The compiler "clang": Clang alone, without a vendor's headers, makes PTX, with lld a code object, and with llvm-spirv
// SPIR-V (spirv.h). It runs as a program. ANYPLACE_KERNEL_CLANG names another one than the newest clang++ in PATH.
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "kernel_source.h"
#include "lowered_names.h"
#include "plugin.h"
#include "run_clang.h"
#include "spirv.h"
#include "spirv_programs.h"

namespace anyplace::compilers {
namespace {

constexpr int newest = 30, oldest = 14;
constexpr int newest_with_spirv = 19;
/// The newest architecture that every Clang since 14 knows well. Drivers compile PTX further for newer devices.
constexpr int most_portable = 70;
/// Its functions of a warp (device_code/bare_warps.h) are of PTX 6.0, which drivers take from CUDA 9 on.
constexpr int first_with_synchronised_warps = 70;

std::string clang_path() {
  if (const std::optional<std::string> named = named_program("ANYPLACE_KERNEL_CLANG")) return *named;
  if (std::string path = find_program("clang++"); !path.empty()) return path;
  for (int version = newest; version >= oldest; --version) {
    if (std::string path = find_program("clang++-" + std::to_string(version)); !path.empty()) return path;
  }
  return "";
}

/// The linker for code objects, where Clang looks for it: beside itself, else in PATH.
std::string lld_beside(const std::string& clang) {
  std::error_code error;
  const std::filesystem::path beside = std::filesystem::canonical(clang, error).replace_filename("lld");
  return !error && ::access(beside.c_str(), X_OK) == 0 ? beside.string() : find_program("lld");
}

anyplace_status library(void* /*self*/, std::uint32_t format, anyplace_compiler_library* out) {
  if (format == ANYPLACE_IMAGE_SPIRV) return spirv_programs("SPIR-V is made", newest_with_spirv, out);
  static thread_local std::string path, version;
  path = clang_path();
  if (path.empty()) {
    return refuse(ANYPLACE_STATUS_LIBRARY_MISSING,
                  "there is no clang++ in PATH: Debian: apt-get install clang-14 lld-14; ANYPLACE_KERNEL_CLANG names "
                  "another");
  }
  version = identity_of(path);
  if (format == ANYPLACE_IMAGE_HSACO) {
    const std::string lld = lld_beside(path);
    if (lld.empty()) {
      return refuse(ANYPLACE_STATUS_LIBRARY_MISSING,
                    "there is neither an lld beside " + path + " nor in PATH: Debian: apt-get install lld-14");
    }
    version += ", " + identity_of(lld);
  }
  out->path = path.c_str();
  out->version = version.c_str();
  return ANYPLACE_STATUS_OK;
}

/// 90 for "sm_90a"; 0 for what is no architecture of NVIDIA's.
int number_of(std::string_view architecture) {
  int number = 0;
  if (!architecture.starts_with("sm_")) return 0;
  std::from_chars(architecture.data() + 3, architecture.data() + architecture.size(), number);
  return number;
}

anyplace_status supports(void* /*self*/, std::uint32_t format, const char* architecture) {
  const std::string_view text = architecture;
  if (format == ANYPLACE_IMAGE_SPIRV)
    return refuse(ANYPLACE_STATUS_UNSUPPORTED, "SPIR-V has no architectures; the format is named spirv");
  const bool is_good = format == ANYPLACE_IMAGE_PTX ? number_of(text) != 0 : text.starts_with("gfx");
  if (is_good) return ANYPLACE_STATUS_OK;
  return refuse(ANYPLACE_STATUS_UNSUPPORTED, "Clang has no architecture '" + std::string(text) + "' for this format");
}

/// The source with a variable behind it for each name expression, which instantiates the kernel and holds its address.
std::string unit_of(const anyplace_compile_request& request) {
  std::string unit = "#line 1 \"" + std::string(request.name) + "\"\n";
  unit += std::string_view(request.source, request.source_bytes);
  std::size_t number = 0;
  for (const char* const expression : expressions_of(request)) {
    unit += "\n#line 1 \"the name expression " + in_literal(expression) + "\"\n";
    unit += "extern \"C\" __device__ const void* const anyplace_expression_" + std::to_string(number++) +
            " = (const void*)&" + expression + ";\n";
  }
  return unit;
}

std::vector<std::string> words_for(const anyplace_compile_request& request, const std::string& dependencies) {
  const std::string architecture = request.architecture;
  std::vector<std::string> words{request.library, "--cuda-device-only", "-DANYPLACE_BARE_DEVICE=1"};
  for (std::string& word : device_words(request)) words.push_back(std::move(word));
  const std::string device_code = std::string(request.headers) + "/anyplace/device_code.h";
  words.insert(words.end(), {"-include", device_code, "-MD", "-MF", dependencies});
  words.push_back(has_flag(request, ANYPLACE_COMPILE_DEBUG) ? "-g" : "-O3");
  if (has_flag(request, ANYPLACE_COMPILE_FAST_MATH)) words.push_back("-ffast-math");
  if (request.format == ANYPLACE_IMAGE_PTX) {
    const int number = architecture.empty() ? most_portable : std::min(number_of(architecture), most_portable);
    words.insert(words.end(), {"-x", "cuda", "-nocudainc", "-nocudalib", "-Wno-unknown-cuda-version",
                               "--cuda-gpu-arch=sm_" + std::to_string(number)});
    if (number >= first_with_synchronised_warps) {
      words.insert(words.end(), {"-Xclang", "-target-feature", "-Xclang", "+ptx60"});
    }
  } else {
    words.insert(words.end(), {"-x", "hip", "-nogpuinc", "-nogpulib", "--offload-arch=" + architecture});
  }
  for (const char* const option : options_of(request)) words.push_back(option);
  return words;
}

/// Gives the sink the names that the expressions have in the image.
anyplace_status lower_names(const std::string& made, const anyplace_compile_request& request,
                            const anyplace_compile_sink& sink) {
  const auto expressions = expressions_of(request);
  if (expressions.empty()) return ANYPLACE_STATUS_OK;
  std::string image;
  if (!read_file(made, image)) return refuse(ANYPLACE_STATUS_BACKEND_FAILED, "can't read " + made);
  const auto names = request.format == ANYPLACE_IMAGE_PTX ? names_in_ptx(image, expressions.size())
                                                          : names_in_code_object(image, expressions.size());
  if (!names) return refuse(ANYPLACE_STATUS_BACKEND_FAILED, "what Clang made has no names of the name expressions");
  for (std::size_t i = 0; i < names->size(); ++i) sink.lowered(sink.context, expressions[i], (*names)[i].c_str());
  return ANYPLACE_STATUS_OK;
}

anyplace_status compile(void* /*self*/, const anyplace_compile_request* request, const anyplace_compile_sink* sink) {
  if (request->format == ANYPLACE_IMAGE_SPIRV) return compile_spirv(*request, *sink);
  const std::string folder = request->folder;
  const std::string unit = folder + "/unit.cu", made = folder + "/made", dependencies = folder + "/made.d";
  if (request->format == ANYPLACE_IMAGE_HSACO && *request->architecture == '\0') {
    return refuse(ANYPLACE_STATUS_UNSUPPORTED,
                  "Clang compiles code objects for an architecture; name one, such as gfx90a");
  }
  warn_without_kernel(*request, *sink);
  if (!write_file(unit, unit_of(*request))) return refuse(ANYPLACE_STATUS_BACKEND_FAILED, "can't write " + unit);
  std::vector<std::string> words = words_for(*request, dependencies);
  if (request->format == ANYPLACE_IMAGE_PTX) words.push_back("-S");
  words.insert(words.end(), {"-o", made, unit});
  const std::string target = *request->architecture == '\0' ? "PTX" : request->architecture;
  if (const anyplace_status status = run_clang(words, *request, *sink, target)) return status;
  if (const anyplace_status status = lower_names(made, *request, *sink)) return status;
  report_headers(dependencies, *request, *sink);
  return give_image(made, *sink);
}

}  // namespace
}  // namespace anyplace::compilers

extern "C" anyplace_status anyplace_compiler_entry(const anyplace_compiler_host* host, anyplace_compiler_table* table) {
  using namespace anyplace::compilers;
  table->library = guarded<library>;
  table->supports = guarded<supports>;
  table->compile = guarded<compile>;
  return fill_table(host, *table, "clang", "Clang, without a vendor's headers: PTX, code objects and SPIR-V",
                    1u << ANYPLACE_IMAGE_PTX | 1u << ANYPLACE_IMAGE_HSACO | 1u << ANYPLACE_IMAGE_SPIRV, 1);
}
