// SPDX-License-Identifier: Apache-2.0
//
// What other threads of this process do, as the kernel tells it in /proc: the deterministic mode (director.h) waits
// until all of them have come to a call of theirs or wait for something, before it chooses who goes on.
#pragma once

#include <sys/types.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace anyplace::cpu_sim {

/// The core's thread that receives what other ranks send has this name.
inline constexpr std::string_view receiver_name = "anyplace-ranks";

/// Returns whether the thread with that name polls for the core or a layer: it only asks.
constexpr bool is_polling(std::string_view name) noexcept {
  return name == "anyplace-poll" || name == "anyplace-trace";
}

/// Returns whether the thread with that name acts in real time: nobody waits for what it does. The core's other thread,
/// anyplace-serve, does what the program has left to it, as a thread of the program's.
constexpr bool acts_in_real_time(std::string_view name) noexcept { return is_polling(name) || name == receiver_name; }

/// Returns the system's number of the calling thread.
pid_t this_thread() noexcept;
/// Returns whether this process has no thread with that number.
bool has_ended(pid_t thread) noexcept;

/// A Waited adds up what passes between looks, of real time or of a thread's processor time. Each part counts up to a
/// limit, so that a machine that stood still for a while, as a virtual one may, takes nobody's patience.
class Waited {
 public:
  explicit Waited(std::int64_t longest_part_ns) noexcept : longest_part_ns_(longest_part_ns) {}
  void begin(std::int64_t now_ns) noexcept {
    last_ns_ = now_ns;
    sum_ns_ = 0;
  }
  std::int64_t until(std::int64_t now_ns) noexcept {
    sum_ns_ += std::min(now_ns - last_ns_, longest_part_ns_);
    last_ns_ = now_ns;
    return sum_ns_;
  }

 private:
  std::int64_t longest_part_ns_;
  std::int64_t last_ns_ = 0;
  std::int64_t sum_ns_ = 0;
};

/// An OpenThread is one thread, whose files in /proc stay open.
class OpenThread {
 public:
  explicit OpenThread(pid_t id) noexcept;
  OpenThread(const OpenThread&) = delete;
  OpenThread& operator=(const OpenThread&) = delete;
  ~OpenThread();

  enum class Doing : std::uint8_t {
    runs,    // It runs, or will as soon as there is a processor for it.
    waits,   // It waits for another thread, without a limit of time.
    sleeps,  // It waits for something else, such as time, a file or a child.
    ended
  };
  Doing look() noexcept;
  /// Returns the time that the thread has computed so far.
  std::int64_t computed_ns() const noexcept;
  std::string name() const;

  // The director's notes.
  bool seen = false;           // It was there at the last listing.
  bool is_named = false;       // Its name has been looked at.
  bool polls = false;          // It is one that polls, so it isn't looked at.
  bool spins = false;          // It computes, or an operation sleeps, for so long that it isn't waited for.
  bool has_spun = false;       // It did so before.
  bool is_waited_for = false;  // Since an earlier look; the next two count from that one on.
  Waited real{5'000'000};
  Waited computing{2'000'000};
  std::int64_t before_ns = 0;  // It had computed so long at the last look.
  Doing doing = Doing::runs;

 private:
  char state() const noexcept;

  const pid_t id_;
  const int call_, state_;  // The open files.
};

class ProcessThreads {
 public:
  ProcessThreads() noexcept;
  ProcessThreads(const ProcessThreads&) = delete;
  ProcessThreads& operator=(const ProcessThreads&) = delete;
  ~ProcessThreads();

  /// Returns whether the kernel tells what threads do.
  bool is_known() const noexcept { return folder_ >= 0; }
  /// Returns whether there are more or fewer threads than at the last listing.
  bool have_changed() const noexcept;
  /// Returns all threads, by their ids. The map is made anew when there are more or fewer than before, or `anew`.
  std::map<pid_t, OpenThread>& list(bool anew);
  /// Returns the same map as it was left by list().
  const std::map<pid_t, OpenThread>& known() const noexcept { return threads_; }
  /// Returns how often the map was made anew.
  std::uint64_t listings() const noexcept { return listings_; }

 private:
  std::uint64_t links() const noexcept;

  const int folder_;
  std::uint64_t links_ = 0;  // The folder had so many at the last listing.
  std::uint64_t listings_ = 0;
  std::map<pid_t, OpenThread> threads_;
};

}  // namespace anyplace::cpu_sim
