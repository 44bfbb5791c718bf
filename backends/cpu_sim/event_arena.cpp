// SPDX-License-Identifier: Apache-2.0
#include "event_arena.h"

#include <anyplace/backend/kit/process_access.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "failure.h"
#include "spin_lock.h"
#include "thread.h"

namespace anyplace::cpu_sim {
namespace {

using backend::ArenaResult;
using Arena = backend::SharedArena<EventArenaLayout>;

constexpr std::int64_t look_first_ns = 20'000;  // as help.cpp
/// How often a waiting thread looks whether the process lives that it waits for. One that ended is noticed so late.
constexpr std::int64_t look_ns = 100'000'000;
/// A thread that has nothing to watch for so long ends.
constexpr std::chrono::seconds watch_idle{1};

constexpr std::uint32_t owner_of(std::uint32_t generation, unsigned member) noexcept {
  return generation << 8 | (member + 1);
}
constexpr std::uint32_t generation_of(std::uint32_t owner) noexcept {
  return owner >> 8 & ((1u << SharedRecord::generation_bits) - 1);
}

/// The arenas that this process has: its own, and those that are open.
struct Arenas {
  std::mutex mutex;  // guards the members
  std::shared_ptr<EventArena> own;
  std::vector<std::pair<backend::ArenaAddress, std::weak_ptr<EventArena>>> joined;
};
Arenas& arenas() {
  static Arenas* const all = new Arenas;
  return *all;
}

}  // namespace

std::shared_ptr<EventArena> EventArena::own() {
  Arenas& all = arenas();
  const std::lock_guard lock(all.mutex);
  if (all.own == nullptr) {
    std::unique_ptr<Arena> made = Arena::make("anyplace cpu_sim events");
    if (made == nullptr) {
      throw Failure(ANYPLACE_STATUS_OUT_OF_MEMORY,
                    std::string("there is no file in memory for shared events: ") + std::strerror(errno), errno,
                    "memfd_create");
    }
    all.own = std::make_shared<EventArena>(std::move(made));
  }
  return all.own;
}

std::shared_ptr<EventArena> EventArena::join(const backend::ArenaAddress& address) {
  Arenas& all = arenas();
  const std::lock_guard lock(all.mutex);
  if (all.own != nullptr && all.own->address() == address) return all.own;
  std::erase_if(all.joined, [](const auto& each) { return each.second.expired(); });
  for (const auto& [where, open] : all.joined) {
    if (where != address) continue;
    if (std::shared_ptr<EventArena> found = open.lock()) return found;
  }
  std::unique_ptr<Arena> arena;
  const std::string process = "process " + std::to_string(address.owner.pid);
  switch (Arena::join(address, arena)) {
    case ArenaResult::joined:
      break;
    case ArenaResult::gone:
      fail(ANYPLACE_STATUS_PEER_GONE, process + ", which made the event, has ended");
    case ArenaResult::full:
      fail(ANYPLACE_STATUS_OUT_OF_MEMORY,
           "the events of " + process + " are open in " + std::to_string(backend::arena_members - 1) + " processes");
    case ArenaResult::refused:
      fail(ANYPLACE_STATUS_BACKEND_FAILED, backend::unopened_text("the shared events", address.owner.pid, errno));
  }
  auto joined = std::make_shared<EventArena>(std::move(arena));
  all.joined.emplace_back(address, joined);
  return joined;
}

EventArena::EventArena(std::unique_ptr<Arena> arena) : arena_(std::move(arena)) {}

/// Nothing of this process is pending in it: what is submitted keeps the arena.
EventArena::~EventArena() {
  for (const auto& [stream, counter] : counters_) {
    (*arena_)->timeline[counter->index].owner.store(counter->generation << 8, std::memory_order_release);
  }
}

/// What a member that ended had. Nobody else takes a timeline of its from it.
void EventArena::clear_member(unsigned member) noexcept {
  for (EventArenaLayout::Timeline& timeline : (*arena_)->timeline) {
    const std::uint32_t owner = timeline.owner.load(std::memory_order_acquire);
    if ((owner & 0xff) != member + 1) continue;
    timeline.owner.store((generation_of(owner) + 1) << 8, std::memory_order_seq_cst);
  }
}

// ---- Events and counters -------------------------------------------------------------------------------------------

std::uint32_t EventArena::take_event() {
  const std::lock_guard lock(books_);
  arena_->reclaim([this](unsigned member) { clear_member(member); });
  std::uint32_t taken = 0;
  if (!free_events_.empty()) {
    taken = free_events_.back();
    free_events_.pop_back();
  } else if (events_ < EventArenaLayout::events) {
    if (free_events_.capacity() <= events_)
      free_events_.reserve(events_ * 2 + 64);  // so that giving it back can't fail
    taken = events_++;
  } else {
    fail(ANYPLACE_STATUS_OUT_OF_MEMORY, "a process can have " + std::to_string(EventArenaLayout::events) +
                                            " interprocess events of cpu_sim at a time");
  }
  event(taken).store(0, std::memory_order_release);
  return taken;
}

void EventArena::give_event(std::uint32_t event) noexcept {
  const std::lock_guard lock(books_);
  free_events_.push_back(event);
}

EventArena::Counter& EventArena::counter_of(const Stream& stream) {
  const std::lock_guard lock(books_);
  std::unique_ptr<Counter>& counter = counters_[&stream];
  if (counter != nullptr) return *counter;
  auto made = std::make_unique<Counter>();
  for (std::uint32_t i = 0; i < EventArenaLayout::timelines; ++i) {
    EventArenaLayout::Timeline& timeline = (*arena_)->timeline[i];
    std::uint32_t owner = timeline.owner.load(std::memory_order_acquire);
    if ((owner & 0xff) != 0) continue;
    const std::uint32_t generation = generation_of(owner);
    if (!timeline.owner.compare_exchange_strong(owner, owner_of(generation, arena_->self()))) continue;
    made->index = i;
    made->generation = generation;
    made->issued = timeline.value.load(std::memory_order_acquire);
    counter = std::move(made);
    return *counter;
  }
  counters_.erase(&stream);
  fail(ANYPLACE_STATUS_OUT_OF_MEMORY, "the streams that recorded a process's interprocess events are " +
                                          std::to_string(EventArenaLayout::timelines) + " already");
}

void EventArena::reach(const Counter& counter, std::uint64_t target) noexcept {
  EventArenaLayout::Timeline& timeline = (*arena_)->timeline[counter.index];
  timeline.value.store(target, std::memory_order_seq_cst);
  // Whoever waits says so before it looks at the value for the last time.
  if (timeline.waiters.load(std::memory_order_seq_cst) == 0) return;
  arena_->ring(timeline.waiters.exchange(0, std::memory_order_seq_cst));
}

// ---- Waiting -------------------------------------------------------------------------------------------------------

EventArena::State EventArena::look(const SharedRecord& record) const noexcept {
  if (record.empty()) return State::done;
  const EventArenaLayout::Timeline& timeline = (*arena_)->timeline[record.index()];
  // The generation is read last: the value is that of this generation, or the record is gone.
  const bool reached = timeline.value.load(std::memory_order_seq_cst) >= record.target();
  const std::uint32_t owner = timeline.owner.load(std::memory_order_seq_cst);
  if (generation_of(owner) != record.generation()) return State::gone;
  if (reached) return State::done;
  // A stream may have many waits for a process that ended: only the first one takes long to find that out.
  const unsigned member = (owner & 0xff) - 1;
  const bool known = member < backend::arena_members && gone_[member].load(std::memory_order_relaxed) != 0 &&
                     gone_[member].load(std::memory_order_relaxed) == arena_->identity_of(member);
  return known ? State::gone : State::pending;
}

EventArena::State EventArena::find_out(const SharedRecord& record) const noexcept {
  const State seen = look(record);
  if (seen != State::pending) return seen;
  const std::uint32_t owner = (*arena_)->timeline[record.index()].owner.load(std::memory_order_acquire);
  const unsigned member = (owner & 0xff) - 1;
  if ((owner & 0xff) != 0) {
    const std::uint64_t identity = arena_->identity_of(member);
    if (member == arena_->self() || (identity != 0 && !backend::is_gone(identity))) return State::pending;
    gone_[member].store(identity, std::memory_order_relaxed);
  }
  // It may have reached the target before it ended.
  return look(record) == State::done ? State::done : State::gone;
}

/// Asks to be rung when the record's timeline moves.
void EventArena::announce(const SharedRecord& record) const noexcept {
  const std::uint64_t bit = std::uint64_t{1} << arena_->self();
  (*arena_)->timeline[record.index()].waiters.fetch_or(bit, std::memory_order_seq_cst);
}

EventArena::State EventArena::wait(const SharedRecord& record, const Deadline& deadline, bool spins) const noexcept {
  State seen = look(record);
  if (seen != State::pending) return seen;
  if (deadline.poll()) return find_out(record);
  if (spins) {
    const std::int64_t began = now_ns();
    for (std::int64_t now = began; now < began + look_first_ns; now = now_ns()) {
      for (int i = 0; i < 16; ++i) pause_briefly();
      seen = look(record);
      if (seen != State::pending) return seen;
      give_up_core(now - began);
    }
  }
  for (std::int64_t looked = now_ns();;) {
    const std::int64_t left = deadline.left_ns();
    if (left <= 0) return look(record);
    arena_->sleep(std::min(left, look_ns), [&] {
      announce(record);
      return look(record) != State::pending;
    });
    seen = look(record);
    if (seen == State::pending && now_ns() - looked >= look_ns) {
      looked = now_ns();
      seen = find_out(record);
    }
    if (seen != State::pending) return seen;
  }
}

// ---- Streams that wait ---------------------------------------------------------------------------------------------

void EventArena::wake_when_over(const SharedRecord& record, Sleeper& sleeper) {
  {
    const std::lock_guard lock(watch_mutex_);
    sleeping_.reserve(sleeping_.size() + 1);
    if (!watching_) start_thread("anyplace-shared", [self = shared_from_this()] { self->watch(); }).detach();
    watching_ = true;
    sleeping_.push_back({record, &sleeper});
  }
  watch_.notify_one();
  arena_->ring(std::uint64_t{1} << arena_->self());
}

/// Wakes the streams whose records aren't pending any more. Called under watch_mutex_, which it releases meanwhile.
void EventArena::wake_those_over(std::unique_lock<std::mutex>& lock, bool look_at_processes) noexcept {
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

void EventArena::watch() noexcept {
  std::unique_lock lock(watch_mutex_);
  std::int64_t looked = now_ns();
  for (;;) {
    if (!watch_.wait_for(lock, watch_idle, [this] { return !sleeping_.empty(); })) break;
    const bool look_at_processes = now_ns() - looked >= look_ns;
    if (look_at_processes) looked = now_ns();
    wake_those_over(lock, look_at_processes);
    if (sleeping_.empty()) continue;
    // What is added while this thread is about to sleep rings the doorbell.
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

}  // namespace anyplace::cpu_sim
