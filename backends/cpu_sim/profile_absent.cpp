// SPDX-License-Identifier: Apache-2.0
//
// This file takes the place of profile.cpp where nlohmann-json was missing when the plugin was built.
#include "profile.h"

namespace anyplace::cpu_sim {

Profile load_profile(const std::string&) {
  throw ProfileError(
      "this cpu_sim reads no profiles, because nlohmann-json was missing when it was built"
      "\nbuild it where that is installed (Debian: apt-get install nlohmann-json3-dev), or unset the variable");
}

}  // namespace anyplace::cpu_sim
