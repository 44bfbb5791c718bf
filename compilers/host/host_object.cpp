// SPDX-License-Identifier: Apache-2.0
#include "host_object.h"

#include <dlfcn.h>

#include <filesystem>
#include <optional>
#include <string_view>
#include <vector>

#include "anyplace/backend/kit/elf.h"
#include "anyplace/backend/kit/trust.h"
#include "host_threads.h"
#include "kernel_source.h"
#include "plugin.h"

namespace anyplace::compilers {
namespace {

bool is_level(std::string_view architecture) {
  return backend::own_elf.machine == EM_X86_64 &&
         (architecture == "x86-64-v2" || architecture == "x86-64-v3" || architecture == "x86-64-v4");
}

constexpr std::uint32_t dialect_standard = 20;  ///< the dialect itself is written in it for the host

// The versions of Clang for which compilers/clang_loops can be built.
constexpr int newest_with_loops = 19, oldest_with_loops = 14;

/// A level of x86-64 is compiled for only if it is named. The linker marks the image with it, so that a processor which
/// lacks it refuses the image. No multiplication is fused with an addition unless an option says so, so that results
/// have the same bits as those of the image for every processor.
std::vector<std::string> level_words(std::string_view architecture) {
  if (!is_level(architecture)) return {};
  const std::string level(architecture);
  return {"-march=" + level, "-Wl,-z," + level, "-ffp-contract=off"};
}

/// The plugin for this Clang that makes loops of barriers (docs/barriers.md), which is installed beside this one; "" if
/// there is none. It is for one version of Clang, which the name says: clang++-14.
std::string loops_plugin_for(const std::string& compiler) {
  const std::string name = "clang++-";
  const std::size_t at = compiler.rfind(name);
  Dl_info own{};
  if (at == compiler.npos || ::dladdr(reinterpret_cast<const void*>(&loops_plugin_for), &own) == 0) return "";
  std::error_code error;
  const std::filesystem::path folder = std::filesystem::canonical(own.dli_fname, error).parent_path();
  const std::filesystem::path plugin =
      folder / ("libanyplace_clang_loops_" + compiler.substr(at + name.size()) + ".so");
  const bool is_there = !error && std::filesystem::is_regular_file(plugin, error);
  return is_there && !backend::distrust_of(plugin.string()) ? plugin.string() : "";
}

/// A Clang that makes loops of barriers goes before c++, which keeps a stack for each thread.
std::string compiler_path() {
  if (const std::optional<std::string> named = named_program("ANYPLACE_CXX")) return *named;
  for (int version = newest_with_loops; version >= oldest_with_loops; --version) {
    const std::string path = find_program("clang++-" + std::to_string(version));
    if (!path.empty() && !loops_plugin_for(path).empty()) return path;
  }
  for (const char* const name : {"c++", "g++", "clang++"}) {
    if (std::string path = find_program(name); !path.empty()) return path;
  }
  return "";
}

/// What makes loops of barriers, as anyplace_add_kernels has it; nothing where each thread keeps its stack: for a
/// debugger, and for sanitizers, which know of the stacks.
std::vector<std::string> loops_words(const anyplace_compile_request& request) {
  const std::string plugin = loops_plugin_for(request.library);
  if (plugin.empty() || has_flag(request, ANYPLACE_COMPILE_DEBUG)) return {};
  for (const std::string_view option : options_of(request)) {
    if (option.starts_with("-fsanitize")) return {};
  }
  return {"-DANYPLACE_BARRIER_LOOPS=1", "-fpass-plugin=" + plugin, "-Rpass-missed=anyplace-loops", "-fno-math-errno"};
}

/// Functions and variables are protected: Module::global finds the variables by name, and the module itself always uses
/// its own, also where the application has another of that name.
std::vector<std::string> words_for(const anyplace_compile_request& request) {
  std::vector<std::string> words{request.library};
  for (std::string& word : common_words(request, dialect_standard)) words.push_back(std::move(word));
  words.insert(words.end(), {has_flag(request, ANYPLACE_COMPILE_DEBUG) ? "-g" : "-O3", "-fPIC", "-shared",
                             "-fvisibility=protected", "-fvisibility-inlines-hidden", "-DANYPLACE_RUN_TIME_SOURCE=1"});
  if (has_flag(request, ANYPLACE_COMPILE_FAST_MATH)) words.push_back("-ffast-math");
  // A unique symbol would keep the module loaded for good; Clang has no such option, and no such symbols.
  if (std::string_view(request.library).find("clang") == std::string_view::npos) words.push_back("-fno-gnu-unique");
  for (std::string& word : loops_words(request)) words.push_back(std::move(word));
  for (std::string& word : level_words(request.architecture)) words.push_back(std::move(word));
  for (const char* const option : options_of(request)) words.push_back(option);
  return words;
}

}  // namespace

anyplace_status host_library(void* /*self*/, std::uint32_t /*format*/, anyplace_compiler_library* out) {
  static thread_local std::string path, version;
  path = compiler_path();
  if (path.empty()) {
    return refuse(ANYPLACE_STATUS_LIBRARY_MISSING,
                  "there is no C++ compiler in PATH: Debian: apt-get install g++; ANYPLACE_CXX names another");
  }
  version = identity_of(path);
  if (const std::string plugin = loops_plugin_for(path); !plugin.empty()) version += ", loops: " + identity_of(plugin);
  out->path = path.c_str();
  out->version = version.c_str();
  return ANYPLACE_STATUS_OK;
}

anyplace_status host_supports(void* /*self*/, std::uint32_t /*format*/, const char* architecture) {
  const char* const own = backend::elf_machine_name(backend::own_elf.machine);
  const std::string machine = own == nullptr ? "" : own;
  if (machine == architecture || is_level(architecture)) return ANYPLACE_STATUS_OK;
  return refuse(ANYPLACE_STATUS_UNSUPPORTED,
                "the C++ compiler of this machine makes no image for '" + std::string(architecture) + "'; it has " +
                    machine + (backend::own_elf.machine == EM_X86_64 ? ", x86-64-v2, x86-64-v3 and x86-64-v4" : ""));
}

anyplace_status make_host_object(const anyplace_compile_request& request, const anyplace_compile_sink& sink,
                                 std::string& object) {
  const std::string folder = request.folder;
  const std::string unit = folder + "/unit.cpp", threads = folder + "/host_threads.o", made = folder + "/made.so",
                    dependencies = folder + "/made.d";
  const std::string_view threads_bytes(reinterpret_cast<const char*>(host_threads_object.data()),
                                       host_threads_object.size());
  if (!write_file(unit, unit_with_exports(request, sink)) || !write_file(threads, threads_bytes)) {
    return refuse(ANYPLACE_STATUS_BACKEND_FAILED, "can't write below " + folder);
  }
  std::vector<std::string> words = words_for(request);
  words.insert(words.end(), {"-MD", "-MF", dependencies, "-o", made, unit, threads});
  if (const anyplace_status status = compile_by_program(words, request, sink)) return status;
  report_headers(dependencies, request, sink);
  if (!read_file(made, object)) return refuse(ANYPLACE_STATUS_BACKEND_FAILED, "can't read " + made);
  return ANYPLACE_STATUS_OK;
}

}  // namespace anyplace::compilers
