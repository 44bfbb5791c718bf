// SPDX-License-Identifier: Apache-2.0
//
// The compiler "host": the C++ compiler of the machine makes a shared object for cpu_sim. ANYPLACE_CXX names another
// one than c++, g++ or clang++ in PATH.
#include <cstdlib>
#include <mutex>

#include "kernel_source.h"
#include "plugin.h"

namespace anyplace::compilers {
namespace {

constexpr std::uint32_t dialect_standard = 20;  ///< the dialect itself is written in it for the host

std::string compiler_path() {
  if (const char* const named = ::secure_getenv("ANYPLACE_CXX"); named != nullptr && *named != '\0') {
    return *named == '/' ? std::string(named) : find_program(named);
  }
  for (const char* const name : {"c++", "g++", "clang++"}) {
    if (std::string path = find_program(name); !path.empty()) return path;
  }
  return "";
}

anyplace_status library(void* /*self*/, std::uint32_t /*format*/, anyplace_compiler_library* out) {
  static thread_local std::string path, version;
  path = compiler_path();
  if (path.empty()) {
    return refuse(ANYPLACE_STATUS_LIBRARY_MISSING,
                  "there is no C++ compiler in PATH: Debian: apt-get install g++; ANYPLACE_CXX names another");
  }
  version = identity_of(path);
  out->path = path.c_str();
  out->version = version.c_str();
  return ANYPLACE_STATUS_OK;
}

/// The source with what exports its kernels behind it. In messages the caller's lines keep their numbers.
std::string unit_of(const anyplace_compile_request& request, const anyplace_compile_sink& sink) {
  const KernelSource kernels = read_kernels({request.source, request.source_bytes});
  std::string unit = "#include <anyplace/device_code.h>\n#line 1 \"" + std::string(request.name) + "\"\n";
  unit += kernels.text + "\n#line 1 \"exported kernels\"\n";
  for (const std::string& name : kernels.names) unit += "ANYPLACE_EXPORT_KERNEL(" + name + ")\n";
  std::size_t number = 0;
  for (const char* const expression : expressions_of(request)) {
    const std::string name = "anyplace_expression_" + std::to_string(number++);
    unit += "#line 1 \"the name expression " + std::string(expression) + "\"\n";
    unit += "ANYPLACE_EXPORT_NAMED_KERNEL(" + name + ", \"" + name + "\", " + expression + ")\n";
    sink.lowered(sink.context, expression, name.c_str());
  }
  return unit;
}

anyplace_status compile(void* /*self*/, const anyplace_compile_request* request, const anyplace_compile_sink* sink) {
  const std::string folder = request->folder;
  const std::string unit = folder + "/unit.cpp", made = folder + "/made.so", dependencies = folder + "/made.d";
  if (!write_file(unit, unit_of(*request, *sink))) {
    return refuse(ANYPLACE_STATUS_BACKEND_FAILED, "can't write " + unit);
  }
  std::vector<std::string> words{request->library};
  for (std::string& word : common_words(*request, dialect_standard)) words.push_back(std::move(word));
  const bool is_debug = has_flag(*request, ANYPLACE_COMPILE_DEBUG);
  words.insert(words.end(),
               {is_debug ? "-g" : "-O3", "-fPIC", "-shared", "-fvisibility=hidden", "-fvisibility-inlines-hidden",
                "-DANYPLACE_RUN_TIME_SOURCE=1", "-MD", "-MF", dependencies});
  if (has_flag(*request, ANYPLACE_COMPILE_FAST_MATH)) words.push_back("-ffast-math");
  // A unique symbol would keep the module loaded for good; Clang has no such option, and no such symbols.
  if (std::string_view(request->library).find("clang") == std::string_view::npos) words.push_back("-fno-gnu-unique");
  for (const char* const option : options_of(*request)) words.push_back(option);
  // The last source is the one whose headers the dependency file has.
  words.insert(words.end(), {"-o", made, std::string(request->headers) + "/host_threads.cpp", unit});
  const int status = run_program(words, folder, *sink);
  if (status == 127) return refuse(ANYPLACE_STATUS_BACKEND_FAILED, "can't start " + std::string(request->library));
  if (status > 128) {
    return refuse(ANYPLACE_STATUS_BACKEND_FAILED,
                  std::string(request->library) + " was ended by signal " + std::to_string(status - 128));
  }
  if (status != 0) return ANYPLACE_STATUS_COMPILE_FAILED;
  report_headers(dependencies, *request, *sink);
  std::string image;
  if (!read_file(made, image)) return refuse(ANYPLACE_STATUS_BACKEND_FAILED, "can't read " + made);
  sink->image(sink->context, image.data(), image.size());
  return ANYPLACE_STATUS_OK;
}

}  // namespace
}  // namespace anyplace::compilers

extern "C" anyplace_status anyplace_compiler_entry(const anyplace_compiler_host* host, anyplace_compiler_table* table) {
  using namespace anyplace::compilers;
  table->library = library;
  table->compile = compile;
  return fill_table(host, *table, "host", "the C++ compiler of the machine, for cpu_sim",
                    1u << ANYPLACE_IMAGE_SHARED_OBJECT, 1);
}
