// SPDX-License-Identifier: Apache-2.0
#include "advice.h"

#include <anyplace/backend/abi.h>

namespace anyplace::tool {

std::string advice(std::string_view code, const std::string& backend) {
  if (code == "library_missing") {
    return "install the vendor's driver package, which brings the library named above; `ldconfig -p` shows what the "
           "loader finds, LD_LIBRARY_PATH adds to it";
  }
  if (code == "no_driver") {
    return "install, load or update the vendor's kernel driver, and check that this user may open its device files";
  }
  if (code == "plugin_refused") {
    return "replace the file by one built for this machine and for plugin ABI " + std::to_string(ANYPLACE_ABI_MAJOR) +
           ", or remove it";
  }
  if (code == "invalid_argument") return "correct the setting named above";
  if (code == "no_such_device") {
    return "check that the device is there, that the vendor's own tool shows it, and that no variable hides it";
  }
  if (code == "shadowed") {
    return "nothing, if the other file is the one that you want; else remove one of the two, or name the directory of "
           "this one first in ANYPLACE_BACKEND_PATH";
  }
  if (code == "crashed" || code == "timed_out" || code == "garbled") {
    return "an application that asks for " + backend +
           " fares the same: remove the file, or have its vendor mend it; `gdb "
           "--args anyplace info " +
           backend + "` shows where it happens";
  }
  if (code == "not_started") return "see that /proc is mounted and that this user may start another process";
  return "ask the plugin's vendor, and show them this output";
}

}  // namespace anyplace::tool
