// SPDX-License-Identifier: Apache-2.0
#include "runtime/asymmetric_fence.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <thread>

#include "anyplace/backend/kit/shortage.h"
#include "runtime/switch_variable.h"

namespace anyplace::detail {
namespace {

long membarrier(int command) noexcept { return syscall(SYS_membarrier, command, 0, 0); }

bool wanted() noexcept {
  static const bool is_wanted = switch_variable("ANYPLACE_MEMBARRIER", true);
  return is_wanted;
}

enum class Answer { unknown, no, yes };

constexpr int attempts = 100;  // the system may lack memory for a moment

Answer ask() noexcept {
  if (!wanted()) return Answer::no;
  for (int i = 0; i < attempts; ++i) {
    if (membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) == 0 &&
        membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0) {
      return Answer::yes;
    }
    if (!backend::is_shortage(errno)) return Answer::no;
    std::this_thread::yield();
  }
  return Answer::unknown;
}

}  // namespace

/// An answer of yes or no is kept for good. While the system gives no answer (it lacks memory), this is false and the
/// next call asks again; a thread that was told no then stays on the slow path.
bool have_asymmetric_fence() noexcept {
  static constinit std::atomic<Answer> answer{Answer::unknown};
  Answer before = Answer::unknown;
  if (answer.load(std::memory_order_acquire) == before) answer.compare_exchange_strong(before, ask());
  return answer.load(std::memory_order_acquire) == Answer::yes;
}

bool heavy_fence() noexcept {
  for (int i = 0; i < attempts; ++i) {
    if (membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED) == 0) return true;
    std::this_thread::yield();
  }
  return false;
}

}  // namespace anyplace::detail
