// SPDX-License-Identifier: Apache-2.0
//
// Happens-before among the operations of a round: what a host thread has seen of the others, and which work is done
// before other work starts. Vector clocks: one entry for each host thread, and for work one for each lane, which is a
// stream and the thread that submits to it. Submissions of two threads to one stream have no order unless the threads
// have one.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace stress {

/// For each thread, how many of its operations happened before.
using Clock = std::vector<std::uint32_t>;
/// For each lane, the last operation of its thread whose work on that stream is done, and with it all before.
using Done = std::vector<std::uint32_t>;

/// Where something happened: an operation of a thread (counted from 1), and the stream if its work did it.
struct Place {
  std::int64_t stream = -1;
  std::uint32_t thread = 0;
  std::uint32_t index = 0;  ///< 0: never
};

/// What a thread knows as it begins an operation.
struct Sight {
  std::uint32_t thread = 0;
  Clock clock;
  Done done;                                                    ///< what it has waited for
  std::vector<std::pair<std::uint32_t, std::uint32_t>> behind;  ///< (thread, operations) that it has to wait for
};

class Order {
 public:
  Order(std::uint32_t threads, std::size_t streams);

  /// The thread's next operation, before anything else is known.
  Sight next(std::uint32_t thread) const;
  /// The operation comes after that one, too.
  void follow(Sight& sight, std::uint32_t thread, std::uint32_t index) const;
  /// What is done before work that `sight` submits to these streams' end begins: all that it knows to be submitted.
  Done before(const Sight& sight, std::span<const std::int64_t> streams) const;
  bool holds(const Done& done, const Place& place) const;
  static void join(Done& done, const Done& more);

  /// The operation happens, and submits to `stream` work that begins when `before` is done.
  void submit(const Sight& sight, std::int64_t stream, Done before);
  /// The operation is over; the thread knows `sight`.
  void finish(const Sight& sight);
  /// What is known when the work of this operation on `stream` is done.
  Done after(std::int64_t stream, Done before, const Sight& sight) const;

  /// Operations of the thread so far.
  std::uint32_t count(std::uint32_t thread) const { return static_cast<std::uint32_t>(threads_[thread].size()); }
  void add_stream() { streams_.emplace_back(thread_count_); }
  std::size_t streams() const { return streams_.size(); }

 private:
  struct Seen {
    Clock clock;
    Done done;
  };
  struct Submission {
    std::uint32_t index;
    Done after;
  };
  std::size_t lane(std::int64_t stream, std::uint32_t thread) const {
    return static_cast<std::size_t>(stream) * thread_count_ + thread;
  }

  std::uint32_t thread_count_;
  std::vector<std::vector<Seen>> threads_;                     // after each operation
  std::vector<std::vector<std::vector<Submission>>> streams_;  // by stream and thread
};

}  // namespace stress
