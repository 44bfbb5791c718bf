// SPDX-License-Identifier: Apache-2.0
//
// The commands of one stream, stored one behind the other in chunks: 16 bytes plus what the command itself keeps, no
// heap object each. A million queued waits take 32 MB.
//
// Guarded by the stream's mutex, with one exception on which everything rests: the front command may be executed and
// destroyed without it, by whoever has the stream's turn, because only pop() reuses its memory, and only that one pops.
#ifndef ANYPLACE_BACKENDS_CPU_SIM_COMMAND_QUEUE_H
#define ANYPLACE_BACKENDS_CPU_SIM_COMMAND_QUEUE_H

#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include "command.h"

namespace anyplace::cpu_sim {

class CommandQueue {
 public:
  static constexpr std::size_t kAlignment = 16;  // of a command and of its tail

  CommandQueue() = default;
  CommandQueue(const CommandQueue&) = delete;
  CommandQueue& operator=(const CommandQueue&) = delete;
  ~CommandQueue();  // the queue is empty

  bool empty() const noexcept { return count_ == 0; }
  Command* front() const noexcept;

  /// Appends a T with `tail_bytes` of uninitialised memory behind it (tail_of). Throws std::bad_alloc, which leaves the
  /// queue as it was.
  template <class T, class... Args>
  T& emplace(std::size_t tail_bytes, Args&&... args) {
    static_assert(alignof(T) <= kAlignment);
    static_assert(noexcept(T(std::forward<Args>(args)...)), "room that was made must get its command");
    const std::size_t bytes = round_up(sizeof(T)) + round_up(tail_bytes);
    T* command = ::new (make_room(bytes)) T(std::forward<Args>(args)...);
    append(*command, bytes);
    return *command;
  }

  template <class T>
  static void* tail_of(T& command) noexcept {
    return reinterpret_cast<std::byte*>(&command) + round_up(sizeof(T));
  }

  /// Forgets the front command, which was destroyed. `bytes` is what bytes_of said while it lived.
  void pop(std::size_t bytes) noexcept;
  static std::size_t bytes_of(const Command& command) noexcept { return command.bytes_; }

  /// The longest tail; what is over it would not fit the command's own count.
  static constexpr std::size_t kMaxTailBytes = std::size_t{1} << 30;

 private:
  struct Chunk;

  static constexpr std::size_t round_up(std::size_t bytes) noexcept {
    return (bytes + kAlignment - 1) & ~(kAlignment - 1);
  }
  void* make_room(std::size_t bytes);
  void append(Command& command, std::size_t bytes) noexcept;
  static Chunk* new_chunk(std::size_t capacity);
  static void free_chunk(Chunk* chunk) noexcept;

  Chunk* head_ = nullptr;  // with the front command
  Chunk* tail_ = nullptr;  // where the next one goes
  std::size_t read_ = 0;   // offset of the front command in head_
  std::size_t write_ = 0;  // offset of the free room in tail_
  std::size_t count_ = 0;
};

}  // namespace anyplace::cpu_sim

#endif  // ANYPLACE_BACKENDS_CPU_SIM_COMMAND_QUEUE_H
