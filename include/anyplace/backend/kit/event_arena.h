// SPDX-License-Identifier: Apache-2.0
//
// EventArena: interprocess events for a vendor that has none, made of counters in shared memory. A process has one
// arena for the events that it makes, and one more for each process whose events it has opened.
//
// A stream that records an event of the arena has a timeline in it, whose value only rises: the backend's own thread
// raises it when the stream's work is done. An event's most recent record is a timeline and a target on it, in one
// word. Whoever waits copies that word, so recording again doesn't move a wait.
//
// A timeline belongs to the member (the process, shared_arena.h) whose stream it counts for. If that process ends
// before a target is reached, the target never is: a thread that waits for it checks now and then whether the process
// lives, and finds State::gone. A timeline whose targets won't all be reached, or whose process ended, gets a new
// generation, and records of an older generation are gone as well.
#pragma once

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "process_access.h"
#include "results.h"
#include "shared_arena.h"
#include "start_thread.h"

namespace anyplace::backend {

/// An event's record in one word: the index of a timeline, its generation, and the target on it. 0 means never
/// recorded.
struct SharedRecord {
  static constexpr unsigned index_bits = 12;                                  ///< bits of the timeline's number
  static constexpr unsigned generation_bits = 8;                              ///< bits of its generation
  static constexpr unsigned target_bits = 64 - index_bits - generation_bits;  ///< bits of the target

  std::uint64_t word = 0;  ///< the whole record

  /// The record of that target. Only the lower bits of the generation are kept.
  static SharedRecord of(std::uint32_t index, std::uint32_t generation, std::uint64_t target) noexcept {
    constexpr std::uint64_t generations = (1u << generation_bits) - 1;
    return {(std::uint64_t{index} << generation_bits | (generation & generations)) << target_bits | target};
  }
  /// Whether it is no record: the event was never recorded.
  bool empty() const noexcept { return word == 0; }
  /// The number of the timeline.
  std::uint32_t index() const noexcept { return static_cast<std::uint32_t>(word >> (generation_bits + target_bits)); }
  /// The generation of the timeline, as far as it is kept.
  std::uint32_t generation() const noexcept {
    return static_cast<std::uint32_t>(word >> target_bits) & ((1u << generation_bits) - 1);
  }
  /// The value that the timeline has when the record is complete.
  std::uint64_t target() const noexcept { return word & ((std::uint64_t{1} << target_bits) - 1); }
};

/// The layout of the shared memory. It consists of atomics, which are 0 at first.
struct EventArenaLayout {
  /// The records of one stream, which are complete in order.
  struct alignas(64) Timeline {
    std::atomic<std::uint64_t> value;    ///< the last target that was reached
    std::atomic<std::uint64_t> waiters;  ///< a bit for each member that waits
    std::atomic<std::uint32_t> owner;    ///< generation << 8 | member + 1; free if the low byte is 0
  };
  static constexpr std::uint32_t timelines =
      1u << SharedRecord::index_bits;            ///< how many streams of all members can record at once
  static constexpr std::uint32_t events = 4096;  ///< how many events the arena has room for

  ArenaHeader header;            ///< what each arena begins with
  Timeline timeline[timelines];  ///< the timelines, by their numbers
  /// An event of the arena.
  struct alignas(64) {
    std::atomic<std::uint64_t> record;  ///< a SharedRecord; 0 if it was never recorded
  } event[events];                      ///< the events, by their numbers
};

/// The shared memory in which a process keeps its interprocess events, as its members see it. Thread-safe.
class EventArena : public std::enable_shared_from_this<EventArena> {
 public:
  using Arena = SharedArena<EventArenaLayout>;  ///< the memory and its members
  /// What became of a record.
  enum class State {
    pending,  ///< it isn't complete
    done,     ///< it is complete
    gone,     ///< it never will be: the process that has to complete it has ended
  };

  /// The process's own arena, made at the first call that succeeds. Throws Failure(OUT_OF_MEMORY).
  static std::shared_ptr<EventArena> own();
  /// The arena of another process. Throws Failure(PEER_GONE), (OUT_OF_MEMORY), (INVALID_ARGUMENT).
  static std::shared_ptr<EventArena> join(const ArenaAddress& address);

  /// Takes over the memory, which it has joined.
  explicit EventArena(std::unique_ptr<Arena> arena) noexcept : arena_(std::move(arena)) {}
  EventArena(const EventArena&) = delete;  // it leaves once
  EventArena& operator=(const EventArena&) = delete;

  /// By what other processes find it.
  const ArenaAddress& address() const noexcept { return arena_->address(); }

  // -- Events of this process. Throws Failure(OUT_OF_MEMORY) if the arena has no room.
  /// A place for an event of this process, never recorded.
  std::uint32_t take_event();
  /// Gives the place back. Who waits for the event's record keeps waiting for that.
  void give_event(std::uint32_t event) noexcept;
  /// The word in which an event's SharedRecord is.
  std::atomic<std::uint64_t>& event(std::uint32_t number) noexcept { return (*arena_)->event[number].record; }

  // -- Recording.
  /// Counts the records of one stream of this process. The stream's work is done in order, but targets may be reached
  /// in any order, since reaching one reaches all before it. The counter lives until its last reference goes: the
  /// stream's, or that of a target that is still to be reached.
  class Counter {
   public:
    /// Counts on the timeline `index`, from `reached` on. make_counter() makes it.
    Counter(std::shared_ptr<EventArena> arena, std::uint32_t index, std::uint32_t generation,
            std::uint64_t reached) noexcept
        : issued(reached), arena_(std::move(arena)), index_(index), generation_(generation) {}
    Counter(const Counter&) = delete;  // it gives its timeline back once
    Counter& operator=(const Counter&) = delete;
    ~Counter() { arena_->give_timeline(index_, generation_); }

    /// The arena that the timeline is in.
    const EventArena& arena() const noexcept { return *arena_; }
    /// The record of a target of this counter.
    SharedRecord record(std::uint64_t target) const noexcept { return SharedRecord::of(index_, generation_, target); }
    /// Wakes the threads that wait for the target, in all processes. Thread-safe.
    void reach(std::uint64_t target) noexcept { arena_->reach(index_, target); }
    /// Called when a target won't be reached: threads that wait for any target of the timeline then find it gone.
    void abandon() noexcept;

    std::mutex submit;     ///< held while a target is chosen and what reaches it is submitted
    std::uint64_t issued;  ///< the last target; guarded by submit

   private:
    const std::shared_ptr<EventArena> arena_;
    const std::uint32_t index_;
    std::atomic<std::uint32_t> generation_;
  };
  /// Throws Failure(OUT_OF_MEMORY) if the arena has no room.
  std::shared_ptr<Counter> make_counter();

  // -- Waiting.
  /// What shared memory shows: `gone` only if the timeline has another generation by now.
  State look(const SharedRecord& record) const noexcept;
  /// Like look(), but also checks whether the process lives that has to reach the target. Reads a file if the record is
  /// pending.
  State find_out(const SharedRecord& record) const noexcept;
  /// Blocks this thread while the record is pending and left_ns(), the nanoseconds that are left, is above 0.
  template <class Left>
  State wait(const SharedRecord& record, Left&& left_ns) const noexcept;

  /// A waiting stream. A thread of the arena calls wake() once, when the stream's record is done or gone.
  class Sleeper {
   public:
    /// Is called once, on a thread of the arena: the record is done, or gone.
    virtual void wake(State state) noexcept = 0;

   protected:
    ~Sleeper() = default;
  };
  /// Arranges that the sleeper is woken when the record isn't pending any more, which may happen before this returns.
  /// Throws Failure(BACKEND_FAILED) if no thread can be started, and bad_alloc; then it isn't woken.
  void wake_when_over(const SharedRecord& record, Sleeper& sleeper);

 private:
  struct Sleeping {
    SharedRecord record;
    Sleeper* sleeper;
  };
  /// The arenas of this process: its own, and those of other processes that are open.
  struct All {
    std::mutex mutex;  // guards the members
    std::shared_ptr<EventArena> own;
    std::vector<std::pair<ArenaAddress, std::weak_ptr<EventArena>>> joined;
  };
  /// A waiting thread checks that often whether the other process lives, so an ended process is noticed that late.
  static constexpr std::int64_t look_ns = 100'000'000;
  /// It looks first after so long: most waits are over by then, and the look costs more than they do.
  static constexpr std::int64_t first_look_ns = 1'000'000;

  static All& all() {
    static All& arenas = *new All;  // never destroyed: their threads may run until the process ends
    return arenas;
  }
  static std::int64_t now_ns() noexcept {
    return std::chrono::nanoseconds(std::chrono::steady_clock::now().time_since_epoch()).count();
  }
  static constexpr std::uint32_t owner_of(std::uint32_t generation, unsigned member) noexcept {
    return generation << 8 | (member + 1);
  }
  static constexpr std::uint32_t generation_of(std::uint32_t owner) noexcept {
    return owner >> 8 & ((1u << SharedRecord::generation_bits) - 1);
  }

  void reach(std::uint32_t index, std::uint64_t target) noexcept;
  void give_timeline(std::uint32_t index, std::uint32_t generation) noexcept;
  void announce(const SharedRecord& record) const noexcept;
  void clear_member(unsigned member) noexcept;
  void watch() noexcept;
  void wake_those_over(std::unique_lock<std::mutex>& lock, bool look_at_processes) noexcept;

  const std::unique_ptr<Arena> arena_;
  // The identities of members that were seen to have ended.
  mutable std::atomic<std::uint64_t> gone_[arena_members] = {};

  std::mutex books_;                        // guards the next two; a leaf
  std::vector<std::uint32_t> free_events_;  // were given back
  std::uint32_t events_ = 0;                // how many were ever taken

  std::mutex watch_mutex_;         // guards the next three; a leaf
  std::condition_variable watch_;  // told when sleeping_ changed
  std::vector<Sleeping> sleeping_;
  bool watching_ = false;  // whether there is a thread, which keeps the arena alive
};

inline std::shared_ptr<EventArena> EventArena::own() {
  All& arenas = all();
  const std::lock_guard lock(arenas.mutex);
  if (arenas.own == nullptr) {
    std::unique_ptr<Arena> made = Arena::make("anyplace events");
    if (made == nullptr) {
      throw Failure(ANYPLACE_STATUS_OUT_OF_MEMORY,
                    std::string("there is no file in memory for shared events: ") + std::strerror(errno), errno,
                    "memfd_create");
    }
    arenas.own = std::make_shared<EventArena>(std::move(made));
  }
  return arenas.own;
}

inline std::shared_ptr<EventArena> EventArena::join(const ArenaAddress& address) {
  All& arenas = all();
  const std::lock_guard lock(arenas.mutex);
  if (arenas.own != nullptr && arenas.own->address() == address) return arenas.own;
  std::erase_if(arenas.joined, [](const auto& each) { return each.second.expired(); });
  for (const auto& [where, open] : arenas.joined) {
    if (where != address) continue;
    if (std::shared_ptr<EventArena> found = open.lock()) return found;
  }
  std::unique_ptr<Arena> arena;
  const std::string process = "process " + std::to_string(address.owner.pid);
  switch (Arena::join(address, arena)) {
    case ArenaResult::joined:
      break;
    case ArenaResult::gone:
      refuse(ANYPLACE_STATUS_PEER_GONE, process + ", which made the event, has ended");
    case ArenaResult::full:
      refuse(ANYPLACE_STATUS_OUT_OF_MEMORY,
             "the events of " + process + " are open in " + std::to_string(arena_members - 1) + " processes");
    case ArenaResult::refused:
      refuse(ANYPLACE_STATUS_BACKEND_FAILED, unopened_text("the shared events", address.owner.pid, errno));
  }
  auto joined = std::make_shared<EventArena>(std::move(arena));
  arenas.joined.emplace_back(address, joined);
  return joined;
}

/// Ends the timelines of a member that ended. Until then no other member takes them.
inline void EventArena::clear_member(unsigned member) noexcept {
  for (EventArenaLayout::Timeline& timeline : (*arena_)->timeline) {
    const std::uint32_t owner = timeline.owner.load(std::memory_order_acquire);
    if ((owner & 0xff) != member + 1) continue;
    timeline.owner.store((generation_of(owner) + 1) << 8, std::memory_order_seq_cst);
  }
}

// ---- Events and counters -------------------------------------------------------------------------------------------

inline std::uint32_t EventArena::take_event() {
  const std::lock_guard lock(books_);
  arena_->reclaim([this](unsigned member) { clear_member(member); });
  std::uint32_t taken = 0;
  if (!free_events_.empty()) {
    taken = free_events_.back();
    free_events_.pop_back();
  } else if (events_ < EventArenaLayout::events) {
    // Room is reserved here, so that giving the event back can't fail.
    if (free_events_.capacity() <= events_) free_events_.reserve(events_ * 2 + 64);
    taken = events_++;
  } else {
    refuse(ANYPLACE_STATUS_OUT_OF_MEMORY,
           "a process can have " + std::to_string(EventArenaLayout::events) + " interprocess events at a time");
  }
  event(taken).store(0, std::memory_order_release);
  return taken;
}

inline void EventArena::give_event(std::uint32_t event) noexcept {
  const std::lock_guard lock(books_);
  free_events_.push_back(event);
}

inline std::shared_ptr<EventArena::Counter> EventArena::make_counter() {
  for (std::uint32_t i = 0; i < EventArenaLayout::timelines; ++i) {
    EventArenaLayout::Timeline& timeline = (*arena_)->timeline[i];
    std::uint32_t owner = timeline.owner.load(std::memory_order_acquire);
    if ((owner & 0xff) != 0) continue;
    const std::uint32_t generation = generation_of(owner);
    if (!timeline.owner.compare_exchange_strong(owner, owner_of(generation, arena_->self()))) continue;
    return std::make_shared<Counter>(shared_from_this(), i, generation, timeline.value.load(std::memory_order_acquire));
  }
  refuse(ANYPLACE_STATUS_OUT_OF_MEMORY, "the streams that recorded a process's interprocess events are " +
                                            std::to_string(EventArenaLayout::timelines) + " already");
}

inline void EventArena::Counter::abandon() noexcept {
  const std::uint32_t next = generation_.fetch_add(1, std::memory_order_relaxed) + 1;
  (*arena_->arena_)->timeline[index_].owner.store(owner_of(next, arena_->arena_->self()), std::memory_order_seq_cst);
  arena_->reach(index_, 0);
}

/// Frees the timeline. Its value stays: records of the timeline have been reached, and the next targets are above it.
inline void EventArena::give_timeline(std::uint32_t index, std::uint32_t generation) noexcept {
  (*arena_)->timeline[index].owner.store(generation << 8, std::memory_order_release);
}

inline void EventArena::reach(std::uint32_t index, std::uint64_t target) noexcept {
  EventArenaLayout::Timeline& timeline = (*arena_)->timeline[index];
  std::uint64_t value = timeline.value.load(std::memory_order_seq_cst);
  while (value < target && !timeline.value.compare_exchange_weak(value, target, std::memory_order_seq_cst)) continue;
  // A waiter sets its bit before it looks at the value for the last time, so either it sees the new value or its bit is
  // seen here.
  if (timeline.waiters.load(std::memory_order_seq_cst) == 0) return;
  arena_->ring(timeline.waiters.exchange(0, std::memory_order_seq_cst));
}

// ---- Waiting -------------------------------------------------------------------------------------------------------

inline EventArena::State EventArena::look(const SharedRecord& record) const noexcept {
  if (record.empty()) return State::done;
  const EventArenaLayout::Timeline& timeline = (*arena_)->timeline[record.index()];
  // The generation is read last: the value is that of this generation, or the record is gone.
  const bool reached = timeline.value.load(std::memory_order_seq_cst) >= record.target();
  const std::uint32_t owner = timeline.owner.load(std::memory_order_seq_cst);
  if (generation_of(owner) != record.generation()) return State::gone;
  if (reached) return State::done;
  // Many waits of a stream may be for one process that ended: only the first one spends the time to find that out.
  const unsigned member = (owner & 0xff) - 1;
  const std::uint64_t gone = member < arena_members ? gone_[member].load(std::memory_order_relaxed) : 0;
  return gone != 0 && gone == arena_->identity_of(member) ? State::gone : State::pending;
}

inline EventArena::State EventArena::find_out(const SharedRecord& record) const noexcept {
  const State seen = look(record);
  if (seen != State::pending) return seen;
  const std::uint32_t owner = (*arena_)->timeline[record.index()].owner.load(std::memory_order_acquire);
  const unsigned member = (owner & 0xff) - 1;
  if ((owner & 0xff) != 0) {
    const std::uint64_t identity = arena_->identity_of(member);
    if (member == arena_->self() || (identity != 0 && !is_gone(identity))) return State::pending;
    gone_[member].store(identity, std::memory_order_relaxed);
  }
  // The process may have reached the target before it ended.
  return look(record) == State::done ? State::done : State::gone;
}

/// Asks that this process's doorbell is rung when the record's timeline moves.
inline void EventArena::announce(const SharedRecord& record) const noexcept {
  const std::uint64_t bit = std::uint64_t{1} << arena_->self();
  (*arena_)->timeline[record.index()].waiters.fetch_or(bit, std::memory_order_seq_cst);
}

template <class Left>
EventArena::State EventArena::wait(const SharedRecord& record, Left&& left_ns) const noexcept {
  State seen = look(record);
  for (std::int64_t most = first_look_ns; seen == State::pending; most = look_ns) {
    const std::int64_t left = left_ns();
    if (left <= 0) return find_out(record);
    arena_->sleep(std::min(left, most), [&] {
      announce(record);
      return look(record) != State::pending;
    });
    seen = find_out(record);
  }
  return seen;
}

// ---- Streams that wait ---------------------------------------------------------------------------------------------

inline void EventArena::wake_when_over(const SharedRecord& record, Sleeper& sleeper) {
  {
    const std::lock_guard lock(watch_mutex_);
    sleeping_.reserve(sleeping_.size() + 1);
    if (!watching_) {
      start_thread("anyplace-events", [self = shared_from_this()] { self->watch(); }).detach();
    }
    watching_ = true;
    sleeping_.push_back({record, &sleeper});
  }
  watch_.notify_one();
  arena_->ring(std::uint64_t{1} << arena_->self());
}

/// Wakes the streams whose records aren't pending any more. The caller holds watch_mutex_, which is released meanwhile.
inline void EventArena::wake_those_over(std::unique_lock<std::mutex>& lock, bool look_at_processes) noexcept {
  for (std::size_t i = 0; i < sleeping_.size();) {
    const Sleeping each = sleeping_[i];
    const State seen = look_at_processes ? find_out(each.record) : look(each.record);
    if (seen == State::pending) {
      ++i;
      continue;
    }
    sleeping_[i] = sleeping_.back();
    sleeping_.pop_back();
    lock.unlock();
    each.sleeper->wake(seen);
    lock.lock();
  }
}

inline void EventArena::watch() noexcept {
  // A thread that has had nothing to watch for so long ends.
  constexpr std::chrono::seconds idle{1};
  std::unique_lock lock(watch_mutex_);
  std::int64_t looked = now_ns();
  for (;;) {
    if (!watch_.wait_for(lock, idle, [this] { return !sleeping_.empty(); })) break;
    const bool look_at_processes = now_ns() - looked >= look_ns;
    if (look_at_processes) looked = now_ns();
    wake_those_over(lock, look_at_processes);
    if (sleeping_.empty()) continue;
    // A sleeper that is added while this thread is about to sleep rings the doorbell.
    arena_->sleep(look_ns, [&] {
      for (const Sleeping& each : sleeping_) announce(each.record);
      const bool over = std::any_of(sleeping_.begin(), sleeping_.end(),
                                    [this](const Sleeping& each) { return look(each.record) != State::pending; });
      lock.unlock();
      return over;
    });
    lock.lock();
  }
  watching_ = false;
}

}  // namespace anyplace::backend
