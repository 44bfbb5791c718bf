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

void StreamPool::name(Stream& stream) noexcept {
  std::lock_guard lock(lock_);
  stream.id_ = stream.number_ = ++names_;
}

void StreamPool::forget(Stream& stream) noexcept {
  std::lock_guard lock(lock_);
  stream.id_ = 0;
}

Stream* StreamPool::find(std::uint64_t id) noexcept {
  std::lock_guard lock(lock_);
  for (Stream* stream = id == 0 ? nullptr : made_; stream != nullptr; stream = stream->next_made_) {
    if (stream->id_ != id) continue;
    stream->add_handle();  // It has its first one, or forget() would have been called.
    return stream;
  }
  return nullptr;
}

}  // namespace anyplace::cpu_sim
