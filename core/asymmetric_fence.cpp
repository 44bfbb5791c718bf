// SPDX-License-Identifier: Apache-2.0
#include "asymmetric_fence.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

namespace anyplace::detail {
namespace {

long membarrier(int command) noexcept { return syscall(SYS_membarrier, command, 0, 0); }

bool wanted() noexcept {
  const char* const value = std::getenv("ANYPLACE_MEMBARRIER");
  return value == nullptr || std::strcmp(value, "0") != 0;
}

}  // namespace

bool have_asymmetric_fence() noexcept {
  static const bool have = wanted() && membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0 &&
                           membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0;
  return have;
}

void heavy_fence() noexcept { static_cast<void>(membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED)); }

}  // namespace anyplace::detail
