// SPDX-License-Identifier: Apache-2.0
#include "anyplace/version.h"

namespace anyplace {

const char* version() noexcept { return ANYPLACE_VERSION; }

}  // namespace anyplace
