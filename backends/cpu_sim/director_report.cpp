// SPDX-License-Identifier: Apache-2.0
//
// This file has what the director writes to the report, as docs/cpu_sim-deterministic.md has it.
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "director.h"

namespace anyplace::cpu_sim {
namespace {

std::string number(std::uint64_t value) { return std::to_string(value); }

/// Writes "name":[a,b,...], where `write(candidate)` writes an element.
template <class Candidates, class Write>
std::string array(const char* name, const Candidates& candidates, Write write) {
  std::string text = std::string(",\"") + name + "\":[";
  for (const auto& candidate : candidates) {
    if (!text.ends_with('[')) text += ',';
    text += write(candidate);
  }
  return text + "]";
}

}  // namespace

Director::Director(const Config& config)
    : job_(config.job),
      prints_hash_(config.prints_hash),
      name_(config.job.has_ranks() ? "anyplace: cpu_sim: rank " + number(config.job.rank) + ": "
                                   : std::string("anyplace: cpu_sim: ")),
      strategy_(make_strategy(config.strategy, seed_of_rank(config.seed, config.job.rank))),
      time_(config.profile == nullptr ? nullptr : std::make_unique<VirtualTime>(config.profile)),
      report_(config.report) {
  if (time_ != nullptr) time_->advance(now_ns());
  const std::string profile = time_ == nullptr ? "" : ",\"profile\":" + json_text(config.profile->name);
  const std::string rank =
      !config.job.has_ranks() ? "" : ",\"rank\":" + number(config.job.rank) + ",\"ranks\":" + number(config.job.size);
  if (!rank.empty()) report_.hash(rank);
  report_.line("{\"anyplace_cpu_sim_report\":1,\"mode\":\"deterministic\",\"strategy\":" + json_text(config.strategy) +
               ",\"seed\":" + number(config.seed) + rank + profile + "}");
  join_board();
}

std::string Director::what_of(const Candidate& candidate) {
  if (candidate.caller == nullptr) return candidate.operation.what;
  const bool is_out_of_time = candidate.caller->state == Caller::State::waits &&
                              !std::all_of(candidate.caller->records.begin(), candidate.caller->records.end(),
                                           [](const Record& record) { return record.complete(); });
  return std::string("continue: ") + candidate.caller->call + (is_out_of_time ? " (time runs out)" : "");
}

/// Writes what an operation reads or writes, as [allocation, begin, end].
std::string Director::ranges_text(const Operation& operation, const std::vector<Operation::Range>& ranges) const {
  if (operation.touches_all) return "\"all\"";
  std::string text = "[";
  for (const Operation::Range& range : ranges) {
    if (text.size() > 1) text += ',';
    auto memory = memory_.upper_bound(range.begin);
    if (memory == memory_.begin() || (--memory)->second.end <= range.begin) {
      text += "[\"host\",0,0]";
    } else {
      text += "[" + number(memory->second.number) + "," + number(range.begin - memory->first) + "," +
              number(range.end - memory->first) + "]";
    }
  }
  return text + "]";
}

/// Returns Option::touched.
std::uint64_t Director::allocations_of(const Operation& operation) const {
  if (operation.touches_all) return UINT64_MAX;
  std::uint64_t bits = 0;
  for (const auto* const ranges : {&operation.reads, &operation.writes}) {
    for (const Operation::Range& range : *ranges) {
      auto memory = memory_.upper_bound(range.begin);
      const bool is_host = memory == memory_.begin() || (--memory)->second.end <= range.begin;
      bits |= std::uint64_t{1} << (is_host ? 0 : memory->second.number % 64);
    }
  }
  return bits;
}

/// Returns the beginning of a choice's line.
std::string Director::choice_text(const char* kind, const Caller* at, std::size_t options, std::size_t taken,
                                  std::size_t plain) const {
  std::string text = "{\"choice\":" + number(choices_) + ",\"kind\":\"" + kind + "\"";
  text += ",\"thread\":" + (at == nullptr ? "-1" : number(at->number));
  return text + ",\"options\":" + number(options) + ",\"taken\":" + number(taken) + ",\"default\":" + number(plain);
}

void Director::report_in_call(const char* kind, std::size_t taken, const std::vector<std::string>& what) {
  report_.line(choice_text(kind, holder_, what.size(), taken, 0) + ",\"call\":" + number(holder_->calls) +
               array("what", what, [](const std::string& each) { return json_text(each); }) + "}");
}

void Director::report_choice(const std::vector<Candidate>& candidates, std::size_t taken, std::size_t plain) {
  if (!report_.is_written()) return;
  std::string text = choice_text("step", last_holder_, candidates.size(), taken, plain);
  const auto of_operation = [](auto write) {
    return [write](const Candidate& each) -> std::string {
      return each.caller != nullptr ? "null" : write(each.operation);
    };
  };
  text += array("what", candidates, [](const Candidate& each) { return json_text(what_of(each)); });
  text += array("threads", candidates,
                [](const Candidate& each) { return each.caller != nullptr ? number(each.caller->number) : "-1"; });
  text += array("devices", candidates, [](const Candidate& each) { return std::to_string(each.operation.device); });
  text += array("streams", candidates,
                [](const Candidate& each) { return each.caller != nullptr ? "-1" : number(each.operation.stream); });
  text += array("branches", candidates, [](const Candidate& each) { return number(each.operation.branch); });
  text += array("numbers", candidates, [](const Candidate& each) { return number(each.option.done); });
  text +=
      array("reads", candidates, of_operation([this](const Operation& each) { return ranges_text(each, each.reads); }));
  text += array("writes", candidates,
                of_operation([this](const Operation& each) { return ranges_text(each, each.writes); }));
  text += array("touches", candidates,
                of_operation([](const Operation& each) { return "[\"s" + number(each.stream) + "\"]"; }));
  report_.line(text + "}");
}

void Director::report_ran(const Operation& operation, std::int64_t begin_ns, std::int64_t end_ns, bool is_blocked) {
  const std::string text = "{\"ran\":" + number(ran_++) + ",\"device\":" + std::to_string(operation.device) +
                           ",\"stream\":" + number(operation.stream) + ",\"number\":" + number(operation.done) +
                           ",\"what\":" + json_text(operation.what) + ",\"begin_ns\":" + std::to_string(begin_ns) +
                           ",\"end_ns\":" + std::to_string(end_ns) + (is_blocked ? ",\"blocked\":true}" : "}");
  report_.hash(text);
  report_.line(text);
}

void Director::report_uncontrolled(const std::string& what) {
  if (said_.insert(what).second) report_.line("{\"uncontrolled\":" + json_text(what) + "}");
}

void Director::report_end() {
  if (const std::string unmet = strategy_->unmet(); !unmet.empty()) {
    const std::string text = "the file's deviation " + unmet + ", which never came up";
    report_.line("{\"diverged\":" + json_text(text) + "}");
    std::fprintf(stderr, "%sthe program and the file of choices diverge at %s\n", name_.c_str(), text.c_str());
  }
  const std::string hash = report_.hash_text();
  report_.line("{\"end\":1,\"choices\":" + number(choices_) + ",\"ran\":" + number(ran_) +
               ",\"uncontrolled\":" + number(said_.size()) + ",\"calls\":" + number(calls_) +
               ",\"submissions\":" + number(submissions_) + ",\"hash\":\"" + hash + "\"}");
  if (prints_hash_) std::fprintf(stderr, "%sschedule %s\n", name_.c_str(), hash.c_str());
}

void Director::end_diverged(const std::vector<std::string>& what, std::size_t taken) {
  std::string text = "choice " + number(choices_) + ": the file says " + number(taken) + ", and there are " +
                     number(what.size()) + " options: ";
  for (const std::string& option : what) text += option + "; ";
  text.resize(text.size() - 2);
  report_.line("{\"diverged\":" + json_text(text) + "}");
  std::fprintf(stderr, "%sthe program and the file of choices diverge at %s\n", name_.c_str(), text.c_str());
  board_.leave();
  _exit(diverged_status);
}

}  // namespace anyplace::cpu_sim
