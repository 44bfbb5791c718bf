// SPDX-License-Identifier: Apache-2.0
// `anyplace version`: which library is loaded, which headers the command was built with, which plugins they take.
#include "anyplace/backend/abi.h"
#include "commands.h"
#include "environment.h"
#include "json.h"

namespace anyplace::tool {

Answer run_version(const Options& options) {
  if (options.json) return {dump(version_json()), "", exit_ok};
  std::string text = std::string("anyplace ") + version() + "\n";
  text += std::string("headers  ") + ANYPLACE_VERSION + "\n";
  text += "plugins  ABI " + std::to_string(ANYPLACE_ABI_MAJOR) + "." + std::to_string(ANYPLACE_ABI_MINOR) +
          " (any plugin of major " + std::to_string(ANYPLACE_ABI_MAJOR) + ")\n";
  for (const std::string& kernels : own_kernels()) text += "kernels  " + kernels + "\n";
  return {text, "", exit_ok};
}

}  // namespace anyplace::tool
