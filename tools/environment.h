// SPDX-License-Identifier: Apache-2.0
// Environment: what of the machine and the process decides which plugins are found, for `anyplace doctor`.
#pragma once

#include <anyplace/plugins.h>

#include <string>
#include <vector>

namespace anyplace::tool {

struct Variable {
  std::string name;
  std::string value;
  std::string meaning;  ///< "" if nothing that is installed reads it
};

struct Environment {
  std::string library;  ///< the file that this process has loaded; "" if it can't be told
  bool raised_privileges = false;
  std::vector<Variable> variables;  ///< all that start with ANYPLACE_, sorted
  std::vector<PluginDirectory> directories;
};

/// `backends`: names whose own variables (ANYPLACE_<NAME>_...) are then known.
Environment read_environment(const std::vector<std::string>& backends);

}  // namespace anyplace::tool
