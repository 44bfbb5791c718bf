// SPDX-License-Identifier: Apache-2.0
//
// Decisions that plans with virtual memory and with classic segments share: how much memory may be wasted.
#include "memory/allocator/heap_planner.h"

#include <algorithm>

namespace anyplace::detail {
namespace {

// Waste limits how much may be reserved beyond the most that was ever handed out. Above it free memory moves instead.
// The limit is a part of that most, plus a part of what has moved so far, up to a bound.
//
// Each value was varied over these programs: the two traces of GPT-2 medium (bench/README.md, Memory); random sizes as
// those of `anyplace replay`'s synthetic trace, on eight streams in 40 GiB and on one in 8 GiB; and a training step of
// 24 layers (training_step in heap_test.cpp) whose sizes alternate between two sets from step to step, on one stream,
// and with each allocation on a random one of four.
struct Waste {
  std::uint64_t part;        ///< the divisor of the most that was handed out
  std::uint64_t moved_part;  ///< the divisor of what has moved; each value is a guess
};

/// These are for a program that isn't known to use its memory in waves. With 40 the trace with context 1024 reserves
/// 1.027 of its peak rather than 1.010 (the target is 1.015), and still calls the source in its third round rather than
/// in its first only. With 160 it reserves 1.016, and both traces call the source in their second round.
constexpr Waste at_first = {80, 64};

/// These are for a program that uses its memory in waves on one stream. With {80, 64} the alternating step never
/// settles: it makes 106 to 171 calls in each round. With these values it makes none from the fourth step on, for 1.043
/// of the peak rather than 1.016. With {12, 4} random sizes on one stream reserve 5 % more, and the step gains nothing.
constexpr Waste in_waves = {32, 4};

/// These are for a program that uses its memory in waves on several streams, whose shares change from wave to wave. On
/// four streams the alternating step makes 40 to 180 calls from the third time on, for 1.14 of the peak. With {32, 4}
/// it makes 130 to 250, for 1.09; with {80, 64} 390 to 460, for 1.03. That calls cost more than memory here is a guess.
constexpr Waste in_waves_of_streams = {12, 4};

/// The bytes that have moved count for at most a sixteenth of the most. With 64 random sizes on eight streams reserve
/// 1.03 of their peak rather than 1.075 (the target is 1.1), but make a third more calls; alternating steps on four
/// streams make a sixth more, for 1.10 of the peak rather than 1.14. The GPT-2 traces don't depend on it.
constexpr std::uint64_t moved_limit_part = 16;

/// This many pages may always be wasted: otherwise a small program would move pages for each request. The number is a
/// guess: one page for the small arena and one for the large. With 0 none of these programs makes other calls, except
/// that random sizes on eight streams make 0.7 % fewer; they are all too large for it.
constexpr std::uint64_t always_allowed = 2;

/// Memory is mapped ahead of need until this part of what is handed out is free, so that the calls of a growing program
/// become rarer as it grows. Each time it is at most this part of what the arena has reserved.
constexpr std::uint64_t ahead_part = 128;

/// The most that is mapped ahead: at this size calls are few, and the unused memory would be a lot. The number is a
/// guess.
constexpr std::uint64_t most_ahead = std::uint64_t{64} << 20U;

}  // namespace

/// The bytes by which the heap may grow for a request of `bytes`, rather than use what is free elsewhere. Using free
/// memory keeps the waste small. But a program that uses its memory in waves would then call the source in each wave.
/// So once it is seen to do that, more may be wasted, and also if much has moved already.
std::uint64_t HeapPlanner::room_to_grow(std::uint64_t bytes) const noexcept {
  const Usage& usage = state_.usage;
  const std::uint64_t most = std::max(usage.most_handed_out, usage.handed_out + bytes);
  const Waste& allowed = usage.waves == 0 ? at_first : usage.streams > 1 ? in_waves_of_streams : in_waves;
  const std::uint64_t waste = most / allowed.part + std::min(most / moved_limit_part, usage.moved / allowed.moved_part);
  const std::uint64_t limit = most + waste + always_allowed * (state_.page != 0 ? state_.page : min_page);
  return limit > state_.reserved ? limit - state_.reserved : 0;
}

/// The bytes that are mapped behind a request, so that the requests after it need no call of the source. With them a
/// part of what is handed out is free, once the request has its `bytes` and the heap has grown by `growth`.
std::uint64_t HeapPlanner::growth_ahead(const Arena& arena, std::uint64_t bytes, std::uint64_t growth) const noexcept {
  const std::uint64_t used = state_.usage.handed_out + bytes;
  const std::uint64_t limit = used + used / ahead_part;
  const std::uint64_t reserved = state_.reserved + growth;
  if (reserved >= limit) return 0;
  return std::min({limit - reserved, arena.reserved / ahead_part, most_ahead});
}

bool HeapPlanner::may_release(const Arena& arena, const std::uint64_t* pool) const noexcept {
  return arena.cached_bytes != 0 && (pool == nullptr || arena.key.pool == *pool) && idle(arena);
}

const Plan& HeapPlanner::plan_take(const Arena& arena, std::uint64_t bytes, Reach reach, const SourceNews& news) {
  plan_.clear();
  if (news.refused) refused_at_ = state_.reserved;
  if (state_.page == 0) {
    plan_classic(arena, bytes, reach, news);
    return plan_;
  }
  Request request;
  request.arena = &arena;
  request.bytes = bytes;
  request.reach = reach;
  request.news = news;
  plan_virtual(request);
  return plan_;
}

const Plan& HeapPlanner::plan_release(const std::uint64_t* pool) {
  plan_.clear();
  plan_.end = PlanEnd::again;
  if (state_.page == 0) {
    plan_segment_release(pool);
    return plan_;
  }
  for (const auto& arena : state_.arenas) {
    if (may_release(*arena, pool)) plan_page_release(*arena);
  }
  return plan_;
}

std::uint64_t HeapPlanner::least_growth(bool small, std::uint64_t bytes) const noexcept {
  return state_.page != 0 ? page_up(bytes) : segment_bytes(small, bytes);
}

}  // namespace anyplace::detail
