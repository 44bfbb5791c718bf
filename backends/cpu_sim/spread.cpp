// SPDX-License-Identifier: Apache-2.0
#include "spread.h"

#include <algorithm>

#include "clock.h"
#include "stream.h"

namespace anyplace::cpu_sim {
namespace {

// Pieces are made longer or shorter until one takes between these two times: long compared with the cost of handing one
// out, and short enough that a more urgent stream doesn't wait long.
constexpr std::int64_t short_ns = 50'000;
constexpr std::int64_t long_ns = 200'000;

}  // namespace

Progress Spreadable::execute(Stream& stream) noexcept {
  const Extent whole = extent();
  if (whole.units > whole.grain) {
    stream.spread(*this, whole);
    return Progress::elsewhere;
  }
  std::atomic<bool> stop{false};
  run_units(0, whole.units, stop);
  return Progress::done;
}

void SpreadJob::adopt_level() noexcept { set_level(stream_.level()); }

void SpreadJob::begin(Spreadable& work, const Spreadable::Extent& extent) noexcept {
  work_ = &work;
  extent_ = extent;
  next_ = 0;
  piece_.store(extent.grain, std::memory_order_relaxed);
  done_.store(0, std::memory_order_relaxed);
  stop_.store(false, std::memory_order_relaxed);
  backend::release_to_sanitizer(&piece_);
  if (extent.is_long) {
    stream_.scheduler().enqueue_for_all(*this);
  } else {
    stream_.scheduler().enqueue_woken(*this);
  }
}

/// The size of the next piece: all that is left if the work was stopped, else a piece that leaves work for the other
/// threads.
std::uint64_t SpreadJob::cut() noexcept {
  const std::uint64_t left = extent_.units - next_;
  if (stop_.load(std::memory_order_relaxed)) return left;
  const std::uint64_t share = left / (2 * std::uint64_t{stream_.scheduler().limit()});
  const std::uint64_t wanted = std::min(piece_.load(std::memory_order_relaxed), share);
  return std::min(left, std::max(extent_.grain, wanted / extent_.grain * extent_.grain));
}

Task::Done SpreadJob::run() noexcept {
  const std::uint64_t units = extent_.units;
  const std::uint64_t grain = extent_.grain;
  const std::uint64_t begin = next_;
  const std::uint64_t size = cut();
  next_ = begin + size;
  backend::acquire_from_sanitizer(&piece_);
  if (next_ < units) stream_.scheduler().enqueue(*this);
  // From here on another worker may have the task. The job belongs to this command until this piece is counted below.
  if (!stop_.load(std::memory_order_relaxed)) {
    const std::int64_t start = now_ns();
    work_->run_units(begin, begin + size, stop_);
    const std::int64_t took = now_ns() - start;
    if (took < short_ns) piece_.store(2 * size, std::memory_order_relaxed);
    if (took > long_ns) piece_.store(std::max(grain, size / 2), std::memory_order_relaxed);
  }
  backend::release_to_sanitizer(&done_);
  if (done_.fetch_add(size, std::memory_order_acq_rel) + size != units) return {1, false};
  backend::acquire_from_sanitizer(&done_);
  stream_.finish_elsewhere();
  return {1, false};
}

}  // namespace anyplace::cpu_sim
