// SPDX-License-Identifier: Apache-2.0
#include "spread.h"

#include <algorithm>

#include "clock.h"
#include "operation.h"
#include "stream.h"

namespace anyplace::cpu_sim {
namespace {

// A range should take so long: long compared with the cost of taking it, and short enough that a more urgent stream
// doesn't wait long.
constexpr std::int64_t range_ns = 50'000;
// What is left becomes one range if it takes less than this, because another thread would need as long to join; but
// only if a quarter as many units were taken before, because the first units may have less to do than the others.
constexpr std::int64_t alone_ns = 4'000;
constexpr std::uint64_t seen_enough = 4;
// A worker that sleeps is woken if what is left takes longer than this.
constexpr std::int64_t wake_ns = 30'000;
// This limit keeps the number within std::uint64_t.
constexpr double most_wanted = 0x1p62;
// A thread keeps its work so long while others as urgent are ready.
constexpr std::int64_t stay_ns = 100'000;
// A thread watches another one's pieces so long.
constexpr std::int64_t watch_ns = 1'000;
// A worker that was refused counts as if it had run so many short commands, so that it pauses before it polls again
// (Scheduler::keeps_running).
constexpr std::uint64_t as_if_commands = 64;

}  // namespace

Progress Spreadable::execute(Stream& stream) noexcept {
  const Extent whole = extent();
  if (whole.units > whole.grain) return stream.spread(*this, whole);
  std::atomic<bool> stop{false};
  run_units(0, whole.units, stop);
  return Progress::done;
}

// ---- Ranges --------------------------------------------------------------------------------------------------------

void Ranges::begin(Spreadable& work, const Spreadable::Extent& extent) noexcept {
  work_ = &work;
  extent_ = extent;
  next_.store(0, std::memory_order_relaxed);
  wanted_.store(0, std::memory_order_relaxed);
  stop_.store(false, std::memory_order_relaxed);
}

/// Returns the size of the next range. All ranges but the first leave work for other threads.
std::uint64_t Ranges::range(const Scheduler& scheduler) const noexcept {
  const std::uint64_t next = next_.load(std::memory_order_relaxed);
  const std::uint64_t left = extent_.units - std::min(next, extent_.units);
  const std::uint64_t wanted = wanted_.load(std::memory_order_relaxed);
  if (wanted == 0) return extent_.grain;
  if (left <= seen_enough * next && left < wanted / (range_ns / alone_ns)) return left;
  const std::uint64_t share = left / (2 * std::uint64_t{scheduler.limit()});
  return std::max(extent_.grain, std::min(wanted, share) / extent_.grain * extent_.grain);
}

void Ranges::measure(Scheduler& scheduler, std::uint64_t units, std::int64_t took_ns) noexcept {
  const double each = static_cast<double>(std::max<std::int64_t>(took_ns, 1)) / static_cast<double>(units);
  // The result may exceed the number of units: range() compares what is left with a part of it.
  const double wanted = std::min(static_cast<double>(range_ns) / each, most_wanted);
  const bool first = wanted_.load(std::memory_order_relaxed) == 0;
  wanted_.store(std::max<std::uint64_t>(static_cast<std::uint64_t>(wanted), 1), std::memory_order_relaxed);
  if (!first || scheduler.limit() == 1) return;
  const std::uint64_t next = std::min(next_.load(std::memory_order_relaxed), extent_.units);
  if (static_cast<double>(extent_.units - next) * each > static_cast<double>(wake_ns)) scheduler.wake_worker();
}

bool Ranges::run(Scheduler& scheduler, const Task& job) noexcept {
  const std::uint64_t units = extent_.units;
  const std::int64_t began = now_ns();
  for (std::int64_t now = began;;) {
    const std::uint64_t size = range(scheduler);
    const std::uint64_t begin = next_.fetch_add(size, std::memory_order_relaxed);
    if (begin >= units) return false;
    const std::uint64_t end = begin + std::min(size, units - begin);
    work_->run_units(begin, end, stop_);
    if (end == units) return false;
    if (stop_.load(std::memory_order_relaxed)) next_.store(units, std::memory_order_relaxed);
    const std::int64_t before = std::exchange(now, now_ns());
    measure(scheduler, end - begin, now - before);
    if (left() && should_yield(scheduler, job, began, now)) return true;
  }
}

bool should_yield(const Scheduler& scheduler, const Task& job, std::int64_t began_ns, std::int64_t now_ns) noexcept {
  if (scheduler.more_urgent(job.level())) return true;
  return now_ns - began_ns > stay_ns && scheduler.others_as_urgent(job);
}

// ---- The job -------------------------------------------------------------------------------------------------------

void SpreadJob::adopt_level() noexcept { set_level(stream_.level()); }

Progress SpreadJob::begin(Spreadable& work, const Spreadable::Extent& extent) noexcept {
  joint_.store(nullptr, std::memory_order_relaxed);
  ranges_.begin(work, extent);
  users_.store(1, std::memory_order_relaxed);
  enqueued_.store(false, std::memory_order_relaxed);
  backend::release_to_sanitizer(&ranges_);
  // The job is enqueued before the first unit runs, because that unit may wait for another one.
  if (stream_.scheduler().limit() > 1) enqueue_once();
  return run_ranges() ? Progress::done : Progress::elsewhere;
}

/// Puts the job into the ready queue, unless it is there. A thread that counts among the users calls this while units
/// are left.
void SpreadJob::enqueue_once() noexcept {
  if (enqueued_.exchange(true, std::memory_order_relaxed)) return;
  users_.fetch_add(1, std::memory_order_relaxed);
  // It goes behind tasks that are as urgent, so that a thread which yields to one of them helps it.
  stream_.scheduler().enqueue(*this);
}

/// In the deterministic mode one thread runs a command whole, and only a graph's launch goes on with the job.
void SpreadJob::describe(Operation& out) {
  stream_.describe(out);
  out.what += " goes on";
  out.goes_on = true;
}

Task::Done SpreadJob::run() noexcept {
  backend::acquire_from_sanitizer(&ranges_);
  if (JointWork* const joint = joint_.load(std::memory_order_relaxed)) {
    const JointWork::Joined joined = joint->join();
    if (joined == JointWork::Joined::completes) stream_.finish_elsewhere();
    if (joined == JointWork::Joined::refused) return {as_if_commands, true};
    return {1, false};
  }
  // The caller took the job from the queue, and is now the user that the job was there.
  enqueued_.store(false, std::memory_order_relaxed);
  if (ranges_.left() && stream_.scheduler().limit() > 1) enqueue_once();
  if (run_ranges()) stream_.finish_elsewhere();
  return {1, false};
}

/// Runs ranges, as one user, until no unit is left or another task goes first. Returns true to the last user; to any
/// other, the job may belong to another command already.
bool SpreadJob::run_ranges() noexcept {
  Scheduler& scheduler = stream_.scheduler();
  if (ranges_.run(scheduler, *this)) {
    enqueue_once();
  } else if (scheduler.withdraw(*this)) {
    users_.fetch_sub(1, std::memory_order_relaxed);
  }
  backend::release_to_sanitizer(&users_);
  if (users_.fetch_sub(1, std::memory_order_acq_rel) != 1) return false;
  backend::acquire_from_sanitizer(&users_);
  return true;
}

// ---- For joint work ------------------------------------------------------------------------------------------------

void SpreadJob::begin_joint(JointWork& work) noexcept {
  joint_.store(&work, std::memory_order_relaxed);
  backend::release_to_sanitizer(&ranges_);
}

bool SpreadJob::is_worth_joining() const noexcept {
  if (joint_.load(std::memory_order_relaxed) == nullptr) return true;
  const std::uint32_t before = pieces_.load(std::memory_order_relaxed);
  const std::int64_t began = now_ns();
  do {
    for (int i = 0; i < 8; ++i) pause_briefly();
  } while (now_ns() - began < watch_ns);
  return pieces_.load(std::memory_order_relaxed) - before < 2;
}

}  // namespace anyplace::cpu_sim
