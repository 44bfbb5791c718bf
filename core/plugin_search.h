// SPDX-License-Identifier: Apache-2.0
//
// Where plugins are looked for, and which files there are. Reads directories and links, never a plugin: nothing here
// opens one. Everything has a limit, since the directories are the user's.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "anyplace/plugins.h"

namespace anyplace::detail {

struct PluginFile {
  std::string name;
  std::string path;  ///< absolute
  PluginCandidate::Source source = PluginCandidate::Source::installed;
};

struct SearchDirectory {
  std::string path;  ///< absolute
  PluginCandidate::Source source = PluginCandidate::Source::installed;
  bool is_there = true;
};

struct SearchPath {
  std::vector<SearchDirectory> directories;  ///< in order, each once; of the variable's, those that are there
  std::vector<PluginDirectoryProblem> problems;
};

/// Reads the environment now: it may change until a name is first used.
SearchPath search_path();

struct PluginListing {
  std::vector<PluginFile> files;  ///< in search order
  std::vector<PluginDirectoryProblem> problems;
};

/// Every plugin file, by reading the directories. Symbolic links that are aliases are not among them.
PluginListing list_plugins();

/// The files for one name, in search order, without reading directories.
std::vector<PluginFile> find_plugins(std::string_view name);

/// The backend that a vendor's symbolic link libanyplace_backend_<name>.so makes `name` an alias of; empty if none
/// does.
std::string link_alias(std::string_view name);

/// Puts a file before all others. It is absolute and has a plugin's name (checked by the caller).
void add_registered(PluginFile file);

}  // namespace anyplace::detail
