// SPDX-License-Identifier: Apache-2.0
#include "stream_pool.h"

#include <mutex>
#include <new>

#include "stream.h"

namespace anyplace::cpu_sim {
namespace {

// Of the process, and never destroyed: threads may still use it while it exits.
struct Pool {
  SpinLock lock;
  Stream* free = nullptr;  // guarded by lock
  Stream* all = nullptr;   // guarded by lock; so that a leak checker finds those in use
};
constinit Pool pool;

}  // namespace

Stream& StreamPool::take() {
  {
    std::lock_guard lock(pool.lock);
    if (Stream* const stream = pool.free) {
      pool.free = std::exchange(stream->next_free_, nullptr);
      return *stream;
    }
  }
  auto* const stream = new Stream;
  std::lock_guard lock(pool.lock);
  stream->next_made_ = std::exchange(pool.all, stream);
  return *stream;
}

void StreamPool::give_back(Stream& stream) noexcept {
  std::lock_guard lock(pool.lock);
  stream.next_free_ = std::exchange(pool.free, &stream);
}

}  // namespace anyplace::cpu_sim
