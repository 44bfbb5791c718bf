// SPDX-License-Identifier: Apache-2.0
// A folder of plugin files, made for one test and removed with it.
#pragma once

#include <string>

#include "support/temp_dir.h"

namespace anyplace::test {

class PluginFolder {
 public:
  std::string path() const { return folder_.path().string(); }
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
  ::test::TempDir folder_;
};

}  // namespace anyplace::test
