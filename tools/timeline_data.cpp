// SPDX-License-Identifier: Apache-2.0
#include "timeline_data.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "trace_figures_json.h"
#include "trace_index.h"

namespace anyplace::tool {
namespace {

/// Texts and their numbers.
class Texts {
 public:
  Texts() = default;
  explicit Texts(const std::string& zeroth) { of(zeroth); }

  std::uint64_t of(const std::string& text) {
    const auto [found, is_new] = numbers_.try_emplace(text, numbers_.size());
    if (is_new) all_.push_back(text);
    return found->second;
  }
  Json json() && { return std::move(all_); }

 private:
  std::unordered_map<std::string, std::uint64_t> numbers_;
  Json all_ = Json::array();
};

constexpr std::array<const char*, 10> column_names{"b", "d", "n", "k", "o", "w", "y", "i", "c", "h"};

struct Row {
  std::array<std::vector<std::uint64_t>, column_names.size()> columns;
  std::uint64_t last_begin_ns = 0;
  std::uint64_t end_ns = 0;

  Json json() const {
    Json all = Json::object();
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const auto is_zero = [](std::uint64_t value) { return value == 0; };
      if (i >= 4 && std::all_of(columns[i].begin(), columns[i].end(), is_zero)) continue;
      all[column_names[i]] = columns[i];
    }
    return all;
  }
};

struct Marks {
  std::vector<std::uint64_t> times, names, notes;
};

struct Lane {
  std::string kind;
  std::vector<Row> rows;
  Marks marks;
};

/// A device, or the host: "" stands for that.
struct Group {
  std::map<std::string, Lane> lanes;
  Json counters = Json::array();
};

/// The name of a lane without the number that the layer gives to a track beside another.
std::string without_number(const std::string& track) { return track.substr(0, track.find(", lane ")); }

/// The category; of a copy whose name says from where to where, that name.
std::string kind_of(const TraceSlice& slice, const TraceSlice* run) {
  const std::string& name = run == nullptr ? slice.name : run->name;
  const bool says_where = name.starts_with("copy ") && name.find(" to ") != std::string::npos;
  return slice.category == "copy" && says_where ? name : slice.category;
}

/// What there is to say of a slice beside its columns, one on a line.
std::string note_of(const TraceSlice& slice) {
  std::string note;
  const auto add = [&note](const std::string& line) { note += (note.empty() ? "" : "\n") + line; };
  for (const char* const key : {"status", "kernel", "name", "domain", "category", "payload"}) {
    if (const std::string text = slice.text(key); !text.empty()) add(std::string(key) + " " + text);
  }
  if (const auto payload = slice.numbers.find("payload"); payload != slice.numbers.end()) {
    add("payload " + std::to_string(static_cast<std::int64_t>(payload->second)));
  }
  const auto three = [&](const std::string& what) {
    add(what + " " + std::to_string(slice.number(what + "_x")) + " x " + std::to_string(slice.number(what + "_y")) +
        " x " + std::to_string(slice.number(what + "_z")));
  };
  if (slice.numbers.count("grid_x") != 0) {
    three("grid");
    three("block");
    if (slice.number("shared_bytes") != 0) add("shared bytes " + std::to_string(slice.number("shared_bytes")));
  }
  if (slice.number("queries_before") != 0) add("queries before " + std::to_string(slice.number("queries_before")));
  return note;
}

class TimelineData {
 public:
  TimelineData(const RunTrace& trace, const TraceFigures& figures)
      : trace_(trace), figures_(figures), index_(trace), notes_(""), colors_("") {}

  Json json(const std::string& title) {
    for (const TraceSlice& slice : trace_.slices) number_operation(slice);
    auto stalled = figures_.stalled.begin();
    for (std::size_t i = 0; i < trace_.slices.size(); ++i) {
      std::uint64_t stall = 0;
      for (; stalled != figures_.stalled.end() && stalled->slice == i; ++stalled) stall = stalled->is_implicit ? 2 : 1;
      add(trace_.slices[i], stall);
    }
    for (const TraceSlice& mark : trace_.marks) add_mark(mark);
    for (const TraceCounter& counter : trace_.counters) add_counter(counter);
    Json data{{"title", title}, {"summary", figures_json(figures_, trace_.is_cut)}};
    data["operations"] = operations_json();
    data["groups"] = groups_json();
    data["names"] = std::move(names_).json();
    data["kinds"] = std::move(kinds_).json();
    data["notes"] = std::move(notes_).json();
    data["colors"] = std::move(colors_).json();
    return data;
  }

 private:
  void number_operation(const TraceSlice& slice) {
    const std::uint64_t submission = slice.number("submission");
    if (submission != 0 && operations_.try_emplace(submission, operations_.size() + 1).second) {
      submissions_.push_back(submission);
    }
  }
  /// 0 for what isn't in the trace.
  std::uint64_t operation(std::uint64_t submission) const {
    const auto found = operations_.find(submission);
    return found == operations_.end() ? 0 : found->second;
  }

  /// A lane of the slice's: the stream, the thread, a further domain of a thread, or the ranges that were started.
  Lane& lane_of(const TraceSlice& slice) {
    if (slice.is_execution || (slice.thread.empty() && !slice.is_range())) {
      Lane& lane = groups_[slice.above].lanes[without_number(slice.track)];
      lane.kind = "stream";
      return lane;
    }
    const bool is_thread = slice.thread == slice.track;
    const std::string name = slice.thread.empty() ? "ranges"
                             : is_thread          ? "thread " + slice.thread
                                                  : "thread " + slice.thread + ": " + slice.track;
    Lane& lane = groups_[""].lanes[name];
    lane.kind = is_thread ? "thread" : "ranges";
    return lane;
  }

  /// Slices come by their beginnings, so one that lies in another has a row below that.
  static Row& row_for(Lane& lane, const TraceSlice& slice) {
    auto row =
        std::find_if(lane.rows.begin(), lane.rows.end(), [&](const Row& one) { return one.end_ns <= slice.begin_ns; });
    if (row == lane.rows.end()) row = lane.rows.emplace(lane.rows.end());
    return *row;
  }

  void add(const TraceSlice& slice, std::uint64_t stall) {
    Row& row = row_for(lane_of(slice), slice);
    const std::uint64_t begin = slice.begin_ns - figures_.begin_ns;
    const std::uint64_t submission = slice.number("submission");
    const TraceSlice* const run = submission == 0 ? nullptr : index_.run_of(submission);
    std::uint64_t bytes = slice.is_execution || slice.category == "memory" ? slice.number("bytes") : 0;
    if (!slice.is_execution && run != nullptr) bytes = run->number("bytes");
    const std::array<std::uint64_t, column_names.size()> values{
        begin - row.last_begin_ns,
        slice.length_ns(),
        names_.of(slice.name),
        kinds_.of(kind_of(slice, run)),
        operation(submission),
        operation(slice.number("waits_for")),
        bytes,
        notes_.of(note_of(slice)),
        colors_.of(slice.text("color")),
        stall,
    };
    for (std::size_t i = 0; i < values.size(); ++i) row.columns[i].push_back(values[i]);
    row.last_begin_ns = begin;
    row.end_ns = std::max(slice.end_ns, slice.begin_ns + 1);
  }

  void add_mark(const TraceSlice& mark) {
    Marks& marks = lane_of(mark).marks;
    marks.times.push_back(mark.begin_ns - std::min(mark.begin_ns, figures_.begin_ns));
    marks.names.push_back(names_.of(mark.name));
    marks.notes.push_back(notes_.of(note_of(mark)));
  }

  void add_counter(const TraceCounter& counter) {
    std::vector<std::uint64_t> times, values;
    for (const auto& point : counter.points) {
      times.push_back(point.at_ns - std::min(point.at_ns, figures_.begin_ns));
      values.push_back(point.value);
    }
    groups_[counter.device].counters.push_back(Json{{"name", counter.name}, {"t", times}, {"v", values}});
  }

  Json operations_json() const {
    std::vector<std::uint64_t> before;
    Json recorded = Json::object(), awaited = Json::object();
    for (const std::uint64_t submission : submissions_) {
      const std::string key = std::to_string(operation(submission));
      const auto earlier = index_.before.find(submission);
      before.push_back(earlier == index_.before.end() ? 0 : operation(earlier->second));
      const auto record = index_.recorded.find(submission);
      if (record != index_.recorded.end()) recorded[key] = operation(record->second);
      const auto waits = index_.awaited.find(submission);
      if (waits == index_.awaited.end() || waits->second.empty()) continue;
      std::vector<std::uint64_t> all;
      for (const std::uint64_t one : waits->second) {
        if (operation(one) != 0) all.push_back(operation(one));
      }
      awaited[key] = all;
    }
    return Json{{"submission", submissions_},
                {"before", std::move(before)},
                {"recorded", std::move(recorded)},
                {"awaited", std::move(awaited)}};
  }

  Json groups_json() const {
    Json devices = Json::array(), host = Json::array();
    for (const auto& [name, group] : groups_) {
      Json lanes = Json::array();
      for (const auto& [lane_name, lane] : group.lanes) {
        Json rows = Json::array();
        for (const Row& row : lane.rows) rows.push_back(row.json());
        lanes.push_back(Json{{"name", lane_name}, {"kind", lane.kind}, {"rows", std::move(rows)}});
        if (lane.marks.times.empty()) continue;
        lanes.back()["marks"] = Json{{"t", lane.marks.times}, {"n", lane.marks.names}, {"i", lane.marks.notes}};
      }
      const bool is_host = name.empty();
      (is_host ? host : devices)
          .push_back(Json{{"kind", is_host ? "host" : "device"},
                          {"name", is_host ? "host" : name},
                          {"counters", group.counters},
                          {"lanes", std::move(lanes)}});
    }
    for (Json& one : host) devices.push_back(std::move(one));
    return devices;
  }

  const RunTrace& trace_;
  const TraceFigures& figures_;
  const TraceIndex index_;
  std::unordered_map<std::uint64_t, std::uint64_t> operations_;  ///< numbers by submission
  std::vector<std::uint64_t> submissions_;
  std::map<std::string, Group> groups_;
  Texts names_, kinds_, notes_, colors_;
};

}  // namespace

Json timeline_data(const RunTrace& trace, const TraceFigures& figures, const std::string& title) {
  return TimelineData(trace, figures).json(title);
}

}  // namespace anyplace::tool
