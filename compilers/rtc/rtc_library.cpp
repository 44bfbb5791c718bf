// SPDX-License-Identifier: Apache-2.0
#include "rtc_library.h"

#include <dlfcn.h>
#include <glob.h>
#include <link.h>

#include <cstdlib>
#include <fstream>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

namespace anyplace::compilers {
namespace {

#if defined(ANYPLACE_COMPILER_IS_HIPRTC)
constexpr const char* prefix = "hiprtc";
// In HIP 5 the runtime itself has hipRTC.
constexpr const char* file_names[] = {"libhiprtc.so.7", "libhiprtc.so.6", "libamdhip64.so.5"};
constexpr const char* folder_variables[] = {"ROCM_PATH", "HIP_PATH"};
constexpr const char* below_folder[] = {"/lib/"};
constexpr const char* usual_folder = "/opt/rocm";
constexpr const char* below_packages = nullptr;
constexpr const char* package = "AMD: apt-get install hip-runtime-amd; Debian: libamdhip64-5";
#else
constexpr const char* prefix = "nvrtc";
constexpr const char* file_names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2"};
constexpr const char* folder_variables[] = {"CUDA_PATH", "CUDA_HOME"};
constexpr const char* below_folder[] = {"/lib64/", "/targets/x86_64-linux/lib/", "/lib/"};
constexpr const char* usual_folder = "/usr/local/cuda";
constexpr const char* below_packages = "/nvidia/*/lib/";
constexpr const char* package = "a CUDA toolkit has it, and so has pip install nvidia-cuda-nvrtc-cu12";
#endif

/// Where the running Python has its packages: the folders of files that the process has mapped.
std::vector<std::string> package_folders() {
  std::set<std::string> folders;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const std::size_t begin = line.find('/');
    for (const char* const name : {"/site-packages/", "/dist-packages/"}) {
      const std::size_t at = line.find(name);
      if (begin != line.npos && at != line.npos)
        folders.insert(line.substr(begin, at + std::string(name).size() - 1 - begin));
    }
  }
  return {folders.begin(), folders.end()};
}

std::vector<std::string> matching(const std::string& pattern) {
  glob_t found{};
  std::vector<std::string> paths;
  if (::glob(pattern.c_str(), 0, nullptr, &found) == 0) paths.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  return paths;
}

/// What dlopen is to try, in order: by the linker's own search, then the packages of Python, then a vendor's folder.
std::vector<std::string> places() {
  std::vector<std::string> all(std::begin(file_names), std::end(file_names));
  const auto add_below = [&](const std::string& folder) {
    for (const char* const name : file_names) {
      for (std::string& path : matching(folder + name)) all.push_back(std::move(path));
    }
  };
  if (below_packages != nullptr) {
    for (const std::string& folder : package_folders()) add_below(folder + below_packages);
  }
  std::vector<std::string> vendor_folders;
  for (const char* const variable : folder_variables) {
    const char* const value = ::secure_getenv(variable);
    if (value != nullptr && *value == '/') vendor_folders.emplace_back(value);
  }
  vendor_folders.emplace_back(usual_folder);
  for (const std::string& folder : vendor_folders) {
    for (const char* const below : below_folder) add_below(folder + below);
  }
  return all;
}

std::unique_ptr<RtcLibrary> open_one(const std::string& path, std::string& problem) {
  void* const handle = ::dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (handle == nullptr) {
    problem = ::dlerror();
    return nullptr;
  }
  auto library = std::make_unique<RtcLibrary>();
  const char* lacks = nullptr;
  const auto find = [&]<class Function>(Function*& entry, const char* name, bool required) {
    const std::string symbol = std::string(prefix) + name;
    entry = reinterpret_cast<Function*>(::dlsym(handle, symbol.c_str()));
    if (entry == nullptr && required) lacks = name;
  };
#define ANYPLACE_RTC_FIND(name, required, result, parameters) find(library->name, #name, (required) != 0);
  ANYPLACE_RTC_ENTRIES(ANYPLACE_RTC_FIND)
#undef ANYPLACE_RTC_FIND
  if (lacks != nullptr) {
    problem = path + " has no " + prefix + lacks;
    return nullptr;
  }
  link_map* map = nullptr;
  library->path = ::dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && *map->l_name == '/' ? map->l_name : path;
  int minor = 0;
  library->Version(&library->major, &minor);
  library->version = std::to_string(library->major) + "." + std::to_string(minor);
  return library;
}

}  // namespace

const RtcLibrary* open_rtc(const std::string& path, std::string& reason) {
  static std::mutex mutex;  // guards opened
  static RtcLibrary* opened = nullptr;
  const std::lock_guard lock(mutex);
  if (opened != nullptr) return opened;
  std::string problem, first_problem;
  for (const std::string& place : path.empty() ? places() : std::vector<std::string>{path}) {
    opened = open_one(place, problem).release();
    if (opened != nullptr) return opened;
    if (first_problem.empty()) first_problem = problem;
  }
  reason = first_problem + "; " + package;
  return nullptr;
}

}  // namespace anyplace::compilers
