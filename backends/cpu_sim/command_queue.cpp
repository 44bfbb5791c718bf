// SPDX-License-Identifier: Apache-2.0
#include "command_queue.h"

#include <algorithm>

namespace anyplace::cpu_sim {
namespace {

// Chunks have these sizes, in units. The first chunk is small because there may be ten thousand streams; later ones
// grow with the queue. When a queue runs empty, it keeps a chunk of at most `kept` units. It keeps a larger one as long
// as all such chunks together take at most most_kept_bytes: few streams are in steady use, and they would else allocate
// their chunks again and again.
constexpr std::size_t first = 256 / sizeof(Entry);
constexpr std::size_t kept = 512 / sizeof(Entry);
constexpr std::size_t largest = 16384 / sizeof(Entry);
constexpr std::size_t most_kept_bytes = std::size_t{1} << 20;

std::atomic<std::size_t> kept_bytes{0};

}  // namespace

struct alignas(CommandQueue::alignment) CommandQueue::Chunk {
  std::uint32_t units;  // It includes the chunk's own header.
  bool kept = false;    // It says whether kept_bytes counts the chunk.

  Entry* begin() noexcept { return reinterpret_cast<Entry*>(this) + 1; }
  Entry* end() noexcept { return reinterpret_cast<Entry*>(this) + units; }
};

/// Makes a new chunk with room for `units`, and ends the old chunk, if there is one, with an entry that leads to the
/// new one. front() follows that entry only when something behind it was submitted.
Entry* CommandQueue::make_chunk(std::size_t units) {
  static_assert(sizeof(Chunk) == sizeof(Entry));
  const std::size_t least = units + 2;  // The chunk's header and the entry behind count, too.
  Chunk* chunk = static_cast<Chunk*>(front_.spare.exchange(nullptr, std::memory_order_acquire));
  if (chunk != nullptr && chunk->units < least) {
    free_chunk(chunk);
    chunk = nullptr;
  }
  if (chunk == nullptr) {
    const std::size_t grown = back_chunk_ == nullptr ? first : std::min<std::size_t>(2 * back_chunk_->units, largest);
    const std::size_t wanted = std::max(grown, least);
    void* memory = ::operator new (wanted * sizeof(Entry), std::align_val_t{alignment});
    chunk = ::new (memory) Chunk{static_cast<std::uint32_t>(wanted)};
  }
  if (back_ == nullptr) {
    front_.chunk = chunk;
    front_.entry = chunk->begin();
  } else {
    back_->kind = Entry::next_chunk, back_->units = 0, back_->packed = 0, back_->next = chunk;
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
    // The chunk in use is looked at when the queue runs empty the next time.
    return static_cast<Chunk*>(front_.spare.exchange(nullptr, std::memory_order_acquire));
  }
  if (!keep(*back_chunk_)) {
    Chunk* const left_over = std::exchange(back_chunk_, nullptr);
    front_.chunk = nullptr;
    front_.entry = back_ = end_ = nullptr;
    return left_over;
  }
  // The queue starts again at the chunk's beginning only when more than half of it is used: the lines there are in
  // another thread's cache and were not prefetched.
  if (end_ - back_ < back_chunk_->units / 2) front_.entry = back_ = back_chunk_->begin();
  return nullptr;
}

/// Returns whether an empty queue may keep the chunk.
bool CommandQueue::keep(Chunk& chunk) noexcept {
  if (chunk.units <= kept || chunk.kept) return true;
  const std::size_t bytes = chunk.units * sizeof(Entry);
  if (kept_bytes.fetch_add(bytes, std::memory_order_relaxed) + bytes <= most_kept_bytes) return chunk.kept = true;
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
  ::operator delete (memory, std::align_val_t{alignment});
}

}  // namespace anyplace::cpu_sim
