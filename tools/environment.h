// SPDX-License-Identifier: Apache-2.0
// Environment: the facts of the machine and the process that decide which plugins are found, for `anyplace doctor`.
#pragma once

#include <anyplace/plugins.h>

#include <string>
#include <vector>

namespace anyplace::tool {

struct Variable {
  std::string name;
  std::string value;
  std::string meaning;  ///< its purpose; "" if nothing that is installed reads it
};

struct Environment {
  std::string library;  ///< the file of the library that this process has loaded; "" if unknown
  bool raised_privileges = false;
  std::vector<Variable> variables;  ///< all that start with ANYPLACE_, sorted
  std::vector<PluginDirectory> directories;
};

/// The library's own kernels, a text for each set: "anyplace_sum_kernels: hsaco gfx90a, ptx sm_52, spirv,
/// shared_object".
std::vector<std::string> own_kernels();

/// `backends` are names whose own variables (ANYPLACE_<NAME>_...) then have a meaning.
Environment read_environment(const std::vector<std::string>& backends);

}  // namespace anyplace::tool
