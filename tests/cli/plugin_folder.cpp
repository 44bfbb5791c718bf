// SPDX-License-Identifier: Apache-2.0
#include "plugin_folder.h"

#include <filesystem>
#include <fstream>

namespace anyplace::test {

std::string PluginFolder::file(const std::string& name) const {
  return folder_.file("libanyplace_backend_" + name + ".so");
}

PluginFolder& PluginFolder::add(const std::string& plugin, const std::string& name) {
  std::filesystem::copy_file(
      std::filesystem::path(ANYPLACE_TEST_PLUGINS) / plugin / ("libanyplace_backend_" + plugin + ".so"), file(name));
  return *this;
}

PluginFolder& PluginFolder::add_cpu_sim() {
  std::filesystem::copy_file(ANYPLACE_CPU_SIM_PLUGIN, file("cpu_sim"));
  return *this;
}

PluginFolder& PluginFolder::add_empty(const std::string& name) {
  std::ofstream(file(name)).flush();
  return *this;
}

PluginFolder& PluginFolder::add_truncated(const std::string& name) {
  std::filesystem::copy_file(ANYPLACE_CPU_SIM_PLUGIN, file(name));
  std::filesystem::resize_file(file(name), std::filesystem::file_size(file(name)) / 2);
  return *this;
}

}  // namespace anyplace::test
