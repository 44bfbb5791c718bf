// SPDX-License-Identifier: Apache-2.0
//
// The commands of one stream, one behind the other in chunks of memory. What is submitted most takes 16 bytes (a kernel
// over a grid of one, without arguments) or 32 (a wait); any other command is an object of its own type with 16 bytes
// in front of it. Chunks are used again, so a stream in steady use allocates nothing.
//
// Two sides, which share nothing but the chunks, and Front::spare:
//   - the back, under the stream's submit lock: emplace_...(), which writes behind what was submitted before;
//   - the front, of whoever has the stream's turn, without a lock: front(), pop(). It reads only what was submitted:
//     the stream's count of submissions, stored after the entry was written, says how far that is.
// rest() and clear() are of both: under the lock, by who has the turn, when the queue is empty.
#ifndef ANYPLACE_BACKENDS_CPU_SIM_COMMAND_QUEUE_H
#define ANYPLACE_BACKENDS_CPU_SIM_COMMAND_QUEUE_H

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <utility>

#include "command.h"

namespace anyplace::cpu_sim {

class Kernel;
class Timeline;

/// The beginning of each command. 16 bytes, or followed by more.
struct Entry {
  enum Kind : uint32_t {
    kLaunch,  // of `kernel`, one block of the size `packed`, no arguments, no shared memory
    kWait,    // until the timeline reaches the number that follows the entry
    kObject,  // a Command follows the entry
    kNext     // no command: the queue goes on in the chunk `next`
  };
  uint32_t kind : 2;
  uint32_t units : 30;  // of 16 bytes that it takes, with all that follows
  uint32_t packed;
  union {
    Kernel* kernel;
    Timeline* timeline;
    void* next;
  };

  uint64_t& target() noexcept { return *reinterpret_cast<uint64_t*>(this + 1); }
  Command& command() noexcept { return *std::launder(reinterpret_cast<Command*>(this + 1)); }
};
static_assert(sizeof(Entry) == 16);
inline constexpr uint32_t kMostUnits = (1u << 30) - 1;

class CommandQueue {
 public:
  static constexpr std::size_t kAlignment = 16;  // of an entry, a command and its tail
  /// The longest tail; what is over it would not fit an entry's count.
  static constexpr std::size_t kMaxTailBytes = std::size_t{1} << 30;

  /// What the front knows. Elsewhere, so that it shares no cache line with the back.
  struct Front {
    Entry* entry = nullptr;
    void* chunk = nullptr;
    std::atomic<void*> spare{nullptr};  // a chunk that the front is done with
  };

  explicit CommandQueue(Front& front) noexcept : front_(front) {}
  CommandQueue(const CommandQueue&) = delete;
  CommandQueue& operator=(const CommandQueue&) = delete;
  ~CommandQueue() = default;  // after clear(): a stream's memory is never freed (stream_pool.h)

  // -- The back. Each throws std::bad_alloc, which leaves the queue as it was.
  void emplace_launch(Kernel& kernel, uint32_t packed_block) {
    Entry* entry = make_room(1);
    entry->kind = Entry::kLaunch, entry->units = 1, entry->packed = packed_block, entry->kernel = &kernel;
    back_ = entry + 1;
  }
  void emplace_wait(Timeline& timeline, uint64_t target) {
    Entry* entry = make_room(2);
    entry->kind = Entry::kWait, entry->units = 2, entry->packed = 0, entry->timeline = &timeline;
    entry->target() = target;
    back_ = entry + 2;
  }
  /// A T with `tail_bytes` of uninitialised memory behind it (tail_of).
  template <class T, class... Args>
  T& emplace(std::size_t tail_bytes, Args&&... args) {
    static_assert(alignof(T) <= kAlignment);
    static_assert(noexcept(T(std::forward<Args>(args)...)), "room that was made must get its command");
    const std::size_t units = 1 + units_of(sizeof(T)) + units_of(tail_bytes);
    Entry* entry = make_room(units);
    T* command = ::new (static_cast<void*>(entry + 1)) T(std::forward<Args>(args)...);
    entry->kind = Entry::kObject, entry->units = static_cast<uint32_t>(units) & kMostUnits, entry->packed = 0;
    entry->next = nullptr;
    back_ = entry + units;
    return *command;
  }
  template <class T>
  static void* tail_of(T& command) noexcept {
    return reinterpret_cast<Entry*>(&command) + units_of(sizeof(T));
  }

  // -- The front. Only while something that was submitted has not been popped.
  Entry& front() noexcept {
    if (front_.entry->kind == Entry::kNext) [[unlikely]]
      next_chunk();
    return *front_.entry;
  }
  /// Forgets the front entry; a command in it was destroyed.
  void pop() noexcept {
    front_.entry += front_.entry->units;
    __builtin_prefetch(front_.entry + kAhead, 0);
  }

  /// An empty queue goes back to little memory, unless few queues have more. Returns what is left over, to be freed by
  /// free_chunk() without the lock.
  [[nodiscard]] void* rest() noexcept;
  static void free_chunk(void* chunk) noexcept;
  /// The same, and without any.
  [[nodiscard]] void* clear() noexcept;

 private:
  struct Chunk;
  /// GCC's __builtin_prefetch fetches for reading only, unless the processor is named: then the store waits all the
  /// same.
  static void fetch_to_write(const Entry* entry) noexcept {
#if defined(__x86_64__)
    asm volatile("prefetchw %0" : : "m"(*entry));
#else
    __builtin_prefetch(entry, 1);
#endif
  }
  static constexpr int kAhead = 20;  // entries: five cache lines

  static constexpr std::size_t units_of(std::size_t bytes) noexcept {
    return (bytes + sizeof(Entry) - 1) / sizeof(Entry);
  }
  /// Room for so many units, and one more behind them for the way to the next chunk.
  Entry* make_room(std::size_t units) {
    if (static_cast<std::size_t>(end_ - back_) <= units) [[unlikely]]
      return make_chunk(units);
    // A chunk that is used again is in the cache of the thread that executed what was in it last time.
    fetch_to_write(end_ - back_ > kAhead ? back_ + kAhead : back_);
    return back_;
  }
  Entry* make_chunk(std::size_t units);
  void next_chunk() noexcept;
  static bool keep(Chunk& chunk) noexcept;

  Entry* back_ = nullptr;  // where the next entry goes
  Entry* end_ = nullptr;   // of its chunk
  Chunk* back_chunk_ = nullptr;
  Front& front_;
};

}  // namespace anyplace::cpu_sim

#endif  // ANYPLACE_BACKENDS_CPU_SIM_COMMAND_QUEUE_H
