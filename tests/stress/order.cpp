// SPDX-License-Identifier: Apache-2.0
#include "order.h"

#include <algorithm>

namespace stress {

Order::Order(std::uint32_t threads, std::size_t streams)
    : thread_count_(threads), threads_(threads), streams_(streams, std::vector<std::vector<Submission>>(threads)) {}

void Order::join(Done& done, const Done& more) {
  if (done.size() < more.size()) done.resize(more.size(), 0);
  for (std::size_t i = 0; i < more.size(); ++i) done[i] = std::max(done[i], more[i]);
}

Sight Order::next(std::uint32_t thread) const {
  Sight sight;
  sight.thread = thread;
  if (threads_[thread].empty()) {
    sight.clock.assign(thread_count_, 0);
  } else {
    sight.clock = threads_[thread].back().clock;
    sight.done = threads_[thread].back().done;
  }
  sight.clock[thread] = count(thread) + 1;
  return sight;
}

void Order::follow(Sight& sight, std::uint32_t thread, std::uint32_t index) const {
  if (thread == sight.thread || sight.clock[thread] >= index) return;
  const Seen& other = threads_[thread][index - 1];
  for (std::size_t i = 0; i < sight.clock.size(); ++i) sight.clock[i] = std::max(sight.clock[i], other.clock[i]);
  join(sight.done, other.done);
  sight.behind.emplace_back(thread, index);
}

Done Order::before(const Sight& sight, std::span<const std::int64_t> streams) const {
  Done done = sight.done;
  for (const std::int64_t stream : streams) {
    for (std::uint32_t thread = 0; thread < thread_count_; ++thread) {
      const auto& submissions = streams_[static_cast<std::size_t>(stream)][thread];
      const auto behind =
          std::upper_bound(submissions.begin(), submissions.end(), sight.clock[thread],
                           [](std::uint32_t index, const Submission& entry) { return index < entry.index; });
      if (behind != submissions.begin()) join(done, std::prev(behind)->after);
    }
  }
  return done;
}

bool Order::holds(const Done& done, const Place& place) const {
  const std::size_t at = lane(place.stream, place.thread);
  return place.index == 0 || (at < done.size() && done[at] >= place.index);
}

Done Order::after(std::int64_t stream, Done before, const Sight& sight) const {
  const std::size_t at = lane(stream, sight.thread);
  if (before.size() <= at) before.resize(at + 1, 0);
  before[at] = std::max(before[at], sight.clock[sight.thread]);
  return before;
}

void Order::submit(const Sight& sight, std::int64_t stream, Done before) {
  streams_[static_cast<std::size_t>(stream)][sight.thread].push_back(
      {sight.clock[sight.thread], after(stream, std::move(before), sight)});
}

void Order::finish(const Sight& sight) { threads_[sight.thread].push_back({sight.clock, sight.done}); }

}  // namespace stress
