// SPDX-License-Identifier: Apache-2.0
#include "shrink.h"

#include <algorithm>

namespace stress {
namespace {

using Clock_ = std::chrono::steady_clock;

class Shrinker {
 public:
  Shrinker(const std::vector<Traits>& traits, const std::function<Outcome(const Plan&)>& run,
           Clock_::time_point deadline, Shrunk& best)
      : traits_(traits), run_(run), deadline_(deadline), best_(best) {}

  void shrink() {
    measure();
    for (std::size_t before = 0; before != size() && !over();) {
      before = size();
      try_fewer_threads();
      remove_chunks();
      try_fewer_settings();
    }
  }

 private:
  std::size_t size() const { return best_.round.operations.size(); }
  bool over() const { return Clock_::now() >= deadline_; }

  /// How often a candidate has to be run before it is held for one that doesn't show it.
  void measure() {
    constexpr unsigned first = 8;
    const Plan plan = stress::plan(best_.round, traits_);
    while (best_.tried < first && !over()) {
      const Outcome outcome = run_(plan);
      ++best_.runs;
      ++best_.tried;
      if (outcome.finding != best_.outcome.finding) continue;
      ++best_.again;
      if (best_.again == 3 && best_.tried == 3) break;
    }
    times_ = best_.again == best_.tried ? 2 : std::min(4 * best_.tried / (best_.again + 1), 32U);
  }

  /// Takes the candidate if it shows the same.
  bool try_round(const Round& candidate) {
    const Plan plan = stress::plan(candidate, traits_);
    if (plan.round == best_.round) return false;
    for (unsigned time = 0; time < times_ && !over(); ++time) {
      Outcome outcome = run_(plan);
      ++best_.runs;
      if (outcome.finding != best_.outcome.finding) continue;
      best_.round = plan.round;
      best_.outcome = std::move(outcome);
      return true;
    }
    return false;
  }

  /// Chunks of half of it, of a quarter, and so on to single operations.
  void remove_chunks() {
    for (std::size_t chunk = std::max<std::size_t>(size() / 2, 1); chunk > 0 && !over(); chunk /= 2) {
      // From the end, where what is removed is needed by nothing.
      for (std::size_t end = size(); end > 0 && !over();) {
        const std::size_t begin = end > chunk ? end - chunk : 0;
        Round candidate = best_.round;
        const auto first = candidate.operations.begin();
        candidate.operations.erase(first + static_cast<std::ptrdiff_t>(begin),
                                   first + static_cast<std::ptrdiff_t>(end));
        try_round(candidate);
        end = std::min(begin, size());
      }
    }
  }

  void try_fewer_threads() {
    for (std::uint32_t thread = 0; thread < best_.round.threads && !over(); ++thread) {
      Round candidate = best_.round;
      std::erase_if(candidate.operations, [&](const Operation& operation) { return operation.thread == thread; });
      if (candidate.operations.size() == size() || try_round(candidate)) continue;
      candidate = best_.round;
      for (Operation& operation : candidate.operations)
        operation.thread = operation.thread == thread ? 0 : operation.thread;
      if (thread != 0) try_round(candidate);
    }
  }

  void try_fewer_settings() {
    for (std::size_t i = best_.round.settings.size(); i-- > 0 && !over();) {
      Round candidate = best_.round;
      candidate.settings.erase(candidate.settings.begin() + static_cast<std::ptrdiff_t>(i));
      try_round(candidate);
    }
    for (const Ending ending : {Ending::orderly, Ending::busy}) {
      if (best_.round.ending <= ending || over()) break;
      Round candidate = best_.round;
      candidate.ending = ending;
      try_round(candidate);
    }
  }

  const std::vector<Traits>& traits_;
  const std::function<Outcome(const Plan&)>& run_;
  Clock_::time_point deadline_;
  Shrunk& best_;
  unsigned times_ = 2;
};

}  // namespace

Shrunk shrink(const Round& round, const Outcome& outcome, const std::vector<Traits>& traits,
              const std::function<Outcome(const Plan&)>& run, std::chrono::steady_clock::time_point deadline) {
  Shrunk best{plan(round, traits).round, outcome};
  Shrinker(traits, run, deadline, best).shrink();
  return best;
}

}  // namespace stress
