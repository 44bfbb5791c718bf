// SPDX-License-Identifier: Apache-2.0
#include "spread.h"

#include <algorithm>

#include "clock.h"
#include "stream.h"

namespace anyplace::cpu_sim {
namespace {

// How long a range should take: long compared with the cost of handing it out, and short enough that a more urgent
// stream doesn't wait long.
constexpr std::int64_t range_ns = 50'000;
// What is left is one range if it takes less than this: another thread would need as long to join.
constexpr std::int64_t alone_ns = 4'000;
// And if at least a quarter as many units were handed out before: the first ones may have less to do than the others.
constexpr std::uint64_t seen_enough = 4;
// If what is left takes longer than this, a worker that rests is called.
constexpr std::int64_t call_ns = 30'000;
// Keeps the number within std::uint64_t.
constexpr double most_wanted = 0x1p62;
// How long a thread stays while others as urgent are ready.
constexpr std::int64_t stay_ns = 100'000;
// How long a thread watches another one's claims.
constexpr std::int64_t watch_ns = 1'000;
// A thread that was refused has done so little that it rests before it looks again (Scheduler::stays).
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

/// The size of the next range. All ranges but the first leave work for other threads.
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
  // It may be more than there are: range() compares what is left with a part of it.
  const double wanted = std::min(static_cast<double>(range_ns) / each, most_wanted);
  const bool first = wanted_.load(std::memory_order_relaxed) == 0;
  wanted_.store(std::max<std::uint64_t>(static_cast<std::uint64_t>(wanted), 1), std::memory_order_relaxed);
  if (!first || scheduler.limit() == 1) return;
  const std::uint64_t next = std::min(next_.load(std::memory_order_relaxed), extent_.units);
  if (static_cast<double>(extent_.units - next) * each > static_cast<double>(call_ns)) scheduler.call();
}

bool Ranges::run(Scheduler& scheduler, const Task& invitation) noexcept {
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
    if (left() && gives_way(scheduler, invitation, began, now)) return true;
  }
}

bool gives_way(const Scheduler& scheduler, const Task& invitation, std::int64_t began_ns,
               std::int64_t now_ns) noexcept {
  if (scheduler.more_urgent(invitation.level())) return true;
  return now_ns - began_ns > stay_ns && scheduler.others_as_urgent(invitation);
}

// ---- The job -------------------------------------------------------------------------------------------------------

void SpreadJob::adopt_level() noexcept { set_level(stream_.level()); }

Progress SpreadJob::begin(Spreadable& work, const Spreadable::Extent& extent) noexcept {
  joint_ = nullptr;
  ranges_.begin(work, extent);
  parties_.store(1, std::memory_order_relaxed);
  invited_.store(false, std::memory_order_relaxed);
  backend::release_to_sanitizer(&ranges_);
  // Before the first unit runs: it may wait for another one.
  if (stream_.scheduler().limit() > 1) invite();
  return run_ranges() ? Progress::done : Progress::elsewhere;
}

/// Puts the invitation into the queue, unless it is there. Called by a party while units are left.
void SpreadJob::invite() noexcept {
  if (invited_.exchange(true, std::memory_order_relaxed)) return;
  parties_.fetch_add(1, std::memory_order_relaxed);
  stream_.scheduler().enqueue(*this);  // behind what is as urgent, so that giving way to that helps it
}

Task::Done SpreadJob::run() noexcept {
  backend::acquire_from_sanitizer(&ranges_);
  if (joint_ != nullptr) {
    const JointWork::Left left = joint_->join();
    if (left == JointWork::Left::complete) stream_.finish_elsewhere();
    if (left == JointWork::Left::refused) return {as_if_commands, true};
    return {1, false};
  }
  // The caller took the invitation, and is now the party that it was.
  invited_.store(false, std::memory_order_relaxed);
  if (ranges_.left() && stream_.scheduler().limit() > 1) invite();
  if (run_ranges()) stream_.finish_elsewhere();
  return {1, false};
}

/// Runs ranges, for one party, until no unit is left or something else is more urgent. Returns true to the last party;
/// to any other, the job may belong to another command already.
bool SpreadJob::run_ranges() noexcept {
  Scheduler& scheduler = stream_.scheduler();
  if (ranges_.run(scheduler, *this)) {
    invite();
  } else if (scheduler.withdraw(*this)) {
    parties_.fetch_sub(1, std::memory_order_relaxed);
  }
  backend::release_to_sanitizer(&parties_);
  if (parties_.fetch_sub(1, std::memory_order_acq_rel) != 1) return false;
  backend::acquire_from_sanitizer(&parties_);
  return true;
}

// ---- For joint work ------------------------------------------------------------------------------------------------

void SpreadJob::begin_joint(JointWork& work) noexcept {
  joint_ = &work;
  backend::release_to_sanitizer(&ranges_);
}

void SpreadJob::open_claims() noexcept { claims_.store(1, std::memory_order_relaxed); }

std::uint64_t SpreadJob::close_claims() noexcept { return claims_.fetch_or(closed_claims, std::memory_order_acq_rel); }

bool SpreadJob::is_worth_joining() const noexcept {
  const std::uint64_t before = claims();
  if (before >= closed_claims) return true;
  const std::int64_t began = now_ns();
  do {
    for (int i = 0; i < 8; ++i) pause_briefly();
  } while (now_ns() - began < watch_ns);
  return claims() < before + 2;
}

}  // namespace anyplace::cpu_sim
