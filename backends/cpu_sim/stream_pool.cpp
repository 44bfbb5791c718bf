// SPDX-License-Identifier: Apache-2.0
#include "stream_pool.h"

#include <mutex>
#include <new>
#include <utility>

#include "stream.h"

namespace anyplace::cpu_sim {

Stream& StreamPool::take() {
  {
    std::lock_guard lock(lock_);
    if (Stream* const stream = free_) {
      free_ = std::exchange(stream->next_free_, nullptr);
      return *stream;
    }
  }
  auto* const stream = new Stream(*this, scheduler_);
  std::lock_guard lock(lock_);
  stream->next_made_ = std::exchange(made_, stream);
  return *stream;
}

void StreamPool::give_back(Stream& stream) noexcept {
  std::lock_guard lock(lock_);
  stream.next_free_ = std::exchange(free_, &stream);
}

}  // namespace anyplace::cpu_sim
