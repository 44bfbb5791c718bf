// SPDX-License-Identifier: Apache-2.0
#include "environment.h"

#include <anyplace/library_images.h>
#include <link.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <utility>

namespace anyplace::tool {
namespace {

std::string loaded_library() {
  std::string path;
  dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void* found) {
        const std::string_view name = object->dlpi_name == nullptr ? "" : object->dlpi_name;
        const std::string_view file = name.substr(name.find_last_of('/') + 1);
        if (!file.starts_with("libanyplace.so")) return 0;
        *static_cast<std::string*>(found) = name;
        return 1;
      },
      &path);
  std::error_code failed;
  const std::filesystem::path real = std::filesystem::canonical(path, failed);
  return failed ? path : real.string();
}

std::string meaning_of(std::string_view name, const std::vector<std::string>& backends) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 19> known{{
      {"ANYPLACE_ALLOCATOR", "how the caching allocator works, as key:value,key:value"},
      {"ANYPLACE_ANNOTATE", "which tools annotations are told to: auto, off, or some of nvtx,roctx,itt"},
      {"ANYPLACE_AUTO", "the order in which `auto` looks for a device"},
      {"ANYPLACE_BACKEND_PATH", "directories that are searched for plugins first"},
      {"ANYPLACE_CACHE", "the folder in which compiled kernels are kept, or off"},
      {"ANYPLACE_CACHE_BYTES", "how much compiled kernels may take there"},
      {"ANYPLACE_CACHE_SHARED", "a folder with compiled kernels that is read and never written"},
      {"ANYPLACE_COMMUNICATOR_CHECK", "whether ranks compare their operations before they begin"},
      {"ANYPLACE_COMPAT", "the place whose backend Python's anyplace.compat uses"},
      {"ANYPLACE_COMPILERS", "which compilers of kernels are asked, and in which order"},
      {"ANYPLACE_CXX", "the C++ compiler that makes kernels for cpu_sim while a program runs"},
      {"ANYPLACE_FAULTS", "the rules of the layer faults: which calls it fails"},
      {"ANYPLACE_FAULTS_REPORT", "the file to which the layer faults adds how often its rules were used"},
      {"ANYPLACE_KERNEL_CLANG", "the Clang that makes kernels while a program runs"},
      {"ANYPLACE_LLVM_SPIRV", "the llvm-spirv with which Clang makes SPIR-V while a program runs"},
      {"ANYPLACE_LAYERS", "which layers are put over backends"},
      {"ANYPLACE_LOG", "whether plugins write lines for debugging"},
      {"ANYPLACE_PROBE_TIMEOUT", "seconds that this command waits for each answer of a plugin"},
      {"ANYPLACE_TRUSTED_FOLDERS", "folders whose plugins are taken although others may write there"},
  }};
  for (const auto& [variable, meaning] : known) {
    if (variable == name) return std::string(meaning);
  }
  for (const std::string& backend : backends) {
    std::string prefix = "ANYPLACE_" + backend + "_";
    std::transform(prefix.begin(), prefix.end(), prefix.begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    if (name.starts_with(prefix)) return "of the plugin " + backend;
  }
  return "";
}

std::vector<Variable> anyplace_variables(const std::vector<std::string>& backends) {
  std::vector<Variable> variables;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (!text.starts_with("ANYPLACE_") || equals == std::string_view::npos) continue;
    const std::string_view name = text.substr(0, equals);
    variables.push_back({std::string(name), std::string(text.substr(equals + 1)), meaning_of(name, backends)});
  }
  std::sort(variables.begin(), variables.end(), [](const Variable& a, const Variable& b) { return a.name < b.name; });
  return variables;
}

}  // namespace

std::vector<std::string> own_kernels() {
  std::vector<std::string> texts;
  for (const KernelImages* const kernels : library_kernels()) {
    std::string text(kernels->name());
    const char* separator = ": ";
    for (const KernelImage& image : kernels->images()) {
      text += separator + std::string(image.format);
      for (const std::string& architecture : architectures_of(image)) text += " " + architecture;
      separator = ", ";
    }
    texts.push_back(std::move(text));
  }
  return texts;
}

Environment read_environment(const std::vector<std::string>& backends) {
  Environment environment;
  environment.library = loaded_library();
  environment.raised_privileges = getauxval(AT_SECURE) != 0;
  environment.variables = anyplace_variables(backends);
  environment.directories = plugin_directories();
  return environment;
}

}  // namespace anyplace::tool
