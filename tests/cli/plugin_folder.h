// SPDX-License-Identifier: Apache-2.0
// A folder of plugin files, made for one test and removed with it.
#pragma once

#include <filesystem>
#include <string>

namespace anyplace::test {

class PluginFolder {
 public:
  PluginFolder();
  PluginFolder(const PluginFolder&) = delete;
  PluginFolder& operator=(const PluginFolder&) = delete;
  ~PluginFolder();

  std::string path() const { return path_.string(); }
  std::string file(const std::string& name) const;
  /// A copy of one of the plugins under tests/, as the plugin `name`.
  PluginFolder& add(const std::string& plugin, const std::string& name);
  PluginFolder& add(const std::string& plugin) { return add(plugin, plugin); }
  /// A copy of cpu_sim's plugin.
  PluginFolder& add_cpu_sim();
  PluginFolder& add_empty(const std::string& name);
  /// The first half of a good plugin.
  PluginFolder& add_truncated(const std::string& name);

 private:
  std::filesystem::path path_;
};

}  // namespace anyplace::test
