// SPDX-License-Identifier: Apache-2.0
#include "tools/replay.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <numeric>
#include <optional>
#include <string_view>

#include "error_text.h"
#include "forked.h"
#include "json.h"
#include "limit_search.h"
#include "number.h"
#include "progress.h"
#include "replay_run.h"
#include "synthetic.h"
#include "terminal.h"
#include "text.h"
#include "trace_reader.h"

namespace anyplace::tool {
namespace {

constexpr std::string_view who = "anyplace replay";

/// Thrown when the replay is impossible or stopped: the output and the exit status.
struct Refusal {
  Json json;
  std::string text;  ///< the text for standard error
  int status = exit_failed;
};

/// A note for standard error. `text` says what is wrong and what would be right, with "; " between, which a terminal
/// shows on lines of their own.
std::string note(const std::string& text) {
  return painted_note(Paint::bad, who) + ": " + on_lines(text, STDERR_FILENO) + "\n";
}

[[noreturn]] void refuse(const char* code, const std::string& text, int status) {
  throw Refusal{Json{{"error", Json{{"code", code}, {"text", text}}}}, note(text), status};
}

/// Ends the replay with an error. `error` is the result of error_json().
[[noreturn]] void refuse(const Json& error, int status) {
  throw Refusal{Json{{"error", error}}, error_text(who, error), status};
}

struct Work {
  std::string place;
  ReplayConfig config;
  Trace trace;
  std::optional<Trace> filling;  ///< set for a synthetic trace
  std::uint64_t capacity = 0;    ///< the bytes that the filling goes up to
};

struct Result {
  std::string place;
  std::string segments;
  std::uint64_t peak_reserved_bytes = 0;
  double ns_per_op = 0;       ///< the median over batches
  double mean_ns_per_op = 0;  ///< the mean over the same batches
  std::uint64_t device_allocations = 0;
  std::uint64_t device_frees = 0;
  /// Calls of the vendor's allocation and free in the last repetition, for each 1000 events.
  double last_vendor_calls = 0;
  std::optional<FoundLimit> found;
  std::optional<double> fill_at_failure;
};

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double quotient(std::uint64_t a, std::uint64_t b) {
  return b == 0 ? 0 : static_cast<double>(a) / static_cast<double>(b);
}

std::string exact_bytes(std::uint64_t bytes) {
  return bytes_text(bytes) + (bytes < 1024 ? "" : " (" + std::to_string(bytes) + " bytes)");
}

std::string fixed(double value, const char* format) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), format, value);
  return text.data();
}

// ---- Replaying

/// Ends a replay that stopped at `event`. `error` is the result of error_json().
[[noreturn]] void refuse_stopped(const Json& error, const Trace& trace, std::size_t event, std::uint64_t live) {
  const std::string text = error_text(who, error) + "  stopped at event " + std::to_string(event + 1) + " of " +
                           std::to_string(trace.events.size()) + ", with " + exact_bytes(live) +
                           " live; the trace needs " + exact_bytes(trace.peak_live_bytes) + "\n";
  throw Refusal{Json{{"error", error},
                     {"event", event + 1},
                     {"events", trace.events.size()},
                     {"live_bytes", live},
                     {"peak_live_bytes", trace.peak_live_bytes}},
                text, exit_failed};
}

FoundLimit search_limit(const Work& work, Progress& progress) {
  FoundLimit found = find_limit(work.place, work.trace, work.config, progress);
  if (found.failure.is_null()) return found;
  const Json& error = found.failure.at("error");
  if (!found.failure.contains("event")) refuse(error, exit_failed);
  refuse_stopped(error, work.trace, found.failure.at("event"), found.failure.at("live_bytes"));
}

/// Replays the filling until an allocation fails. Returns the live bytes with that allocation as a part of the
/// capacity, or nothing if all of it fit.
std::optional<double> fill_until_failure(Replay& replay, const Work& work, Progress& progress) {
  std::vector<double> unused;
  progress.stage("filling the memory");
  const std::optional<ReplayStop> stop = replay.run(work.filling->events, unused, progress);
  if (!stop) return std::nullopt;
  if (stop->error.code() != ErrorCode::out_of_memory) throw stop->error;
  return quotient(stop->live_bytes + work.filling->events[stop->event].bytes, work.capacity);
}

Result replay(const Work& work, std::uint32_t repetitions, bool with_limit, Progress& progress) {
  Result result;
  if (with_limit)
    // First, because its processes must begin before this one uses the device.
    result.found = search_limit(work, progress);

  const Device device(work.place);
  configure_replay(device, work.config);
  result.place = device.to_string();
  result.segments = segments_in_use(device);
  const std::uint32_t slots = std::max(work.trace.slots, work.filling ? work.filling->slots : 0);
  Replay replay(device, slots, work.trace.streams);
  std::vector<double> ns_per_op;
  const auto calls = [&] {
    const MemoryStats stats = memory_stats(device);
    return stats.at("num_device_alloc") + stats.at("num_device_free");
  };
  for (std::uint32_t i = 0; i < repetitions; ++i) {
    progress.stage(repetitions == 1 ? "replaying"
                                    : "replaying, " + std::to_string(i + 1) + " of " + std::to_string(repetitions));
    const std::int64_t before = calls();
    replay.free_all();
    if (const auto stop = replay.run(work.trace.events, ns_per_op, progress)) {
      refuse_stopped(error_json(stop->error), work.trace, stop->event, stop->live_bytes);
    }
    result.last_vendor_calls =
        static_cast<double>(calls() - before) * 1000 / static_cast<double>(work.trace.events.size());
  }
  const MemoryStats stats = memory_stats(device);
  result.peak_reserved_bytes = static_cast<std::uint64_t>(stats.at("reserved_bytes.all.peak"));
  result.device_allocations = static_cast<std::uint64_t>(stats.at("num_device_alloc"));
  result.device_frees = static_cast<std::uint64_t>(stats.at("num_device_free"));
  result.ns_per_op = median(ns_per_op);
  result.mean_ns_per_op = std::accumulate(ns_per_op.begin(), ns_per_op.end(), 0.0) /
                          static_cast<double>(std::max<std::size_t>(ns_per_op.size(), 1));
  if (work.filling) result.fill_at_failure = fill_until_failure(replay, work, progress);
  return result;
}

// ---- Synthetic

/// How much memory the synthetic trace may use. A child asks the device, because the processes of --find-limit have to
/// begin with an unused library.
std::uint64_t capacity_of(const std::string& place, const ReplayConfig& config, int fill) {
  const Json told = in_forked_child([&] { return Json{{"total", number_or_null(Device(place).memory_info().total)}}; });
  if (told.contains("error")) refuse(told.at("error"), exit_failed);
  const std::uint64_t total = told.at("total").is_null() ? UINT64_MAX : told.at("total").get<std::uint64_t>();
  const std::uint64_t capacity = std::min(total, config.limit_bytes.value_or(UINT64_MAX));
  if (capacity == UINT64_MAX) {
    refuse("unsupported", place + " doesn't tell how much memory it has; --limit says how much to use", exit_failed);
  }
  // The fill, a part of the capacity, has to have room for the largest size.
  const std::uint64_t least = synthetic_largest * 100 / static_cast<std::uint64_t>(fill);
  if (capacity <= least) {
    refuse("out_of_memory", "the synthetic trace needs " + bytes_text(least) + "; there are " + exact_bytes(capacity),
           exit_failed);
  }
  return capacity;
}

// ---- Output

Json result_json(const Work& work, const Result& result) {
  Json json;
  json["place"] = result.place;
  json["segments"] = result.segments;
  json["events"] = work.trace.events.size();
  json["streams"] = work.trace.streams;
  json["left_out"] = work.trace.left_out;
  json["peak_live_bytes"] = work.trace.peak_live_bytes;
  json["peak_reserved_bytes"] = result.peak_reserved_bytes;
  json["ratio"] = quotient(result.peak_reserved_bytes, work.trace.peak_live_bytes);
  json["ns_per_op"] = result.ns_per_op;
  json["mean_ns_per_op"] = result.mean_ns_per_op;
  json["device_allocations"] = result.device_allocations;
  json["device_frees"] = result.device_frees;
  json["last_vendor_calls_per_1000"] = result.last_vendor_calls;
  if (result.found) {
    json["limit_bytes"] = result.found->limit_bytes;
    json["limit_ratio"] = quotient(result.found->limit_bytes, work.trace.peak_live_bytes);
  }
  if (work.filling) {
    json["capacity_bytes"] = work.capacity;
    json["fill_at_failure"] = result.fill_at_failure ? Json(*result.fill_at_failure) : Json(nullptr);
  }
  return json;
}

std::string result_text(const Work& work, const std::string& name, const Result& result, std::uint32_t repetitions) {
  const Trace& trace = work.trace;
  std::string text = painted(Paint::heading, name + " on " + result.place + ", segments " + result.segments) + "\n";
  text += field("events", std::to_string(trace.events.size()) +
                              (trace.streams == 1 ? "" : " on " + std::to_string(trace.streams) + " streams") +
                              (repetitions == 1 ? "" : ", " + std::to_string(repetitions) + " times"));
  if (trace.left_out != 0) {
    text += field("left out", std::to_string(trace.left_out) + " frees of what was allocated before the history began");
  }
  text += field("peak live", exact_bytes(trace.peak_live_bytes));
  text += field("peak reserved", exact_bytes(result.peak_reserved_bytes));
  text += field("ratio", fixed(quotient(result.peak_reserved_bytes, trace.peak_live_bytes), "%.4f"));
  text += field("ns per operation", fixed(result.ns_per_op, "%.1f"));
  text += field("device allocations", std::to_string(result.device_allocations));
  text += field("device frees", std::to_string(result.device_frees));
  if (repetitions > 1) {
    text += field("vendor calls", fixed(result.last_vendor_calls, "%g") + " per 1000 events, the last time");
  }
  if (result.found) {
    const std::uint64_t limit = result.found->limit_bytes;
    text += field("smallest limit",
                  exact_bytes(limit) + ", " + fixed(quotient(limit, trace.peak_live_bytes), "%.4f") + " x peak live");
  }
  if (work.filling) {
    text += field("first failure", result.fill_at_failure
                                       ? "at " + fixed(*result.fill_at_failure * 100, "%.1f") + " % of the memory"
                                       : std::string("none"));
  }
  return text;
}

}  // namespace

ReplayCommand::ReplayCommand(CLI::App& app)
    : command_(app.add_subcommand("replay", "Replays a trace of allocations and shows what it took")) {
  const auto number = [](const std::string& text) {
    if (parse_number(text)) return std::string();
    return in_quotes(text) + " is no number from 0 to 2^64 - 1";
  };
  const auto size = [](const std::string& text) {
    if (parse_size(text)) return std::string();
    return in_quotes(text) + " is no size: bytes, or a number with KiB, MiB, GiB or TiB";
  };
  CLI::Option* const trace =
      command_->add_option("TRACE", trace_, "The trace: a file, plain or packed by gzip, or - for standard input");
  command_->add_option("--place", place_, "The device (default cpu_sim:0)");
  device_option_ =
      command_->add_option("--device", device_, "Replay this device of a memory snapshot (default: the only one)")
          ->needs(trace);
  command_->add_option("--segments", segments_, "vmm or classic (default: vmm where the device has virtual memory)")
      ->check(CLI::IsMember({"vmm", "classic"}));
  command_->add_option("--limit", limit_, "Reserve at most this much of the device: bytes, or 24GiB")->check(size);
  command_->add_flag("--find-limit", find_limit_, "Find the smallest limit under which the trace completes");
  synthetic_ = command_->add_option("--synthetic", seed_, "Make a random trace from this seed instead of reading one")
                   ->check(number)
                   ->excludes(trace);
  operations_option_ = command_->add_option("--operations", operations_, "Events of the random trace (default 1000000)")
                           ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1'000'000'000}))
                           ->needs(synthetic_);
  command_->add_option("--fill", fill_, "Percent of the device that the random trace fills (default 80)")
      ->check(CLI::Range(1, 99))
      ->needs(synthetic_);
  command_->add_option("--repeat", repeat_, "Replay this many times, on what the time before cached (default 1)")
      ->check(CLI::Range(1u, 1'000'000u));
  command_->add_flag("--json", json_, "Write JSON");
  command_->footer(
      "A line of a trace is a,ID,BYTES for an allocation and f,ID,BYTES for its free; a fourth field is the\n"
      "index of a stream. The lines of a logging_allocator are read too, and a memory snapshot as PyTorch's\n"
      "_dump_snapshot and anyplace's write_memory_snapshot write it. No byte of the memory is touched.\n"
      "\n"
      "Exit status:\n"
      "  0  the trace completed\n"
      "  1  it didn't: out of memory, no such place\n"
      "  2  the command line, the text of the place or the trace is wrong");
}

bool ReplayCommand::chosen() const { return command_->parsed(); }

Answer ReplayCommand::run() const {
  const bool synthetic = synthetic_->count() > 0;
  Progress progress;
  try {
    if (trace_.empty() && !synthetic) refuse("usage", "a TRACE or --synthetic SEED is missing", exit_usage);
    Work work;
    work.place = place_;
    if (segments_ == "vmm") work.config.segments = SegmentKind::virtual_memory;
    if (segments_ == "classic") work.config.segments = SegmentKind::classic;
    if (!limit_.empty()) work.config.limit_bytes = parse_size(limit_);
    try {
      static_cast<void>(Place(place_));
    } catch (const Error& malformed) {
      refuse(error_json(malformed), exit_usage);
    }
    if (synthetic) {
      work.capacity = capacity_of(place_, work.config, fill_);
      progress.stage("making the synthetic trace");
      Synthetic made = make_synthetic(seed_, operations_, work.capacity, fill_);
      work.trace = std::move(made.trace);
      work.filling = std::move(made.filling);
    } else {
      const bool of_device = device_option_->count() > 0;
      work.trace = read_trace(trace_, of_device ? std::optional(device_) : std::nullopt, progress);
    }
    const Result result = replay(work, repeat_, find_limit_, progress);
    const std::string name = synthetic ? "synthetic trace " + std::to_string(seed_) : trace_name(trace_);
    return {json_ ? dump(result_json(work, result)) : result_text(work, name, result, repeat_), "", exit_ok};
  } catch (const TraceError& error) {
    if (json_) return {dump(Json{{"error", Json{{"code", "bad_trace"}, {"text", error.what()}}}}), "", exit_usage};
    return {"", note(error.what()), exit_usage};
  } catch (const Refusal& refusal) {
    if (json_) return {dump(refusal.json), "", refusal.status};
    return {"", refusal.text, refusal.status};
  } catch (const Error& error) {
    // Before the first allocation an invalid_argument can only be about the configuration: ANYPLACE_ALLOCATOR.
    const int status = error.code() == ErrorCode::invalid_argument ? exit_usage : exit_failed;
    if (json_) return {dump(Json{{"error", error_json(error)}}), "", status};
    return {"", error_text(who, error), status};
  }
}

}  // namespace anyplace::tool
