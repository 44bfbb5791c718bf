// SPDX-License-Identifier: Apache-2.0
#include "limit_search.h"

#include <algorithm>

#include "forked.h"
#include "text.h"

namespace anyplace::tool {
namespace {

std::uint64_t round_up(std::uint64_t bytes) { return (bytes + limit_step - 1) / limit_step * limit_step; }

bool completed(const Json& attempt) { return !attempt.contains("error"); }

bool ran_out(const Json& attempt) {
  return attempt.at("error").at("code").get<std::string>() == to_string(ErrorCode::out_of_memory);
}

class Search {
 public:
  Search(const std::string& place, const Trace& trace, ReplayConfig config, Progress& progress)
      : place_(place), trace_(trace), config_(config), progress_(progress) {}

  FoundLimit run() {
    const Json unlimited = attempt(config_.limit_bytes);
    if (!found_.failure.is_null()) return found_;
    if (!completed(unlimited)) {
      found_.failure = unlimited;
      return found_;
    }
    // The smallest limit is between the peak of live bytes, which have to fit, and the bytes reserved without a limit,
    // which suffice.
    std::uint64_t good = round_up(unlimited.at("peak_reserved_bytes").get<std::uint64_t>());
    std::uint64_t next = std::max(round_up(trace_.peak_live_bytes), limit_step);
    std::uint64_t bad = next - limit_step;
    // The answer is expected near the live bytes, so the steps begin there and double.
    for (std::uint64_t step = limit_step; next < good && found_.failure.is_null(); step *= 2) {
      if (fits(next)) {
        good = next;
      } else {
        bad = next;
        next += step;
      }
    }
    while (good - bad > limit_step && found_.failure.is_null()) {
      const std::uint64_t middle = bad + (good - bad) / limit_step / 2 * limit_step;
      (fits(middle) ? good : bad) = middle;
    }
    found_.limit_bytes = good;
    return found_;
  }

 private:
  Json attempt(std::optional<std::uint64_t> limit) {
    ++found_.tries;
    ReplayConfig config = config_;
    config.limit_bytes = limit;
    progress_.stage("finding the limit, try " + std::to_string(found_.tries) +
                    (limit ? " with " + bytes_text(limit) : ""));
    Json result = replay_once(place_, trace_, config, progress_);
    if (!completed(result) && !ran_out(result)) found_.failure = result;
    return result;
  }

  bool fits(std::uint64_t limit) {
    const Json result = attempt(limit);
    if (!completed(result)) return false;
    const auto reserved = result.at("peak_reserved_bytes").get<std::uint64_t>();
    if (reserved > limit) {
      throw std::runtime_error("under a limit of " + std::to_string(limit) + " bytes the allocator reserved " +
                               std::to_string(reserved));
    }
    return true;
  }

  const std::string& place_;
  const Trace& trace_;
  ReplayConfig config_;
  Progress& progress_;
  FoundLimit found_;
};

}  // namespace

Json replay_once(const std::string& place, const Trace& trace, const ReplayConfig& config, Progress& progress) {
  return in_forked_child([&] {
    const Device device(place);
    configure_replay(device, config);
    Replay replay(device, trace.slots, trace.streams);
    std::vector<double> unused;
    const std::optional<ReplayStop> stop = replay.run(trace.events, unused, progress);
    if (!stop) return Json{{"peak_reserved_bytes", memory_stats(device).at("reserved_bytes.all.peak")}};
    return Json{{"error", error_json(stop->error)}, {"event", stop->event}, {"live_bytes", stop->live_bytes}};
  });
}

FoundLimit find_limit(const std::string& place, const Trace& trace, const ReplayConfig& config, Progress& progress) {
  return Search(place, trace, config, progress).run();
}

}  // namespace anyplace::tool
