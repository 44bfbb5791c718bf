// SPDX-License-Identifier: Apache-2.0
#include "test_module.h"

#include <dlfcn.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "anyplace/version.h"
#include "conformance.h"

namespace anyplace::conformance {
namespace {

struct ModuleFile {
  const char* format;
  const char* file;
};

constexpr ModuleFile module_files[] = {
    {"shared_object", "kernels.so"}, {"ptx", "kernels.ptx"},     {"hsaco", "kernels.hsaco"},
    {"spirv", "kernels.spv"},        {"opencl_c", "kernels.cl"},
};

/// In the folder of plugins, which has the version in its name (anyplace_PLUGIN_FOLDER of CMake), beside the library
/// that this process has loaded, in the build tree as when installed.
std::string kernels_folder() {
  Dl_info info{};
  const auto address = reinterpret_cast<void*>(&anyplace::version);
  if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) return "";
  const std::string library = info.dli_fname;
  const std::string version = std::to_string(ANYPLACE_VERSION_MAJOR) + "." + std::to_string(ANYPLACE_VERSION_MINOR);
  return library.substr(0, library.rfind('/') + 1) + "anyplace-" + version + "/conformance/";
}

}  // namespace

std::string find_test_module(const std::string& given, const std::string& formats) {
  if (!given.empty()) {
    if (access(given.c_str(), R_OK) == 0) return given;
    throw CannotRun("the module " + given + " can't be read: " + std::strerror(errno));
  }
  const std::string folder = kernels_folder();
  for (const ModuleFile& candidate : module_files) {
    if ((" " + formats).find(" " + std::string(candidate.format) + " ") == std::string::npos) continue;
    const std::string path = folder + candidate.file;
    if (access(path.c_str(), R_OK) == 0) return path;
  }
  return "";
}

}  // namespace anyplace::conformance
