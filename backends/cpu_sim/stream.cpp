// SPDX-License-Identifier: Apache-2.0
#include "stream.h"

#include "clock.h"
#include "kernel.h"
#include "stream_pool.h"
#include "thread.h"

namespace anyplace::cpu_sim {
namespace {

// How long a stream keeps its thread while others as urgent are ready. (More urgent ones get it at the next command.)
// The clock is read at every kClockCommands-th command only: reading it takes as long as a short kernel.
constexpr unsigned kTurnCommands = 16;
constexpr unsigned kClockCommands = 4;
// A worker that has run all that it knew of leaves fewer new commands than these for later: each command that is read
// as soon as it was written costs both threads more than running it.
constexpr uint64_t kFewCommands = 64;
// Streams that wake each other are run by one thread one after the other so many times; then others are looked at.
constexpr int kMostStreams = 64;
constexpr int64_t kTurnNs = 100'000;

constexpr uint64_t kNoTarget = UINT64_MAX;

}  // namespace

Stream::Stream(StreamPool& pool, Scheduler& scheduler) noexcept
    : scheduler_(scheduler), wakeup_(*this), spread_(*this), pool_(pool) {}

// ---- Life ----------------------------------------------------------------------------------------------------------

void Stream::open(Device& device, uint64_t cookie, int32_t priority, Rule rule) noexcept {
  device_ = &device;
  cookie_ = cookie;
  rule_ = rule;
  null_seen_ = 0;
  set_level(level_of(priority));
  spread_.adopt_level();
  {
    std::lock_guard lock(lock_);
    handles_ = 1;
    for (SubmittedWait& wait : waits_) wait = {};
  }
  device.add(*this);
}

void Stream::add_handle() noexcept {
  std::lock_guard lock(lock_);
  ++handles_;
}

void Stream::drop_handle() noexcept {
  bool last = false;
  {
    std::lock_guard lock(lock_);
    last = --handles_ == 0 && !active_.load(std::memory_order_relaxed);
  }
  if (last) recycle();
}

/// By who found that there is no handle and no work: from then on nobody else can reach it.
void Stream::recycle() noexcept {
  device_->remove(*this);
  CommandQueue::free_chunk(queue_.clear());
  pool_.give_back(*this);
}

/// False if something was submitted meanwhile. Else the stream is no longer the caller's.
bool Stream::go_idle(uint64_t retired) noexcept {
  void* left_over = nullptr;
  bool last = false;
  {
    std::lock_guard lock(lock_);
    if (submitted_.load(std::memory_order_relaxed) != retired) return false;
    active_.store(false, std::memory_order_release);
    kernels_ = 0;
    left_over = queue_.rest();
    last = handles_ == 0;
  }
  CommandQueue::free_chunk(left_over);
  if (last) recycle();
  return true;
}

// ---- Submitting ----------------------------------------------------------------------------------------------------

void Stream::submit_wait(const Record& record) {
  // What is earlier in the same stream, or complete, is no wait; but the null stream's rule holds all the same.
  if (record.timeline == &timeline_ || record.timeline == nullptr ||
      (!record.timeline->owner()->works_at(record.target) && record.complete())) {
    mark();
  } else {
    ordered([&] { return push_wait(record); });
  }
}

uint64_t Stream::push_wait(const Record& record) {
  return push([&] {
    queue_.emplace_wait(*record.timeline, record.target);
    waits_[next_wait_] = {record, submitted_.load(std::memory_order_relaxed) + 1};
    next_wait_ = static_cast<uint8_t>((next_wait_ + 1) % kWaits);
  });
}

Stream::Dependencies Stream::dependencies(uint64_t target) noexcept {
  Dependencies found;
  found.records[0] = waits_for_.read();
  std::lock_guard lock(lock_);
  unsigned count = 1;
  for (const SubmittedWait& wait : waits_) {
    if (wait.number <= target) found.records[count++] = wait.record;
  }
  return found;
}

namespace {

/// Is destroyed when the stream gets there.
class DropKernel final : public Command {
 public:
  explicit DropKernel(Ref<Kernel> kernel) noexcept : kernel_(std::move(kernel)) {}
  Progress execute(Stream&) noexcept override { return Progress::kDone; }

 private:
  Ref<Kernel> kernel_;
};

}  // namespace

void Stream::let_go(const Ref<Kernel>& kernel) noexcept {
  std::lock_guard lock(lock_);
  // What is complete has been left by the thread that ran it, also if that is yet to find that there is nothing more.
  if ((kernels_ & kernel->mark()) == 0) {
    backend::acquire_from_sanitizer(&timeline_);  // who forgot its launches had seen them complete
    return;
  }
  if (timeline_.reached(submitted_.load(std::memory_order_relaxed))) return;
  try {
    queue_.emplace<DropKernel>(0, Ref<Kernel>(kernel));
    backend::release_to_sanitizer(&submitted_);
    submitted_.store(submitted_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  } catch (const std::bad_alloc&) {
    kernel->retain();  // it may be in use: rather a leak
  }
}

// ---- Executing -----------------------------------------------------------------------------------------------------

/// False if the stream was parked.
bool Stream::wait(Timeline& timeline, uint64_t target) noexcept {
  if (timeline.reached(target)) return true;
  waits_for_.write({&timeline, target});
  return !park(timeline, target);
}

/// False if the stream went elsewhere: neither it nor the entry may be touched then.
bool Stream::execute(Entry& entry) noexcept {
  switch (entry.kind) {
    case Entry::kLaunch:
      entry.kernel->run_one(entry.packed, cookie_);
      return true;
    case Entry::kWait:
      return wait(*entry.timeline, entry.target());
    default:
      if (entry.command().execute(*this) == Progress::kElsewhere) return false;
      entry.command().~Command();
      return true;
  }
}

/// Whether the turn will end at the next command, without running anything. For a holder that has seen it submitted.
bool Stream::parks_next() noexcept {
  Entry& entry = queue_.front();
  return entry.kind == Entry::kWait && !entry.timeline->reached(entry.target());
}

Stream::End Stream::take_turn(Turn& turn) noexcept {
  uint64_t retired = timeline_.value();
  backend::acquire_from_sanitizer(&timeline_);
  backend::acquire_from_sanitizer(&submitted_);
  unsigned shared = 0;  // commands, while others as urgent were ready
  int64_t began = 0;
  for (;;) {
    if (retired >= seen_) {
      seen_ = submitted();
      backend::acquire_from_sanitizer(&submitted_);
      if (retired == seen_) {
        if (go_idle(retired)) return End::kIdle;
        continue;
      }
      if (!turn.helps && turn.commands > 0 && seen_ - retired < kFewCommands) return End::kFewReady;
    }
    if (retired >= turn.target) return End::kReady;
    // What this stream woke isn't to wait for this stream's next command, unless that runs nothing.
    if (turn.next != nullptr && !parks_next()) scheduler_.enqueue_woken(*std::exchange(turn.next, nullptr));
    if (!execute(queue_.front())) return End::kElsewhere;
    queue_.pop();
    timeline_.advance(++retired, turn.next);
    ++turn.commands;
    // A host takes nothing from others while there is room for one more thread.
    if (turn.helps && !scheduler_.full()) continue;
    if (scheduler_.more_urgent(level())) return End::kReady;
    if (!scheduler_.as_urgent(level()) || ++shared % kClockCommands != 0) continue;
    if (shared == kTurnCommands) return End::kReady;
    const int64_t now = now_ns();
    if (began == 0) began = now;
    if (now - began > kTurnNs) return End::kReady;
  }
}

Task::Done Stream::run() noexcept {
  const uint32_t host_actions = scheduler_.host_actions();
  Stream* stream = this;
  uint64_t commands = 0;
  for (int streams = 1;; ++streams) {
    Turn turn{kNoTarget, false};
    Scheduler& scheduler = stream->scheduler_;
    const End end = stream->take_turn(turn);
    commands += turn.commands;
    if (end == End::kReady || end == End::kFewReady) scheduler.enqueue(*stream);
    if (turn.next == nullptr) return {commands, end == End::kIdle || end == End::kFewReady};
    stream = turn.next;
    if (scheduler.more_urgent(stream->level()) ||
        (streams >= kMostStreams && (scheduler.others_ready() || scheduler.host_actions() != host_actions))) {
      scheduler.enqueue_woken(*stream);
      return {commands, false};
    }
  }
}

void Stream::finish_elsewhere() noexcept {
  queue_.front().command().~Command();
  queue_.pop();
  const uint64_t retired = timeline_.value() + 1;
  Scheduler& scheduler = scheduler_;
  Stream* woken = nullptr;
  timeline_.advance(retired, woken);
  if (submitted() != retired || !go_idle(retired)) scheduler.enqueue(*this);
  if (woken != nullptr) scheduler.enqueue_woken(*woken);
}

/// By a host that has claimed this stream. It goes on with the stream that this one woke, if this one waits for that.
void Stream::help_with_turn(uint64_t target) noexcept {
  Scheduler& scheduler = scheduler_;
  Stream* stream = this;
  for (int streams = 1;; ++streams) {
    Turn turn{target, true};
    const End end = stream->take_turn(turn);
    if (end == End::kReady) scheduler.enqueue(*stream);
    if (turn.next == nullptr) return;
    // The stream may be in other hands by now; what it waits for concerns us only if it hasn't got past our target.
    const Record needed = end == End::kElsewhere ? stream->waits_for_.read() : Record{};
    const bool passed = stream->timeline_.reached(target);
    stream = turn.next;
    if (passed || (streams >= kMostStreams && scheduler.others_ready()) || needed.timeline != &stream->timeline_ ||
        scheduler.in_the_way(stream->level())) {
      return scheduler.enqueue_woken(*stream);
    }
    target = needed.target;
  }
}

bool Stream::help(uint64_t target) noexcept {
  Scheduler& scheduler = scheduler_;
  const HelpingScope scope;
  if (scheduler.claim(*this)) {
    help_with_turn(target);
  } else if (scheduler.claim(spread_)) {
    // While this piece is held the command isn't complete: it is the one that is waited for, or one before it, or the
    // target was reached meanwhile.
    if (timeline_.reached(target)) {
      scheduler.enqueue_woken(spread_);
    } else {
      spread_.run();
    }
  } else {
    return false;
  }
  scheduler.done();
  return true;
}

}  // namespace anyplace::cpu_sim
