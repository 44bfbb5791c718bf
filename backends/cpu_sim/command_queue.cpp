// SPDX-License-Identifier: Apache-2.0
#include "command_queue.h"

#include <algorithm>

namespace anyplace::cpu_sim {
namespace {

// The first chunk is small because there may be ten thousand streams; later ones grow with the queue. A chunk of at
// most kKept bytes stays when its queue runs empty, so that a stream in steady use allocates nothing.
constexpr std::size_t kFirst = 512;
constexpr std::size_t kLargest = 16384;
constexpr std::size_t kKept = 1024;

}  // namespace

struct alignas(CommandQueue::kAlignment) CommandQueue::Chunk {
  Chunk* next = nullptr;
  std::size_t capacity = 0;  // of data()
  std::size_t used = 0;      // by commands, once the next chunk has been started

  std::byte* data() noexcept { return reinterpret_cast<std::byte*>(this) + sizeof(Chunk); }
};

CommandQueue::Chunk* CommandQueue::new_chunk(std::size_t capacity) {
  void* memory = ::operator new (sizeof(Chunk) + capacity, std::align_val_t{kAlignment});
  auto* chunk = ::new (memory) Chunk;
  chunk->capacity = capacity;
  return chunk;
}

void CommandQueue::free_chunk(Chunk* chunk) noexcept { ::operator delete (chunk, std::align_val_t{kAlignment}); }

CommandQueue::~CommandQueue() {
  if (head_ != nullptr) free_chunk(head_);
}

Command* CommandQueue::front() const noexcept {
  if (count_ == 0) return nullptr;
  return std::launder(reinterpret_cast<Command*>(head_->data() + read_));
}

void* CommandQueue::make_room(std::size_t bytes) {
  if (tail_ != nullptr && tail_->capacity - write_ >= bytes) return tail_->data() + write_;
  const std::size_t grown = tail_ == nullptr ? kFirst : std::min(2 * tail_->capacity, kLargest);
  Chunk* chunk = new_chunk(std::max(grown, bytes));
  if (count_ == 0) {
    // An empty queue keeps at most one chunk, too small for this command.
    if (head_ != nullptr) free_chunk(head_);
    head_ = chunk;
    read_ = 0;
  } else {
    tail_->next = chunk;
    tail_->used = write_;
  }
  tail_ = chunk;
  write_ = 0;
  return chunk->data();
}

void CommandQueue::append(Command& command, std::size_t bytes) noexcept {
  command.bytes_ = static_cast<uint32_t>(bytes);
  write_ += bytes;
  ++count_;
}

void CommandQueue::pop(std::size_t bytes) noexcept {
  --count_;
  read_ += bytes;
  if (count_ == 0) {
    // head_ == tail_: chunks before the last are left as soon as they are read.
    if (head_->capacity > kKept) {
      free_chunk(head_);
      head_ = tail_ = nullptr;
    }
    read_ = write_ = 0;
  } else if (head_ != tail_ && read_ == head_->used) {
    Chunk* done = head_;
    head_ = done->next;
    read_ = 0;
    free_chunk(done);
  }
}

}  // namespace anyplace::cpu_sim
