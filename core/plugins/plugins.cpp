// SPDX-License-Identifier: Apache-2.0
//
// The public functions of anyplace/plugins.h, which tools call.
#include "anyplace/plugins.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <climits>
#include <cstring>
#include <filesystem>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "plugins/automatic_order.h"
#include "plugins/names.h"
#include "plugins/plugin_search.h"
#include "plugins/registry.h"
#include "runtime/call.h"
#include "runtime/text.h"

namespace anyplace {
namespace {

[[noreturn]] void refuse_path(const std::string& path, const std::string& problem) {
  detail::fail(ErrorCode::invalid_argument, "", "register_plugin",
               fmt::format("{}: {}", detail::in_quotes(path), problem));
}

std::string absolute(const std::string& path) {
  std::error_code error;
  const std::filesystem::path whole = std::filesystem::absolute(path, error);
  if (error) refuse_path(path, "it can't be made absolute: " + error.message());
  return whole.lexically_normal().string();
}

}  // namespace

const char* to_string(PluginCandidate::Source source) noexcept {
  switch (source) {
    case PluginCandidate::Source::registered:
      return "registered";
    case PluginCandidate::Source::path_variable:
      return "ANYPLACE_BACKEND_PATH";
    case PluginCandidate::Source::beside_library:
      return "beside the library";
    case PluginCandidate::Source::installed:
      return "installed";
  }
  return "unknown";
}

const char* to_string(PluginCandidate::State state) noexcept {
  switch (state) {
    case PluginCandidate::State::unopened:
      return "unopened";
    case PluginCandidate::State::accepted:
      return "accepted";
    case PluginCandidate::State::refused:
      return "refused";
    case PluginCandidate::State::shadowed:
      return "shadowed";
  }
  return "unknown";
}

std::vector<PluginCandidate> plugin_candidates() {
  detail::enter("plugin_candidates");
  return detail::candidates();
}

std::vector<PluginDirectory> plugin_directories() {
  detail::enter("plugin_directories");
  std::vector<PluginDirectory> directories;
  detail::SearchPath path = detail::search_path();
  for (detail::SearchDirectory& directory : path.directories) {
    directories.push_back({std::move(directory.path), directory.source, directory.is_there});
  }
  return directories;
}

std::vector<PluginDirectoryProblem> plugin_directory_problems() {
  detail::enter("plugin_directory_problems");
  return detail::list_plugins().problems;
}

void register_plugin(const std::string& path) {
  detail::enter("register_plugin");
  if (path.size() >= PATH_MAX) refuse_path(path, fmt::format("a path has less than {} bytes", PATH_MAX));
  if (path.find('\0') != std::string::npos) refuse_path(path, "a path has no NUL in it");
  const std::size_t slash = path.rfind('/');
  const std::string_view file = std::string_view(path).substr(slash == std::string::npos ? 0 : slash + 1);
  const std::optional<std::string_view> name = detail::name_in_file_name(file);
  std::optional<std::pair<std::string_view, detail::PluginKind>> other;
  for (const detail::PluginKind kind :
       {detail::PluginKind::engine, detail::PluginKind::compiler, detail::PluginKind::layer}) {
    if (const auto its = detail::name_in_file_name(file, kind)) other.emplace(*its, kind);
  }
  if (!name && !other) {
    refuse_path(path,
                fmt::format("a plugin's file is named libanyplace_backend_<name>.so, where <name> is [a-z][a-z0-9_]* "
                            "with {} characters at most",
                            detail::name_limit));
  }
  const std::string whole = absolute(path);
  struct stat status {};
  if (::stat(whole.c_str(), &status) != 0) refuse_path(path, std::strerror(errno));
  if (S_ISDIR(status.st_mode)) refuse_path(path, "it is a directory");
  if (other) {
    detail::add_registered({std::string(other->first), whole, PluginCandidate::Source::registered, other->second});
  } else {
    detail::register_candidate(std::string(*name), whole);
  }
}

std::vector<std::string> backend_names() {
  detail::enter("backend_names");
  std::set<std::string> found;
  for (const detail::PluginFile& file : detail::list_plugins().files) found.insert(file.name);
  std::vector<std::string> names;
  for (std::string& name : detail::automatic_order_or_default()) {
    if (found.erase(name) != 0) names.push_back(std::move(name));
  }
  names.insert(names.end(), found.begin(), found.end());
  return names;
}

std::vector<BackendAlias> backend_aliases() {
  const auto table = detail::alias_table();
  return {table.begin(), table.end()};
}

BackendInfo backend_info(std::string_view backend) {
  detail::enter("backend_info");
  const std::string wanted(backend);
  const detail::Backend& found = detail::backend_of(wanted, "backend_info");
  BackendInfo info;
  info.name = found.name;
  info.version = found.table.version;
  info.description = found.table.description;
  info.path = found.path;
  for (const auto& layer : found.layers) info.layers.push_back(layer->name);
  info.abi_major = found.table.abi_major;
  info.abi_minor = found.table.abi_minor;
  return info;
}

}  // namespace anyplace
