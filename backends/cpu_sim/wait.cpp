// SPDX-License-Identifier: Apache-2.0
#include "wait.h"

namespace anyplace::cpu_sim {

void Gate::open() noexcept {
  Stream* woken = nullptr;
  timeline.advance(1, woken);
  if (woken != nullptr) woken->scheduler().enqueue_woken(*woken);
}

}  // namespace anyplace::cpu_sim
