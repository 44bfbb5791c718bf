// SPDX-License-Identifier: Apache-2.0
//
// What the operations do, the same for every library that is measured: nothing but being counted, or being counted
// after a microsecond. And what holds a stream back, and the clock.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>
#if defined(__x86_64__)
#include <x86intrin.h>
#else
#include <chrono>
#endif

namespace bench {

// -- The clock: the processor's own where it is known, for a call of std::chrono's is as long as what is measured.

inline std::uint64_t ticks() noexcept {
#if defined(__x86_64__)
  return __rdtsc();
#else
  return static_cast<std::uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count());
#endif
}
/// Measured once, against the system's clock.
double nanoseconds_per_tick();
/// What two readings with nothing between them are apart, in nanoseconds. No figure has it subtracted.
double clock_cost();

inline void pause() noexcept {
#if defined(__x86_64__)
  _mm_pause();
#endif
}

/// Runs the calling thread for that long.
void spin(double nanoseconds);

// -- Operations.

/// Operations that one thread has run. A thread writes its own alone, so that counting costs no more than an increment,
/// and no line of memory travels for it.
struct alignas(128) Tally {
  std::atomic<std::uint64_t> count{0};
};
Tally& new_tally();
/// Of all threads. Exact when nothing runs.
std::uint64_t operations_run();

inline constinit thread_local Tally* tally_of_thread = nullptr;

/// The body of an empty operation.
inline void run_empty() noexcept {
  if (tally_of_thread == nullptr) tally_of_thread = &new_tally();
  std::atomic<std::uint64_t>& count = tally_of_thread->count;
  count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

/// The body of an operation with three arguments.
inline void run_three(float* memory, float factor, int index) noexcept {
  memory[index & 15] = factor;
  run_empty();
}

/// The body of an operation of a microsecond.
void run_microsecond() noexcept;

/// An operation that runs until it is let go. One for each that runs. On lines of memory of its own: it is looked at
/// all the time, from another core than what is timed.
class alignas(128) Gate {
 public:
  /// The operation.
  void hold() noexcept;
  /// Returns once the operation runs.
  void wait_until_held() const noexcept;
  void open() noexcept { open_.store(true, std::memory_order_release); }
  void reset() noexcept;

 private:
  std::atomic<bool> held_{false};
  std::atomic<bool> open_{false};
};

// -- A graph of operations in streams.

/// One operation: after those before it in its stream and, if `after` isn't `nothing`, after that operation, which is
/// the last one so far of the stream `other`.
struct Step {
  static constexpr std::uint32_t nothing = UINT32_MAX;
  std::uint32_t stream = 0;
  std::uint32_t previous = nothing;  ///< in its own stream
  std::uint32_t other = 0;
  std::uint32_t after = nothing;
};

/// The same for the same numbers. One step in four waits for another stream.
std::vector<Step> random_plan(std::uint32_t streams, std::uint32_t steps);

/// Whether operations ran in an order that their plan allows, found out by the operations themselves.
class OrderCheck {
 public:
  explicit OrderCheck(const std::vector<Step>& plan) : plan_(plan), done_(plan.size()) {}
  /// The body of the operation of `step`.
  void run(std::uint32_t step) noexcept;
  std::uint64_t violations() const noexcept { return violations_.load(); }

 private:
  bool done(std::uint32_t step) const noexcept;

  const std::vector<Step>& plan_;
  std::vector<std::atomic<bool>> done_;
  std::atomic<std::uint64_t> violations_{0};
};

}  // namespace bench
