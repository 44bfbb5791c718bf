// SPDX-License-Identifier: Apache-2.0
//
// The compiler "clang": Clang alone, without a vendor's headers, makes PTX, with lld a code object, and with llvm-spirv
// SPIR-V (spirv.h). It runs as a program. ANYPLACE_KERNEL_CLANG names another one than the newest clang++ in PATH.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

#include "architectures.h"
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
/// The PTX that an architecture needs, from it on, and that Clang doesn't choose by itself. For sm_70 it is that of the
/// functions of a warp (device_code/bare_warps.h), which drivers take from CUDA 9 on.
constexpr struct {
  int architecture, ptx;
} needed_ptx[] = {{70, 60}, {72, 61}, {75, 63},  {80, 70},  {86, 71},  {87, 74},
                  {89, 78}, {90, 78}, {100, 86}, {103, 88}, {120, 87}, {121, 88}};
constexpr int ptx_with_suffix_a = 80, ptx_with_suffix_f = 88;

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

anyplace_status supports(void* /*self*/, std::uint32_t format, const char* architecture) {
  const std::string_view text = architecture;
  if (format == ANYPLACE_IMAGE_SPIRV)
    return refuse(ANYPLACE_STATUS_UNSUPPORTED, "SPIR-V has no architectures; the format is named spirv");
  const bool is_good = format == ANYPLACE_IMAGE_PTX ? nvidia_architecture(text).number != 0 : text.starts_with("gfx");
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

/// For NVIDIA's. PTX for a device is of the most portable architecture, unless the device is older.
std::vector<std::string> architecture_words(const anyplace_compile_request& request) {
  NvidiaArchitecture wanted = nvidia_architecture(request.architecture);
  const bool is_named = wanted.number != 0 && !has_flag(request, ANYPLACE_COMPILE_FOR_DEVICE);
  if (!is_named) wanted = {wanted.number == 0 ? most_portable : std::min(wanted.number, most_portable), 0};
  int ptx = 0;
  for (const auto& one : needed_ptx) ptx = one.architecture <= wanted.number ? one.ptx : ptx;
  std::string name = "sm_" + std::to_string(wanted.number);
  if (wanted.suffix != 0) {
    name += wanted.suffix;
    ptx = std::max(ptx, wanted.suffix == 'a' ? ptx_with_suffix_a : ptx_with_suffix_f);
  }
  std::vector<std::string> words{"--cuda-gpu-arch=" + name};
  if (ptx != 0) words.insert(words.end(), {"-Xclang", "-target-feature", "-Xclang", "+ptx" + std::to_string(ptx)});
  return words;
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
    words.insert(words.end(), {"-x", "cuda", "-nocudainc", "-nocudalib", "-Wno-unknown-cuda-version"});
    for (std::string& word : architecture_words(request)) words.push_back(std::move(word));
  } else {
    // A bundle, which is the default, would have no more in it, and take a program that is in Debian's clang-tools.
    words.insert(words.end(), {"-x", "hip", "-nogpuinc", "-nogpulib", "--no-gpu-bundle-output"});
    words.push_back("--offload-arch=" + architecture);
  }
  for (const char* const option : options_of(request)) words.push_back(option);
  return words;
}

/// Whether Clang has the architecture, of which its features (gfx90a:xnack+) are left out; true if it doesn't say.
/// `known` gets those that it has.
bool knows_architecture(const anyplace_compile_request& request, std::string& known) {
  const bool is_ptx = request.format == ANYPLACE_IMAGE_PTX;
  std::string said;
  anyplace_compile_sink sink{};
  sink.struct_size = sizeof(sink);
  sink.context = &said;
  sink.log = [](void* context, const char* text, std::uint64_t bytes) {
    static_cast<std::string*>(context)->append(text, bytes);
  };
  const char* const triple = is_ptx ? "--target=nvptx64-nvidia-cuda" : "--target=amdgcn-amd-amdhsa";
  run_program({request.library, triple, "-nogpulib", "-print-supported-cpus"}, request.folder, sink);
  const std::string_view full = request.architecture;
  const std::string_view wanted = full.substr(0, full.find(':'));
  bool has_it = false;
  std::istringstream words(said);
  for (std::string word; words >> word;) {
    if (!word.starts_with(is_ptx ? "sm_" : "gfx")) continue;
    known += (known.empty() ? "" : ", ") + word;
    has_it = has_it || word == wanted;
  }
  return has_it || known.empty();
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
  warn_of_kernels(*request, *sink);
  if (!write_file(unit, unit_of(*request))) return refuse(ANYPLACE_STATUS_BACKEND_FAILED, "can't write " + unit);
  std::vector<std::string> words = words_for(*request, dependencies);
  if (request->format == ANYPLACE_IMAGE_PTX) words.push_back("-S");
  words.insert(words.end(), {"-o", made, unit});
  const std::string target = *request->architecture == '\0' ? "PTX" : request->architecture;
  if (const anyplace_status status = run_clang(words, *request, *sink, target)) {
    std::string known;  // asked for only now, as it takes a start of Clang
    if (status != ANYPLACE_STATUS_COMPILE_FAILED || *request->architecture == '\0') return status;
    if (has_flag(*request, ANYPLACE_COMPILE_FOR_DEVICE) && request->format == ANYPLACE_IMAGE_PTX) return status;
    if (knows_architecture(*request, known)) return status;
    return refuse(ANYPLACE_STATUS_UNSUPPORTED, "Clang doesn't know " + target + "; it knows " + known);
  }
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
