// SPDX-License-Identifier: Apache-2.0
#include "runtime/switch_variable.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "runtime/text.h"

namespace anyplace::detail {

bool switch_variable(const char* name, bool otherwise) noexcept {
  const char* const value = std::getenv(name);
  if (value == nullptr || *value == '\0') return otherwise;
  if (std::strcmp(value, "0") == 0) return false;
  if (std::strcmp(value, "1") == 0) return true;
  const char* const stays = otherwise ? "on, as without it" : "off, as without it";
  try {
    std::fprintf(stderr, "anyplace: warning: %s is %s; allowed are 0 (off) and 1 (on): it is %s\n", name,
                 in_quotes(value).c_str(), stays);
  } catch (...) {  // there is no memory to show the value
    std::fprintf(stderr, "anyplace: warning: %s is neither 0 (off) nor 1 (on): it is %s\n", name, stays);
  }
  return otherwise;
}

bool log_wanted() noexcept {
  static const bool wanted = switch_variable("ANYPLACE_LOG", false);
  return wanted;
}

}  // namespace anyplace::detail
