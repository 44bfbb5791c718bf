// SPDX-License-Identifier: Apache-2.0
#include "rtc_library.h"

#include <dlfcn.h>
#include <glob.h>
#include <link.h>

#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string_view>
#include <system_error>
#include <vector>

#include "anyplace/backend/kit/trust.h"
#include "linker_search.h"

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
constexpr const char* driver_file = nullptr;
constexpr const char* package = "AMD: apt-get install hip-runtime-amd; Debian: libamdhip64-5";
#else
constexpr const char* prefix = "nvrtc";
constexpr const char* file_names[] = {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2"};
constexpr const char* folder_variables[] = {"CUDA_PATH", "CUDA_HOME"};
constexpr const char* below_folder[] = {"/lib64/", "/targets/x86_64-linux/lib/", "/lib/"};
constexpr const char* usual_folder = "/usr/local/cuda";
constexpr const char* below_packages = "/nvidia/*/lib/";
constexpr const char* driver_file = "libcuda.so.1";
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

/// Where a library may be, in order: by the linker's own search, then the packages of Python, then a vendor's folder.
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
  library->cuda_version = library->major * 1000 + minor * 10;
  return library;
}

/// The newest CUDA whose PTX the process's driver takes, as cuDriverGetVersion has it: 12040 for 12.4. 0 for a process
/// that has loaded no driver. A driver takes no PTX that is newer than itself.
int driver_version() {
  if (driver_file == nullptr) return 0;
  void* const driver = ::dlopen(driver_file, RTLD_LAZY | RTLD_NOLOAD);
  if (driver == nullptr) return 0;
  int version = 0;
  const auto get = reinterpret_cast<int (*)(int*)>(::dlsym(driver, "cuDriverGetVersion"));
  if (get == nullptr || get(&version) != 0) version = 0;
  ::dlclose(driver);
  return version;
}

/// A version of which a file's name may tell a part: libnvrtc.so.13.0.88, and libnvrtc.so.13, which is any 13.
struct Version {
  int major = 0;
  int minor = -1;  ///< -1: unknown

  std::string text() const { return std::to_string(major) + (minor < 0 ? "" : "." + std::to_string(minor)); }
};
Version version_in_name(const std::string& path) {
  std::error_code error;
  const std::string file = std::filesystem::canonical(path, error).filename();
  constexpr std::string_view before = ".so.";
  const std::size_t at = file.find(before);
  if (error || at == file.npos) return {};
  int numbers[3];
  std::size_t count = 0;
  const char* next = file.data() + at + before.size();
  const char* const end = file.data() + file.size();
  while (next < end && count < std::size(numbers)) {
    const auto [stopped, failure] = std::from_chars(next, end, numbers[count]);
    if (failure != std::errc()) break;
    ++count;
    next = stopped + 1;
  }
  if (count == 0) return {};
  // libnvrtc.so.11.2 is of any version from 11.2 on: that name is an interface's.
  return {numbers[0], count == std::size(numbers) ? numbers[1] : -1};
}

/// What was found and opened. Libraries stay open.
struct Libraries {
  std::mutex mutex;  // guards what follows
  std::map<std::string, std::unique_ptr<RtcLibrary>> opened;
  RtcFile chosen;
  int chosen_for_driver = 0;

  const RtcLibrary* open(const std::string& path, std::string& problem) {
    std::unique_ptr<RtcLibrary>& library = opened[path];
    if (library == nullptr) library = open_one(path, problem);
    return library.get();
  }
  /// The file at a place; "" if there is none that could be opened. A name without a folder is the dynamic linker's to
  /// find, as every library that a program is linked with.
  std::string file_at(const std::string& place, std::string& problem) {
    if (place.front() == '/') {
      const backend::Distrust found = backend::distrust_of(place);
      if (found) problem = place + " isn't loaded: " + found.problem + ": " + found.remedy;
      if (found) return "";
      if (is_library(place)) return place;
    }
    if (std::string found = find_library(place); !found.empty()) return found;
    const RtcLibrary* const library = open(place, problem);
    return library == nullptr ? "" : library->path;
  }
  /// Whether a driver takes what the library makes. The library is opened if its name doesn't say.
  bool is_taken(const std::string& path, int driver) {
    const Version version = version_in_name(path);
    const int driver_major = driver / 1000;
    if (version.major != driver_major) return version.major < driver_major;
    if (version.minor >= 0) return version.major * 1000 + version.minor * 10 <= driver;
    std::string ignored;
    const RtcLibrary* const library = open(path, ignored);
    return library != nullptr && library->cuda_version <= driver;
  }
  /// The first one whose images the driver takes, else the first one. Without one, `told_problem` says why a file that
  /// is there isn't used, else why the first name wasn't found.
  RtcFile choose(int driver, std::string& told_problem) {
    std::string first;
    for (const std::string& place : places()) {
      std::string problem;
      const std::string path = file_at(place, problem);
      if (path.empty() && (told_problem.empty() || place.front() == '/')) told_problem = problem;
      if (path.empty()) continue;
      if (first.empty()) first = path;
      if (driver == 0 || is_taken(path, driver)) return {path, version_in_name(path).text()};
    }
    return {first, version_in_name(first).text()};
  }
};

Libraries& libraries() {
  static Libraries& all = *new Libraries;  // the libraries outlive the process's static objects
  return all;
}

}  // namespace

bool find_rtc(RtcFile& out, std::string& reason) {
  Libraries& all = libraries();
  const std::lock_guard lock(all.mutex);
  const int driver = driver_version();
  if (all.chosen.path.empty() || all.chosen_for_driver != driver) {
    std::string told_problem;
    all.chosen = all.choose(driver, told_problem);
    all.chosen_for_driver = driver;
    if (all.chosen.path.empty()) reason = told_problem + "; " + package;
  }
  out = all.chosen;
  return !out.path.empty();
}

const RtcLibrary* open_rtc(const std::string& path, std::string& reason) {
  Libraries& all = libraries();
  const std::lock_guard lock(all.mutex);
  return all.open(path, reason);
}

}  // namespace anyplace::compilers
