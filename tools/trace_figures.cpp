// SPDX-License-Identifier: Apache-2.0
#include "trace_figures.h"

#include <algorithm>
#include <tuple>
#include <unordered_map>
#include <utility>

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

/// A trace's slices by what they are.
struct Index {
  std::vector<const TraceSlice*> executions;
  std::unordered_map<std::uint64_t, const TraceSlice*> calls;  ///< by submission
  std::unordered_map<std::uint64_t, const TraceSlice*> runs;   ///< executions, by submission
  std::unordered_map<std::uint64_t, std::uint64_t> before;     ///< by an operation: the one before in its stream
  std::unordered_map<std::uint64_t, std::vector<std::uint64_t>> awaited;  ///< by one: what its stream waited for
  std::unordered_map<std::uint64_t, std::uint64_t> host_awaited;          ///< by one: what its thread had waited for
  std::unordered_map<std::uint64_t, std::uint64_t> recorded;              ///< by a record: the operation before it

  explicit Index(const RunTrace& trace) {
    using Stream = std::pair<std::string, std::uint64_t>;
    std::map<Stream, std::uint64_t> last;
    std::map<Stream, std::vector<std::uint64_t>> waits;
    std::map<std::string, std::uint64_t> host_waits;
    for (const TraceSlice& slice : trace.slices) {
      const std::uint64_t submission = slice.number("submission");
      if (slice.is_execution) {
        executions.push_back(&slice);
        runs[submission] = &slice;
        continue;
      }
      const Stream stream(slice.text("place"), slice.number("stream"));
      const std::uint64_t waited = slice.number("waits_for");
      if (slice.category == "record") {
        recorded[submission] = last[stream];
      } else if (submission != 0) {
        calls[submission] = &slice;
        before[submission] = std::exchange(last[stream], submission);
        awaited[submission] = std::exchange(waits[stream], {});
        host_awaited[submission] = host_waits[slice.track];
      } else if (slice.category == "wait" && waited != 0) {
        waits[stream].push_back(recorded[waited]);
      } else if (slice.category == "synchronize" && waited != 0) {
        host_waits[slice.track] = operation(waited);
      }
    }
  }

  /// The operation that stands for a submission: of a record the one before it.
  std::uint64_t operation(std::uint64_t submission) const {
    const auto found = recorded.find(submission);
    return found == recorded.end() ? submission : found->second;
  }
  const TraceSlice* run_of(std::uint64_t submission) const {
    const auto found = runs.find(submission);
    return found == runs.end() ? nullptr : found->second;
  }
};

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

void add_stall(TraceFigures& figures, const TraceSlice& call, bool is_implicit, const TraceSlice* awaited) {
  StallFigures& stall = figures.stalls[call.name + " on thread " + call.track];
  stall.is_implicit = is_implicit;
  ++stall.count;
  stall.total_ns += call.length_ns();
  if (call.length_ns() <= stall.longest_ns) return;
  stall.longest_ns = call.length_ns();
  stall.longest_for = awaited == nullptr ? "" : awaited->name + " on " + awaited->text("place");
}

void add_stall_of(TraceFigures& figures, const Index& index, const TraceSlice& call) {
  if (call.category == "synchronize") {
    add_stall(figures, call, false, index.run_of(index.operation(call.number("waits_for"))));
  } else if (call.length_ns() < least_stall_ns) {
    return;
  } else if (call.category == "memory") {
    add_stall(figures, call, true, nullptr);
  } else if (call.category == "copy") {
    // The call returned when the copy was over: it went through memory that isn't pinned.
    const TraceSlice* const run = index.run_of(call.number("submission"));
    if (run != nullptr && run->end_ns <= call.end_ns) add_stall(figures, call, true, run);
  }
}

/// Of an operation that began: what it had waited for last, and whether that was the host.
const TraceSlice* cause_of(const Index& index, const TraceSlice& run, bool& by_host) {
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
void add_critical_path(TraceFigures& figures, const Index& index) {
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

void add_submissions(TraceFigures& figures, const Index& index) {
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

}  // namespace

TraceFigures figures_of(const RunTrace& trace) {
  TraceFigures figures;
  if (trace.slices.empty()) return figures;
  figures.begin_ns = trace.slices.front().begin_ns;
  const Index index(trace);
  std::map<std::string, std::vector<const TraceSlice*>> by_place;
  for (const TraceSlice& slice : trace.slices) {
    figures.length_ns = std::max(figures.length_ns, slice.end_ns - figures.begin_ns);
    if (slice.is_execution) {
      by_place[slice.text("place")].push_back(&slice);
      continue;
    }
    CallFigures& call = figures.calls[slice.name];
    ++call.count;
    if (!slice.text("status").empty()) ++call.failures;
    call.total_ns += slice.length_ns();
    call.longest_ns = std::max(call.longest_ns, slice.length_ns());
    add_stall_of(figures, index, slice);
  }
  for (const auto& [place, executions] : by_place) {
    figures.devices[place] = device_figures(executions, figures.begin_ns);
  }
  add_submissions(figures, index);
  add_critical_path(figures, index);
  return figures;
}

}  // namespace anyplace::tool
