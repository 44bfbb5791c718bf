// SPDX-License-Identifier: Apache-2.0
//
// EventArena: what processes share of their events. A process has one arena for the events that it makes, and one more
// for each process whose events it has opened.
//
// It is the engine's own scheme once more, with numbers for pointers: a stream that records an event of the arena has a
// timeline in it, whose value only rises, and an event's most recent record is a timeline and a target on it, in one
// word. Whoever waits copies that word, so recording again doesn't move a wait.
//
// A timeline belongs to the member whose stream it counts for. If that member ends before a target is reached, the
// target never is: whoever waits for it finds that out (State::gone) when it looks whether the member lives, which it
// does while it sleeps. When the arena's owner gives the timelines of such a member to others, their generation
// changes, and records of an older one are gone as well.
#pragma once

#include <anyplace/backend/device_backend.h>
#include <anyplace/backend/kit/shared_arena.h>

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "clock.h"

namespace anyplace::cpu_sim {

class Stream;

/// An event's record, in one word: which timeline, of which generation, and the target on it. 0: never recorded.
struct SharedRecord {
  static constexpr unsigned index_bits = 12, generation_bits = 8;
  static constexpr unsigned target_bits = 64 - index_bits - generation_bits;

  std::uint64_t word = 0;

  static SharedRecord of(std::uint32_t index, std::uint32_t generation, std::uint64_t target) noexcept {
    constexpr std::uint64_t generations = (1u << generation_bits) - 1;
    return {(std::uint64_t{index} << generation_bits | (generation & generations)) << target_bits | target};
  }
  bool empty() const noexcept { return word == 0; }
  std::uint32_t index() const noexcept { return static_cast<std::uint32_t>(word >> (generation_bits + target_bits)); }
  std::uint32_t generation() const noexcept {
    return static_cast<std::uint32_t>(word >> target_bits) & ((1u << generation_bits) - 1);
  }
  std::uint64_t target() const noexcept { return word & ((std::uint64_t{1} << target_bits) - 1); }
};

/// The memory itself: atomics that are 0 at first.
struct EventArenaLayout {
  struct alignas(64) Timeline {
    std::atomic<std::uint64_t> value;
    std::atomic<std::uint64_t> waiters;  // the members that wait for it: bits
    std::atomic<std::uint32_t> owner;    // generation << 8 | member + 1; a low byte of 0: free
  };
  static constexpr std::uint32_t timelines = 1u << SharedRecord::index_bits;
  static constexpr std::uint32_t events = 4096;

  backend::ArenaHeader header;
  Timeline timeline[timelines];
  struct alignas(64) {
    std::atomic<std::uint64_t> record;
  } event[events];
};

class EventArena : public std::enable_shared_from_this<EventArena> {
 public:
  /// The process's own, made at the first call that succeeds. Throws Failure(OUT_OF_MEMORY), (UNSUPPORTED).
  static std::shared_ptr<EventArena> own();
  /// That of another process. Throws Failure(PEER_GONE), (OUT_OF_MEMORY), (INVALID_ARGUMENT).
  static std::shared_ptr<EventArena> join(const backend::ArenaAddress& address);

  explicit EventArena(std::unique_ptr<backend::SharedArena<EventArenaLayout>> arena);
  EventArena(const EventArena&) = delete;
  EventArena& operator=(const EventArena&) = delete;
  ~EventArena();

  const backend::ArenaAddress& address() const noexcept { return arena_->address(); }

  // -- Events of this process. Throws Failure(OUT_OF_MEMORY) if the arena has no room.
  std::uint32_t take_event();
  void give_event(std::uint32_t event) noexcept;
  std::atomic<std::uint64_t>& event(std::uint32_t number) noexcept { return (*arena_)->event[number].record; }

  // -- Recording.
  /// What a stream of this process counts with. `submit` is held while a target is chosen and what reaches it is
  /// submitted, so that targets are reached in their order.
  struct Counter {
    std::uint32_t index;
    std::uint32_t generation;
    std::mutex submit;
    std::uint64_t issued = 0;  // guarded by submit; the last target
  };
  /// Throws Failure(OUT_OF_MEMORY) if the arena has no room.
  Counter& counter_of(const Stream& stream);
  /// Raises a counter's value and wakes who waits for it, in any process. Called in the order of the targets.
  void reach(const Counter& counter, std::uint64_t target) noexcept;

  // -- Waiting.
  enum class State { pending, done, gone };
  /// What can be seen in memory: `gone` only if the timeline has another owner by now.
  State look(const SharedRecord& record) const noexcept;
  /// The same, after looking whether the process lives that is to reach the target. Reads a file if it is pending.
  State find_out(const SharedRecord& record) const noexcept;
  /// Blocks this thread while the record is pending; returns `pending` when time ran out first. A thread that `spins`
  /// looks for a while before it sleeps.
  State wait(const SharedRecord& record, const Deadline& deadline, bool spins) const noexcept;

  /// A stream that waits: told once, by a thread of the arena's own, that its record is done or gone.
  class Sleeper {
   public:
    virtual void wake(State state) noexcept = 0;

   protected:
    ~Sleeper() = default;
  };
  /// Has the sleeper woken when the record isn't pending any more. It may be woken before this returns. Throws
  /// Failure(BACKEND_FAILED) if no thread can be started, and bad_alloc.
  void wake_when_over(const SharedRecord& record, Sleeper& sleeper);

 private:
  struct Sleeping {
    SharedRecord record;
    Sleeper* sleeper;
  };
  void announce(const SharedRecord& record) const noexcept;
  void clear_member(unsigned member) noexcept;
  void watch() noexcept;
  void wake_those_over(std::unique_lock<std::mutex>& lock, bool look_at_processes) noexcept;

  const std::unique_ptr<backend::SharedArena<EventArenaLayout>> arena_;
  mutable std::atomic<std::uint64_t> gone_[backend::arena_members] = {};  // members that were seen to have ended: who

  std::mutex books_;                                            // guards the next three; a leaf
  std::vector<std::uint32_t> free_events_;                      // given back
  std::uint32_t events_ = 0;                                    // ever taken
  std::map<const Stream*, std::unique_ptr<Counter>> counters_;  // streams are never freed (stream_pool.h)

  std::mutex watch_mutex_;         // guards the next three; a leaf
  std::condition_variable watch_;  // sleeping_ changed
  std::vector<Sleeping> sleeping_;
  bool watching_ = false;  // there is a thread, which keeps the arena
};

}  // namespace anyplace::cpu_sim
