// SPDX-License-Identifier: Apache-2.0
#include "command_queue.h"

#include <algorithm>

namespace anyplace::cpu_sim {
namespace {

// In units, of a whole chunk. The first is small because there may be ten thousand streams; later ones grow with the
// queue. A chunk of at most kKept stays when its queue runs empty, and a larger one while all such take at most
// kMostKeptBytes: streams in steady use are few, and would allocate their chunks again and again.
constexpr std::size_t kFirst = 256 / sizeof(Entry);
constexpr std::size_t kKept = 512 / sizeof(Entry);
constexpr std::size_t kLargest = 16384 / sizeof(Entry);
constexpr std::size_t kMostKeptBytes = std::size_t{1} << 20;

std::atomic<std::size_t> kept_bytes{0};

}  // namespace

struct alignas(CommandQueue::kAlignment) CommandQueue::Chunk {
  uint32_t units;     // with this one
  bool kept = false;  // counted in kept_bytes

  Entry* begin() noexcept { return reinterpret_cast<Entry*>(this) + 1; }
  Entry* end() noexcept { return reinterpret_cast<Entry*>(this) + units; }
};

/// Room in a new chunk, and in the old one, if there is any, the way to it. front() takes that way only when something
/// behind it was submitted.
Entry* CommandQueue::make_chunk(std::size_t units) {
  static_assert(sizeof(Chunk) == sizeof(Entry));
  const std::size_t least = units + 2;  // with the chunk's own and the way to the next
  Chunk* chunk = static_cast<Chunk*>(front_.spare.exchange(nullptr, std::memory_order_acquire));
  if (chunk != nullptr && chunk->units < least) {
    free_chunk(chunk);
    chunk = nullptr;
  }
  if (chunk == nullptr) {
    const std::size_t grown = back_chunk_ == nullptr ? kFirst : std::min<std::size_t>(2 * back_chunk_->units, kLargest);
    const std::size_t wanted = std::max(grown, least);
    void* memory = ::operator new (wanted * sizeof(Entry), std::align_val_t{kAlignment});
    chunk = ::new (memory) Chunk{static_cast<uint32_t>(wanted)};
  }
  if (back_ == nullptr) {
    front_.chunk = chunk;
    front_.entry = chunk->begin();
  } else {
    back_->kind = Entry::kNext, back_->units = 0, back_->packed = 0, back_->next = chunk;
  }
  back_chunk_ = chunk;
  back_ = chunk->begin();
  end_ = chunk->end();
  return back_;
}

void CommandQueue::next_chunk() noexcept {
  auto* next = static_cast<Chunk*>(front_.entry->next);
  void* const done = std::exchange(front_.chunk, next);
  front_.entry = next->begin();
  free_chunk(front_.spare.exchange(done, std::memory_order_acq_rel));
}

void* CommandQueue::rest() noexcept {
  if (Chunk* spare = static_cast<Chunk*>(front_.spare.load(std::memory_order_relaxed));
      spare != nullptr && !keep(*spare)) {
    // The other one is looked at when the queue rests again.
    return static_cast<Chunk*>(front_.spare.exchange(nullptr, std::memory_order_acquire));
  }
  if (!keep(*back_chunk_)) {
    Chunk* const left_over = std::exchange(back_chunk_, nullptr);
    front_.chunk = nullptr;
    front_.entry = back_ = end_ = nullptr;
    return left_over;
  }
  // From the beginning only when it is needed: there the lines are in another thread's cache, and none was fetched.
  if (end_ - back_ < back_chunk_->units / 2) front_.entry = back_ = back_chunk_->begin();
  return nullptr;
}

/// Whether an empty queue may have it.
bool CommandQueue::keep(Chunk& chunk) noexcept {
  if (chunk.units <= kKept || chunk.kept) return true;
  const std::size_t bytes = chunk.units * sizeof(Entry);
  if (kept_bytes.fetch_add(bytes, std::memory_order_relaxed) + bytes <= kMostKeptBytes) return chunk.kept = true;
  kept_bytes.fetch_sub(bytes, std::memory_order_relaxed);
  return false;
}

void* CommandQueue::clear() noexcept {
  back_ = end_ = front_.entry = nullptr;
  front_.chunk = nullptr;
  free_chunk(static_cast<Chunk*>(front_.spare.exchange(nullptr, std::memory_order_acquire)));
  return std::exchange(back_chunk_, nullptr);
}

void CommandQueue::free_chunk(void* memory) noexcept {
  if (memory == nullptr) return;
  const Chunk& chunk = *static_cast<Chunk*>(memory);
  if (chunk.kept) kept_bytes.fetch_sub(chunk.units * sizeof(Entry), std::memory_order_relaxed);
  ::operator delete (memory, std::align_val_t{kAlignment});
}

}  // namespace anyplace::cpu_sim
