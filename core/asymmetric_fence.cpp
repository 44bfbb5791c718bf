// SPDX-License-Identifier: Apache-2.0
#include "asymmetric_fence.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <thread>

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

bool heavy_fence() noexcept {
  constexpr int attempts = 100;  // it can be short of memory for a moment
  for (int i = 0; i < attempts; ++i) {
    if (membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0) return true;
    std::this_thread::yield();
  }
  return false;
}

}  // namespace anyplace::detail
