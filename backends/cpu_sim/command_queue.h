// SPDX-License-Identifier: Apache-2.0
//
// The commands of one stream lie one behind the other in chunks of memory. The most frequent ones are plain bytes: a
// kernel over a grid of one takes 16, and with arguments 16 more and what their values take; a wait, a short copy and a
// short fill take 32. Any other command is an object of its own type with 16 bytes in front of it. Chunks are reused,
// so a stream in steady use allocates nothing.
//
// The queue has two sides, which share only the chunks and Front::spare:
//   - the back: emplace_...(), called under the stream's submit lock, writes behind what was submitted before;
//   - the front: front() and pop(), called without a lock by the stream's owner. It reads only what was submitted: the
//     stream's count of submissions, which is stored after the entry was written, says how far that is.
// rest() and clear() belong to both sides: the owner calls them, under the lock, when the queue is empty.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>
#include <utility>

#include <anyplace/backend/abi.h>

#include "command.h"

namespace anyplace::cpu_sim {

class Kernel;
class Timeline;

/// PackedArguments are those of a launch of one block: they tell how large each value is, 4 or 8 bytes. The values lie
/// behind it, in their order, each aligned to its size.
struct PackedArguments {
  static constexpr std::uint32_t most = 15;
  std::uint8_t count;
  std::uint8_t sizes[most];

  std::byte* values() noexcept { return reinterpret_cast<std::byte*>(this + 1); }
};
static_assert(sizeof(PackedArguments) == 16);

/// One thread makes such a copy or fill.
struct ShortCopy {
  anyplace_address source;
  std::uint64_t bytes;
};
struct ShortFill {
  std::uint64_t count;
  std::uint64_t width;
};

/// Each command begins with an Entry: 16 bytes, which may be followed by more.
struct Entry {
  enum Kind : std::uint32_t {
    launch,     // It launches one block of the size `packed` of `kernel`; PackedArguments follow if there are any.
    wait,       // It waits until the timeline reaches the number that follows the entry.
    copy,       // It copies to `address`; a ShortCopy follows the entry.
    fill,       // It fills at `address` with the value `packed`; a ShortFill follows the entry.
    object,     // A Command follows the entry.
    for_host,   // A HostCommand follows the entry.
    next_chunk  // It is no command: the queue goes on in the chunk `next`.
  };
  std::uint32_t kind : 3;
  std::uint32_t units : 29;  // This is its size, with all that follows, in units of 16 bytes.
  std::uint32_t packed;
  union {
    Kernel* kernel;
    Timeline* timeline;
    anyplace_address address;
    void* next;
  };

  std::uint64_t& target() noexcept { return *reinterpret_cast<std::uint64_t*>(this + 1); }
  ShortCopy& short_copy() noexcept { return *std::launder(reinterpret_cast<ShortCopy*>(this + 1)); }
  ShortFill& short_fill() noexcept { return *std::launder(reinterpret_cast<ShortFill*>(this + 1)); }
  /// Returns null for a launch without arguments.
  PackedArguments* arguments() noexcept {
    return units == 1 ? nullptr : std::launder(reinterpret_cast<PackedArguments*>(this + 1));
  }
  Command& command() noexcept { return *std::launder(reinterpret_cast<Command*>(this + 1)); }
  HostCommand& host_command() noexcept { return static_cast<HostCommand&>(command()); }
};
static_assert(sizeof(Entry) == 16);
inline constexpr std::uint32_t most_units = (1u << 29) - 1;

class CommandQueue {
 public:
  static constexpr std::size_t alignment = 16;  // Entries, commands and tails have it.
  /// This is the longest tail: the size of a longer one wouldn't fit into Entry::units.
  static constexpr std::size_t max_tail_bytes = std::size_t{1} << 30;

  /// The front's data is kept apart, so that it shares no cache line with the back.
  struct Front {
    Entry* entry = nullptr;
    void* chunk = nullptr;
    std::atomic<void*> spare{nullptr};  // The front has emptied it; the back uses it again.
  };

  explicit CommandQueue(Front& front) noexcept : front_(front) {}
  CommandQueue(const CommandQueue&) = delete;
  CommandQueue& operator=(const CommandQueue&) = delete;
  ~CommandQueue() = default;  // clear() frees the chunks; a stream's memory is never freed (stream_pool.h).

  // -- The back. Each throws std::bad_alloc, which leaves the queue as it was.
  /// Returns memory for `value_bytes` of values, which the caller writes, or null if there are no arguments.
  std::byte* emplace_launch(Kernel& kernel, std::uint32_t packed_block, const PackedArguments& arguments,
                            std::uint32_t value_bytes) {
    const auto units = arguments.count == 0 ? 1 : static_cast<std::uint32_t>(2 + units_of(value_bytes));
    Entry* entry = make_room(units);
    entry->kind = Entry::launch, entry->units = units & most_units, entry->packed = packed_block;
    entry->kernel = &kernel;
    back_ = entry + units;
    if (units == 1) return nullptr;
    return (::new (static_cast<void*>(entry + 1)) PackedArguments(arguments))->values();
  }
  void emplace_copy(anyplace_address destination, anyplace_address source, std::uint64_t bytes) {
    Entry* entry = make_room(2);
    entry->kind = Entry::copy, entry->units = 2, entry->packed = 0, entry->address = destination;
    ::new (static_cast<void*>(entry + 1)) ShortCopy{source, bytes};
    back_ = entry + 2;
  }
  void emplace_fill(anyplace_address address, std::uint32_t value, std::uint32_t width, std::uint64_t count) {
    Entry* entry = make_room(2);
    entry->kind = Entry::fill, entry->units = 2, entry->packed = value, entry->address = address;
    ::new (static_cast<void*>(entry + 1)) ShortFill{count, width};
    back_ = entry + 2;
  }
  void emplace_wait(Timeline& timeline, std::uint64_t target) {
    Entry* entry = make_room(2);
    entry->kind = Entry::wait, entry->units = 2, entry->packed = 0, entry->timeline = &timeline;
    entry->target() = target;
    back_ = entry + 2;
  }
  /// Makes a T with `tail_bytes` of uninitialised memory behind it (tail_of).
  template <class T, class... Args>
  T& emplace(std::size_t tail_bytes, Args&&... args) {
    static_assert(alignof(T) <= alignment);
    static_assert(noexcept(T(std::forward<Args>(args)...)), "room that was made must get its command");
    const std::size_t units = 1 + units_of(sizeof(T)) + units_of(tail_bytes);
    Entry* entry = make_room(units);
    T* command = ::new (static_cast<void*>(entry + 1)) T(std::forward<Args>(args)...);
    entry->kind = std::is_base_of_v<HostCommand, T> ? Entry::for_host : Entry::object;
    entry->units = static_cast<std::uint32_t>(units) & most_units, entry->packed = 0;
    entry->next = nullptr;
    back_ = entry + units;
    return *command;
  }
  template <class T>
  static void* tail_of(T& command) noexcept {
    return reinterpret_cast<Entry*>(&command) + units_of(sizeof(T));
  }
  template <class T>
  static const void* tail_of(const T& command) noexcept {
    return reinterpret_cast<const Entry*>(&command) + units_of(sizeof(T));
  }

  // -- The front. These are called only while something that was submitted has not been popped.
  Entry& front() noexcept {
    if (front_.entry->kind == Entry::next_chunk) [[unlikely]]
      next_chunk();
    return *front_.entry;
  }
  /// Removes the front entry; the caller has destroyed a command in it.
  void pop() noexcept {
    front_.entry += front_.entry->units;
    __builtin_prefetch(front_.entry + ahead, 0);
  }

  /// Reduces an empty queue's memory, unless the limit for all queues lets it keep what it has. Returns a chunk, or
  /// null, which the caller gives to free_chunk() without the lock.
  [[nodiscard]] void* rest() noexcept;
  static void free_chunk(void* chunk) noexcept;
  /// Does the same as rest(), but leaves the queue without memory.
  [[nodiscard]] void* clear() noexcept;

 private:
  struct Chunk;
  /// Prefetches for writing. GCC's __builtin_prefetch does that only if it compiles for a named processor; else it
  /// prefetches for reading, and the later store still waits.
  static void fetch_to_write(const Entry* entry) noexcept {
#if defined(__x86_64__)
    asm volatile("prefetchw %0" : : "m"(*entry));
#else
    __builtin_prefetch(entry, 1);
#endif
  }
  static constexpr int ahead = 20;  // So many entries are five cache lines.

  static constexpr std::size_t units_of(std::size_t bytes) noexcept {
    return (bytes + sizeof(Entry) - 1) / sizeof(Entry);
  }
  /// Makes room for `units`, and for one more behind them, for the entry that leads to the next chunk.
  Entry* make_room(std::size_t units) {
    if (static_cast<std::size_t>(end_ - back_) <= units) [[unlikely]]
      return make_chunk(units);
    // A reused chunk is in the cache of the thread that executed its last commands.
    fetch_to_write(end_ - back_ > ahead ? back_ + ahead : back_);
    return back_;
  }
  Entry* make_chunk(std::size_t units);
  void next_chunk() noexcept;
  static bool keep(Chunk& chunk) noexcept;

  Entry* back_ = nullptr;  // The next entry goes here.
  Entry* end_ = nullptr;   // The chunk in use ends here.
  Chunk* back_chunk_ = nullptr;
  Front& front_;
};

}  // namespace anyplace::cpu_sim
