// SPDX-License-Identifier: Apache-2.0
#include "command_queue.h"

#include <algorithm>

namespace anyplace::cpu_sim {
namespace {

// In units, of a whole chunk. The first is small because there may be ten thousand streams; later ones grow with the
// queue. A chunk of at most kKept stays when its queue runs empty.
constexpr std::size_t kFirst = 256 / sizeof(Entry);
constexpr std::size_t kKept = 512 / sizeof(Entry);
constexpr std::size_t kLargest = 16384 / sizeof(Entry);

}  // namespace

struct alignas(CommandQueue::kAlignment) CommandQueue::Chunk {
  std::size_t units;  // with this one

  Entry* begin() noexcept { return reinterpret_cast<Entry*>(this) + 1; }
  Entry* end() noexcept { return reinterpret_cast<Entry*>(this) + units; }
};

/// Room in a new chunk, and in the old one, if there is any, the way to it. front() takes that way only when something
/// behind it was submitted.
Entry* CommandQueue::make_chunk(std::size_t units) {
  static_assert(sizeof(Chunk) == sizeof(Entry));
  const std::size_t least = units + 2;  // with the chunk's own and the way to the next
  Chunk* chunk = spare_.exchange(nullptr, std::memory_order_acquire);
  if (chunk != nullptr && chunk->units < least) {
    free_chunk(chunk);
    chunk = nullptr;
  }
  if (chunk == nullptr) {
    const std::size_t grown = back_chunk_ == nullptr ? kFirst : std::min(2 * back_chunk_->units, kLargest);
    const std::size_t wanted = std::max(grown, least);
    void* memory = ::operator new (wanted * sizeof(Entry), std::align_val_t{kAlignment});
    chunk = ::new (memory) Chunk{wanted};
  }
  if (back_ == nullptr) {
    front_chunk_ = chunk;
    front_ = chunk->begin();
  } else {
    back_->kind = Entry::kNext, back_->units = 0, back_->packed = 0, back_->next = chunk;
  }
  back_chunk_ = chunk;
  back_ = chunk->begin();
  end_ = chunk->end();
  return back_;
}

void CommandQueue::next_chunk() noexcept {
  auto* next = static_cast<Chunk*>(front_->next);
  Chunk* done = std::exchange(front_chunk_, next);
  front_ = next->begin();
  free_chunk(spare_.exchange(done, std::memory_order_acq_rel));
}

void* CommandQueue::rewind() noexcept {
  // front_chunk_ is back_chunk_, or has nothing but the way there.
  Chunk* left = nullptr;
  if (front_chunk_ != back_chunk_) {
    left = std::exchange(front_chunk_, back_chunk_);
  } else if (Chunk* spare = spare_.load(std::memory_order_relaxed); spare != nullptr && spare->units > kKept) {
    left = spare_.exchange(nullptr, std::memory_order_acquire);
  } else if (back_chunk_->units > kKept) {
    left = std::exchange(back_chunk_, nullptr);
    front_chunk_ = nullptr;
    front_ = back_ = end_ = nullptr;
    return left;
  }
  front_ = back_ = back_chunk_->begin();
  return left;
}

void* CommandQueue::clear() noexcept {
  back_ = end_ = front_ = nullptr;
  front_chunk_ = nullptr;
  free_chunk(spare_.exchange(nullptr, std::memory_order_acquire));
  return std::exchange(back_chunk_, nullptr);
}

void CommandQueue::free_chunk(void* chunk) noexcept {
  if (chunk != nullptr) ::operator delete (chunk, std::align_val_t{kAlignment});
}

}  // namespace anyplace::cpu_sim
