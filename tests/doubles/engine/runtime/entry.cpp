// SPDX-License-Identifier: Apache-2.0
#include "entry.h"

#include <string>

namespace anyplace::doubles {

int check_phase(const char* symbol) {
  if (Engine::in_user_code() && (vendor.begin != nullptr || phase() == Phase::ready)) {
    misuses().add(std::string(symbol) + " was called inside a host function or a kernel");
    return vendor.not_permitted;
  }
  if (vendor.begin != nullptr && phase() == Phase::uninitialised) {
    if (const int result = vendor.begin(); result != 0) return result;
  }
  switch (phase()) {
    case Phase::ready:
      return 0;
    case Phase::ended:
      return code::deinitialized;
    default:
      return code::not_initialized;
  }
}

}  // namespace anyplace::doubles
