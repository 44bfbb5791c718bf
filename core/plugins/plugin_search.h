// SPDX-License-Identifier: Apache-2.0
//
// Which directories are searched for plugins, and which plugin files they have. This reads directories and symbolic
// links but opens no plugin. Everything has a limit, since the directories are the user's.
#pragma once

#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "anyplace/plugins.h"
#include "plugins/names.h"

namespace anyplace::detail {

struct PluginFile {
  std::string name;
  std::string path;  ///< absolute
  PluginCandidate::Source source = PluginCandidate::Source::installed;
  PluginKind kind = PluginKind::backend;
};

struct SearchDirectory {
  std::string path;  ///< absolute
  PluginCandidate::Source source = PluginCandidate::Source::installed;
  bool is_there = true;
};

/// Directories that another user could have written are among the problems alone (backend/kit/trust.h).
struct SearchPath {
  std::vector<SearchDirectory> directories;  ///< in order, each once; of the variable's directories those that exist
  std::vector<PluginDirectoryProblem> problems;
};

/// The folder of installed plugins beside the library. It has the library's version in its name, so that two versions
/// that are installed side by side have their own.
extern const std::string_view plugin_folder_name;

/// Reads the environment at each call: the application may change it before it first uses a name.
SearchPath search_path();

struct PluginListing {
  std::vector<PluginFile> files;  ///< in search order
  std::vector<PluginDirectoryProblem> problems;
};

/// All plugin files of the kind in the directories, without symbolic links that are aliases.
PluginListing list_plugins(PluginKind kind = PluginKind::backend);

/// The directories that aren't searched, for errors: "; not searched: build: ANYPLACE_BACKEND_PATH takes absolute ...".
/// Empty if there is none.
std::string not_searched();

/// The files of the kind for a name, in search order, without reading directories.
std::vector<PluginFile> find_plugins(std::string_view name, PluginKind kind = PluginKind::backend);

/// The backend that a vendor's symbolic link libanyplace_backend_<name>.so makes `name` an alias of; empty if none
/// does.
std::string link_alias(std::string_view name);

/// The plugins of that name that are installed for other versions of anyplace, in folders beside those of this one.
/// They aren't searched: errors name them.
std::vector<std::string> plugins_of_other_versions(std::string_view name);

/// The mutex of the files that register_plugin gave.
std::mutex& registered_mutex() noexcept;

/// Puts a file before all others. The caller has checked that its path is absolute and its name a plugin's.
void add_registered(PluginFile file);

}  // namespace anyplace::detail
