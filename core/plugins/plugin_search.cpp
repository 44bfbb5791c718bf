// SPDX-License-Identifier: Apache-2.0
#include "plugins/plugin_search.h"

#include <dirent.h>
#include <dlfcn.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <set>
#include <utility>

#include "anyplace/backend/kit/trust.h"
#include "plugins/names.h"
#include "runtime/no_destructor.h"
#include "runtime/shortage.h"
#include "runtime/text.h"

namespace anyplace::detail {
namespace {

constexpr const char* path_variable = "ANYPLACE_BACKEND_PATH";
constexpr std::size_t variable_limit = 64 * 1024;  // bytes of ANYPLACE_BACKEND_PATH that are read
constexpr std::size_t directory_limit = 64;        // directories of the variable
constexpr std::size_t entry_limit = 65536;         // entries read of one directory
constexpr std::size_t plugin_limit = 256;          // plugin files kept of one directory
constexpr std::size_t registered_limit = 1024;     // files given by register_plugin
constexpr int link_limit = 8;                      // symbolic links followed to find what a name is an alias of

using Source = PluginCandidate::Source;

/// Plugins given by register_plugin, the newest first.
struct Registered {
  std::mutex mutex;  // guards files; no other lock is taken under it
  std::vector<PluginFile> files;
};
NoDestructor<Registered> all_registered;  // background threads may outlive static objects
Registered& registered() noexcept { return all_registered.value; }
std::vector<PluginFile> registered_files(PluginKind kind) {
  const std::lock_guard lock(registered().mutex);
  std::vector<PluginFile> files = registered().files;
  std::erase_if(files, [&](const PluginFile& file) { return file.kind != kind; });
  return files;
}

/// Throws if the last file call failed for a shortage: then the file may exist.
void require_answer(const std::string& path) {
  if (is_shortage(errno)) fail_for_now(path, "searching for plugins", "it can't be looked at", errno);
}

/// The path without symbolic links; "" if nothing is there.
std::string real_path(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr), &std::free);
  if (real == nullptr) require_answer(path);
  return real == nullptr ? std::string() : std::string(real.get());
}

std::string directory_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos || slash == 0 ? "/" : path.substr(0, slash);
}

std::string_view file_of(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

/// The directory that libanyplace itself was loaded from.
std::string library_directory() {
  Dl_info info{};
  if (::dladdr(reinterpret_cast<const void*>(&search_path), &info) == 0 || info.dli_fname == nullptr) return "";
  const std::string library = real_path(info.dli_fname);
  return library.empty() ? library : directory_of(library);
}

/// Why one of the variable's directories can't be searched; empty if it can.
std::string directory_problem(const std::string& directory) {
  if (directory.front() != '/')
    return fmt::format("{} takes absolute directories only, and this one is relative", path_variable);
  if (directory.size() >= PATH_MAX)
    return fmt::format("its name is longer than the {} bytes that a path may have", PATH_MAX);
  struct stat status {};
  if (::stat(directory.c_str(), &status) != 0) return std::strerror(errno);
  if (!S_ISDIR(status.st_mode)) return "it is not a directory";
  if (::access(directory.c_str(), R_OK | X_OK) != 0) return std::strerror(errno);
  return "";
}

/// Appends directories, each once by its real path.
class PathBuilder {
 public:
  explicit PathBuilder(SearchPath& path) : path_(path) {}

  void add(const std::string& directory, Source source) {
    std::string real = real_path(directory);
    const bool is_there = !real.empty();
    if (!seen_.insert(is_there ? std::move(real) : directory).second) return;
    if (is_there) {
      if (const backend::Distrust found = backend::distrust_of(directory)) {
        problem(directory, found.remedy.empty() ? found.problem : found.problem + ": " + found.remedy);
        return;
      }
    }
    path_.directories.push_back({directory, source, is_there});
  }
  void problem(std::string_view directory, std::string reason) {
    path_.problems.push_back({std::string(directory.substr(0, PATH_MAX)), std::move(reason)});
  }

 private:
  SearchPath& path_;
  std::set<std::string> seen_;
};

void add_path_variable(PathBuilder& builder) {
  const char* const value = ::secure_getenv(path_variable);
  if (value == nullptr) {
    if (std::getenv(path_variable) != nullptr) {
      builder.problem(path_variable, "it is ignored because the process runs with raised privileges");
    }
    return;
  }
  std::string_view rest = bounded(value, variable_limit);
  if (rest.size() == variable_limit) {
    builder.problem(path_variable, fmt::format("what comes after its first {} bytes is ignored", variable_limit));
    rest = rest.substr(0, rest.rfind(':') == std::string_view::npos ? 0 : rest.rfind(':'));
  }
  std::size_t count = 0;
  while (!rest.empty()) {
    const std::size_t colon = std::min(rest.find(':'), rest.size());
    const std::string directory(rest.substr(0, colon));
    rest.remove_prefix(std::min(colon + 1, rest.size()));
    if (directory.empty()) continue;
    if (++count > directory_limit) {
      builder.problem(directory,
                      fmt::format("only the first {} directories of {} are searched", directory_limit, path_variable));
      return;
    }
    std::string reason = directory_problem(directory);
    if (reason.empty()) {
      builder.add(directory, Source::path_variable);
    } else {
      builder.problem(directory, std::move(reason));
    }
  }
}

/// Says which folders of ANYPLACE_TRUSTED_FOLDERS have no effect. What it is for is in backend/kit/trust.h.
void check_trusted_folders(PathBuilder& builder) {
  const char* const name = backend::detail::trusted_folders_variable;
  const char* const value = ::secure_getenv(name);
  if (value == nullptr && std::getenv(name) != nullptr) {
    builder.problem(name, "it is ignored because the process runs with raised privileges");
  }
  std::string_view rest = bounded(value, variable_limit);
  while (!rest.empty()) {
    const std::size_t colon = std::min(rest.find(':'), rest.size());
    const std::string folder(rest.substr(0, colon));
    rest.remove_prefix(std::min(colon + 1, rest.size()));
    if (folder.empty()) continue;
    if (folder.front() != '/') {
      builder.problem(folder, fmt::format("{} takes absolute folders only, and this one is relative", name));
    } else if (::access(folder.c_str(), F_OK) != 0) {
      builder.problem(folder, fmt::format("{} names it: {}", name, std::strerror(errno)));
    }
  }
}

bool exists(const std::string& path, mode_t* mode) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0) {
    require_answer(path);
    return false;
  }
  *mode = status.st_mode;
  return true;
}

/// Where a symbolic link leads, by one step; empty if it can't be read.
std::string link_target(const std::string& path) {
  char target[PATH_MAX];
  const ssize_t length = ::readlink(path.c_str(), target, sizeof(target));
  if (length < 0) require_answer(path);
  if (length <= 0 || static_cast<std::size_t>(length) == sizeof(target)) return "";
  const std::string text(target, static_cast<std::size_t>(length));
  return text.front() == '/' ? text : directory_of(path) + "/" + text;
}

/// The name of the other plugin whose file this symbolic link leads to in the end; empty if it is no alias. The links
/// are followed one by one because their names, not the file at the end, say what was meant.
std::string aliased_name(const std::string& path, std::string_view name, PluginKind kind = PluginKind::backend) {
  std::string found;
  std::string at = path;
  for (int hops = 0; hops <= link_limit; ++hops) {
    mode_t mode = 0;
    if (!exists(at, &mode)) return "";  // a broken link
    if (!S_ISLNK(mode)) return found == name ? "" : found;
    at = link_target(at);
    if (at.empty()) return "";
    if (const auto target = name_in_file_name(file_of(at), kind)) found = *target;
  }
  return "";
}

/// The folders beside `folder`, which has this version's plugins, that have those of other versions: anyplace-0.2.
std::vector<std::string> folders_of_other_versions(const std::string& folder) {
  const std::string parent = directory_of(folder);
  std::vector<std::string> folders;
  const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(parent.c_str()), &::closedir);
  if (open == nullptr) return folders;
  std::size_t entries = 0;
  while (const dirent* const entry = ::readdir(open.get())) {
    if (++entries > entry_limit || folders.size() >= directory_limit) break;
    const std::string_view name = entry->d_name;
    if (name != plugin_folder_name && (name == "anyplace" || name.starts_with("anyplace-"))) {
      folders.push_back(parent + "/" + std::string(name));
    }
  }
  std::sort(folders.begin(), folders.end());
  return folders;
}

/// Adds the plugin files of a directory. Their names are sorted, so that the order doesn't depend on the file system.
void scan(const SearchDirectory& directory, PluginKind kind, PluginListing& listing) {
  const std::unique_ptr<DIR, int (*)(DIR*)> open(::opendir(directory.path.c_str()), &::closedir);
  if (open == nullptr) {
    listing.problems.push_back({directory.path, std::strerror(errno)});
    return;
  }
  std::vector<std::string> names;
  std::size_t entries = 0;
  while (const dirent* const entry = ::readdir(open.get())) {
    if (++entries > entry_limit || names.size() >= plugin_limit) {
      listing.problems.push_back(
          {directory.path, fmt::format("it has more than {} entries or {} plugins: not all were looked at", entry_limit,
                                       plugin_limit)});
      break;
    }
    const std::string_view file = entry->d_name;
    if (const auto name = name_in_file_name(file, kind)) {
      names.emplace_back(*name);
    } else if (file.starts_with(plugin_file_prefix(kind)) && file.ends_with(".so")) {
      listing.problems.push_back(
          {directory.path + "/" + std::string(file),
           fmt::format("it is left out: a plugin is named {}<name>.so, and a name is [a-z][a-z0-9_]* "
                       "with 31 characters at most",
                       plugin_file_prefix(kind))});
    }
  }
  std::sort(names.begin(), names.end());
  for (std::string& name : names) {
    std::string path = directory.path + "/" + plugin_file_name(name, kind);
    if (!aliased_name(path, name, kind).empty()) continue;
    listing.files.push_back({std::move(name), std::move(path), directory.source, kind});
  }
}

}  // namespace

const std::string_view plugin_folder_name = ANYPLACE_PLUGIN_FOLDER;

SearchPath search_path() {
  SearchPath path;
  PathBuilder builder(path);
  check_trusted_folders(builder);
  add_path_variable(builder);
  if (const std::string own = library_directory(); !own.empty()) {
    builder.add(own, Source::beside_library);
    builder.add(own + "/" + std::string(plugin_folder_name), Source::installed);
  }
  // Empty in a package that is moved after it was built: then the folder of the build could be anybody's.
  if (constexpr std::string_view installed = ANYPLACE_INSTALLED_BACKENDS; !installed.empty()) {
    builder.add(std::string(installed), Source::installed);
  }
  return path;
}

PluginListing list_plugins(PluginKind kind) {
  SearchPath path = search_path();
  PluginListing listing{registered_files(kind), std::move(path.problems)};
  for (const SearchDirectory& directory : path.directories) {
    if (directory.is_there) scan(directory, kind, listing);
  }
  // A registered file may be in a searched directory, too. It is listed once, where it comes first.
  std::set<std::string> seen;
  std::erase_if(listing.files, [&](const PluginFile& file) { return !seen.insert(file.path).second; });
  return listing;
}

std::string not_searched() {
  std::string text;
  for (const PluginDirectoryProblem& problem : search_path().problems) {
    text += fmt::format("; not searched: {}: {}", problem.directory, problem.reason);
  }
  return text;
}

std::vector<PluginFile> find_plugins(std::string_view name, PluginKind kind) {
  std::vector<PluginFile> files = registered_files(kind);
  std::erase_if(files, [&](const PluginFile& file) { return file.name != name; });
  for (const SearchDirectory& directory : search_path().directories) {
    std::string path = directory.path + "/" + plugin_file_name(name, kind);
    mode_t mode = 0;
    const bool known =
        std::any_of(files.begin(), files.end(), [&](const PluginFile& file) { return file.path == path; });
    if (known || !exists(path, &mode) || !aliased_name(path, name, kind).empty()) continue;
    files.push_back({std::string(name), std::move(path), directory.source, kind});
  }
  return files;
}

std::vector<std::string> plugins_of_other_versions(std::string_view name) {
  std::vector<std::string> found;
  for (const SearchDirectory& directory : search_path().directories) {
    if (directory.source != Source::installed) continue;
    for (const std::string& folder : folders_of_other_versions(directory.path)) {
      std::string path = folder + "/" + plugin_file_name(name);
      mode_t mode = 0;
      const bool known = std::find(found.begin(), found.end(), path) != found.end();
      if (!known && exists(path, &mode)) found.push_back(std::move(path));
    }
  }
  return found;
}

std::string link_alias(std::string_view name) {
  for (const SearchDirectory& directory : search_path().directories) {
    const std::string path = directory.path + "/" + plugin_file_name(name);
    mode_t mode = 0;
    if (!exists(path, &mode)) continue;
    if (std::string other = aliased_name(path, name); !other.empty()) return other;
  }
  return "";
}

std::mutex& registered_mutex() noexcept { return registered().mutex; }

void add_registered(PluginFile file) {
  const std::lock_guard lock(registered().mutex);
  std::vector<PluginFile>& files = registered().files;
  std::erase_if(files, [&](const PluginFile& known) { return known.path == file.path; });
  files.insert(files.begin(), std::move(file));
  if (files.size() > registered_limit) files.resize(registered_limit);
}

}  // namespace anyplace::detail
