// SPDX-License-Identifier: Apache-2.0
//
// A Strategy is who chooses in the deterministic mode (director.h): which thread goes on, or which stream executes its
// next operation. It knows nothing of threads and streams but what an Option says.
//
// The sources: PCT is Burckhardt et al., "A Randomized Scheduler with Probabilistic Guarantees of Finding Bugs", ASPLOS
// 2010; URW and SURW are Zhao et al., "Selectively Uniform Concurrency Testing", ASPLOS 2025.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace anyplace::cpu_sim {

// Threads and streams are numbered apart from each other, and so are the ways in which a thread's calls can be done.
constexpr std::uint64_t actor_of_thread(std::uint64_t number) noexcept { return 2 * number; }
constexpr std::uint64_t actor_of_stream(std::uint64_t number) noexcept { return 2 * number + 1; }
constexpr std::uint64_t actor_of_way(std::uint64_t thread, std::uint64_t way) noexcept {
  return std::uint64_t{1} << 63 | thread << 16 | way;
}

struct Option {
  std::uint64_t actor = 0;  ///< It is the same for each option of one host thread or stream, and no other's.
  bool is_thread = false;   ///< It says that a host thread goes on; else a stream executes an operation.
  bool is_needed = false;   ///< It says that a host thread waits for that stream, if Strategy::asks_for_needed().
  std::uint64_t done = 0;   ///< The actor has made so many calls, or its stream has executed so many operations.
  std::uint64_t left = 0;   ///< A stream has so many commands left; it is 0 for a thread.
  /// A thread has made so many calls behind which there was a choice since it last waited for a stream; it is 0 for a
  /// stream. What the thread does after its next wait comes after what it waits for in every schedule.
  std::uint64_t submitted = 0;
  std::uint64_t touched = 0;  ///< It has a bit for each allocation that the operation may touch, by number modulo 64.
  std::uint64_t branch = 0;   ///< It tells options of one actor apart: the nodes of a graph that have no order.
};

class Strategy {
 public:
  Strategy() = default;
  Strategy(const Strategy&) = delete;
  Strategy& operator=(const Strategy&) = delete;
  virtual ~Strategy() = default;

  /// Returns the index of the option to take. There are at least two. `plain` is the one that the plain schedule takes.
  /// A result that is no index says that the schedule which the strategy follows is another program's.
  virtual std::size_t choose(std::span<const Option> options, std::size_t plain) = 0;
  /// Returns whether it reads Option::is_needed, which takes a look at every stream to find out.
  virtual bool asks_for_needed() const noexcept { return false; }
  /// Says that the actor is gone. No option is its any more.
  virtual void forget(std::uint64_t actor) noexcept { static_cast<void>(actor); }
  /// Returns what a schedule that is followed has that never came up: it is another program's, then. "": nothing.
  virtual std::string unmet() const { return {}; }
};

/// Makes the strategy that the text names, as docs/cpu_sim-deterministic.md has them. Throws Failure(INVALID_ARGUMENT),
/// which names the known ones, for another text, and for a file of choices that can't be read.
std::unique_ptr<Strategy> make_strategy(const std::string& text, std::uint64_t seed);

}  // namespace anyplace::cpu_sim
