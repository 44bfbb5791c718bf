// SPDX-License-Identifier: Apache-2.0
#include "trace_figures.h"

#include <algorithm>
#include <set>
#include <utility>

#include "trace_index.h"

namespace anyplace::tool {
namespace {

using Interval = std::pair<std::uint64_t, std::uint64_t>;

/// Calls that take less than this haven't waited, if they aren't made to wait.
constexpr std::uint64_t least_stall_ns = 10'000;
constexpr std::size_t most_gaps = 5;

/// The intervals' union: apart from each other, in their order.
std::vector<Interval> united(std::vector<Interval> intervals) {
  std::sort(intervals.begin(), intervals.end());
  std::vector<Interval> all;
  for (const Interval& one : intervals) {
    if (all.empty() || one.first > all.back().second) {
      all.push_back(one);
    } else {
      all.back().second = std::max(all.back().second, one.second);
    }
  }
  return all;
}
std::uint64_t length_of(const std::vector<Interval>& intervals) {
  std::uint64_t length = 0;
  for (const auto& [begin, end] : intervals) length += end - begin;
  return length;
}
std::uint64_t overlap_of(const std::vector<Interval>& a, const std::vector<Interval>& b) {
  std::uint64_t overlap = 0;
  for (std::size_t i = 0, k = 0; i < a.size() && k < b.size();) {
    const std::uint64_t begin = std::max(a[i].first, b[k].first), end = std::min(a[i].second, b[k].second);
    if (begin < end) overlap += end - begin;
    a[i].second < b[k].second ? ++i : ++k;
  }
  return overlap;
}

bool computes(const TraceSlice& slice) { return slice.category == "kernel" || slice.category == "graph"; }

DeviceFigures device_figures(const std::vector<const TraceSlice*>& executions, std::uint64_t begin_ns) {
  DeviceFigures figures;
  std::vector<Interval> all, kernels, copies;
  for (const TraceSlice* const one : executions) {
    OperationFigures& operation = figures.operations[one->name];
    operation.category = one->category;
    ++operation.count;
    operation.bytes += one->number("bytes");
    operation.total_ns += one->length_ns();
    const Interval interval(one->begin_ns, one->end_ns);
    all.push_back(interval);
    if (computes(*one)) kernels.push_back(interval);
    if (one->category == "copy") copies.push_back(interval);
  }
  all = united(std::move(all));
  kernels = united(std::move(kernels));
  copies = united(std::move(copies));
  figures.busy_ns = length_of(all);
  figures.kernels_ns = length_of(kernels);
  figures.copies_ns = length_of(copies);
  figures.overlap_ns = overlap_of(kernels, copies);
  for (std::size_t i = 1; i < all.size(); ++i) {
    const std::uint64_t length = all[i].first - all[i - 1].second;
    figures.idle_ns += length;
    const auto next =
        std::lower_bound(executions.begin(), executions.end(), all[i].first,
                         [](const TraceSlice* one, std::uint64_t begin) { return one->begin_ns < begin; });
    figures.gaps.push_back({all[i - 1].second - begin_ns, length, next == executions.end() ? "" : (*next)->name});
    std::sort(figures.gaps.begin(), figures.gaps.end(),
              [](const IdleGap& a, const IdleGap& b) { return a.length_ns > b.length_ns; });
    if (figures.gaps.size() > most_gaps) figures.gaps.pop_back();
  }
  return figures;
}

void add_stall(TraceFigures& figures, const TraceSlice& call, std::size_t number, bool is_implicit,
               const TraceSlice* awaited) {
  figures.stalled.push_back({number, is_implicit});
  StallFigures& stall = figures.stalls[call.name + " on thread " + call.track];
  stall.is_implicit = is_implicit;
  ++stall.count;
  stall.total_ns += call.length_ns();
  if (call.length_ns() <= stall.longest_ns) return;
  stall.longest_ns = call.length_ns();
  stall.longest_for = awaited == nullptr ? "" : awaited->name + " on " + awaited->text("place");
}

/// `number` is the call's place among the slices.
void add_stall_of(TraceFigures& figures, const TraceIndex& index, const TraceSlice& call, std::size_t number) {
  if (call.category == "synchronize") {
    add_stall(figures, call, number, false, index.run_of(index.operation(call.number("waits_for"))));
  } else if (call.length_ns() < least_stall_ns) {
    return;
  } else if (call.category == "memory") {
    add_stall(figures, call, number, true, nullptr);
  } else if (call.category == "copy") {
    // The call returned when the copy was over: it went through memory that isn't pinned.
    const TraceSlice* const run = index.run_of(call.number("submission"));
    if (run != nullptr && run->end_ns <= call.end_ns) add_stall(figures, call, number, true, run);
  }
}

/// Of an operation that began: what it had waited for last, and whether that was the host.
const TraceSlice* cause_of(const TraceIndex& index, const TraceSlice& run, bool& by_host) {
  const std::uint64_t submission = run.number("submission");
  std::vector<std::uint64_t> causes;
  if (const auto found = index.awaited.find(submission); found != index.awaited.end()) causes = found->second;
  if (const auto found = index.before.find(submission); found != index.before.end()) causes.push_back(found->second);
  const TraceSlice* last = nullptr;
  for (const std::uint64_t one : causes) {
    const TraceSlice* const cause = index.run_of(one);
    if (cause == nullptr || cause->begin_ns >= run.begin_ns) continue;
    if (last == nullptr || cause->end_ns > last->end_ns) last = cause;
  }
  const auto call = index.calls.find(submission);
  by_host = call != index.calls.end() && (last == nullptr || call->second->begin_ns > last->end_ns);
  if (!by_host) return last;
  const auto waited = index.host_awaited.find(submission);
  const TraceSlice* const cause = waited == index.host_awaited.end() ? nullptr : index.run_of(waited->second);
  return cause != nullptr && cause->begin_ns < run.begin_ns ? cause : last;
}

/// Goes back from the operation that ended last, always to what it had waited for.
void add_critical_path(TraceFigures& figures, const TraceIndex& index) {
  const auto last = std::max_element(index.executions.begin(), index.executions.end(),
                                     [](const auto* a, const auto* b) { return a->end_ns < b->end_ns; });
  if (last == index.executions.end()) return;
  const TraceSlice* run = *last;
  std::uint64_t until = run->end_ns;
  figures.critical_ns = until - figures.begin_ns;
  while (run != nullptr) {
    figures.critical[run->name] += until - std::min(until, run->begin_ns);
    until = std::min(until, run->begin_ns);
    bool by_host = false;
    const TraceSlice* const cause = cause_of(index, *run, by_host);
    const std::uint64_t from = cause == nullptr ? figures.begin_ns : std::min(cause->end_ns, until);
    figures.critical[by_host || cause == nullptr ? "host" : "between operations"] += until - from;
    until = from;
    run = cause;
  }
}

void add_submissions(TraceFigures& figures, const TraceIndex& index) {
  std::uint64_t submit = 0, launch = 0, launches = 0;
  for (const auto& [submission, call] : index.calls) {
    submit += call->length_ns();
    const TraceSlice* const run = index.run_of(submission);
    const auto before = index.before.find(submission);
    const TraceSlice* const earlier = before == index.before.end() ? nullptr : index.run_of(before->second);
    if (run == nullptr || (earlier != nullptr && earlier->end_ns > call->begin_ns)) continue;
    launch += run->begin_ns - std::min(run->begin_ns, call->begin_ns);
    ++launches;
  }
  figures.submissions = index.calls.size();
  figures.executions = index.executions.size();
  if (!index.calls.empty()) figures.submit_ns = submit / index.calls.size();
  if (launches != 0) figures.launch_ns = launch / launches;
}

/// Counts each range, and the operations that its thread submitted in it.
void add_ranges(TraceFigures& figures, const TraceIndex& index, const RunTrace& trace) {
  std::map<std::string, std::vector<const TraceSlice*>> open;  // by thread
  for (const TraceSlice& slice : trace.slices) {
    if (slice.is_execution) continue;
    auto& ranges = open[slice.thread];
    std::erase_if(ranges, [&](const TraceSlice* range) { return range->end_ns <= slice.begin_ns; });
    if (slice.is_range()) {
      RangeFigures& range = figures.ranges[slice.name];
      ++range.count;
      range.total_ns += slice.length_ns();
      range.longest_ns = std::max(range.longest_ns, slice.length_ns());
      if (!slice.thread.empty()) ranges.push_back(&slice);
      continue;
    }
    const std::uint64_t submission = slice.number("submission");
    if (submission == 0 || index.calls.count(submission) == 0) continue;
    const TraceSlice* const run = index.run_of(submission);
    std::set<std::string> counted;  // a range within one of the same name is no other range here
    for (const TraceSlice* const range : ranges) {
      if (!counted.insert(range->name).second) continue;
      RangeFigures& of = figures.ranges[range->name];
      ++of.submissions;
      if (run != nullptr) of.device_ns += run->length_ns();
    }
  }
  for (const TraceSlice& mark : trace.marks) {
    if (mark.category == "mark") ++figures.marks[mark.name];
  }
}

}  // namespace

TraceFigures figures_of(const RunTrace& trace) {
  TraceFigures figures;
  if (trace.slices.empty()) return figures;
  figures.begin_ns = trace.slices.front().begin_ns;
  const TraceIndex index(trace);
  std::map<std::string, std::vector<const TraceSlice*>> by_place;
  for (const TraceSlice& slice : trace.slices) {
    figures.length_ns = std::max(figures.length_ns, slice.end_ns - figures.begin_ns);
    if (slice.is_execution) {
      by_place[slice.text("place")].push_back(&slice);
      continue;
    }
    if (slice.is_range()) continue;
    CallFigures& call = figures.calls[slice.name];
    ++call.count;
    if (!slice.text("status").empty()) ++call.failures;
    call.total_ns += slice.length_ns();
    call.longest_ns = std::max(call.longest_ns, slice.length_ns());
    add_stall_of(figures, index, slice, static_cast<std::size_t>(&slice - trace.slices.data()));
  }
  add_ranges(figures, index, trace);
  for (const auto& [place, executions] : by_place) {
    figures.devices[place] = device_figures(executions, figures.begin_ns);
  }
  add_submissions(figures, index);
  add_critical_path(figures, index);
  return figures;
}

}  // namespace anyplace::tool
