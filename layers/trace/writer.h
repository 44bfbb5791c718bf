// SPDX-License-Identifier: Apache-2.0
//
// Writer: a thread that takes the records of all threads, and writes their slices to the file of the trace.
//
// In virtual time a trace is the same in each run of a program (fixed_order.h), so the thread does nothing: records
// stay with their threads until the program, or its end, asks for them. Until it is known whether time is virtual, the
// writer waits.
//
// Lock order: work_, then a backend's calls(), then leaves.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "fixed_order.h"
#include "output.h"
#include "settings.h"
#include "thread_buffer.h"
#include "timeline.h"

namespace anyplace::trace {

/// The process's one, never destroyed. Any thread may call its functions.
class Writer {
 public:
  static Writer& only();

  void use(const Settings& settings) { settings_ = settings; }
  const Settings& settings() const noexcept { return settings_; }
  /// Starts the thread, and the first trace unless the settings or the program want none yet. Throws Failure.
  void add_backend(TracedBackend& backend);

  /// Tells whether the device that a program asks about first has virtual time. Returns whether the trace is written in
  /// a fixed order, which it isn't if it had begun in real time.
  bool choose_order(bool is_time_virtual);
  /// In a fixed order: the virtual time at its beginning.
  void set_start(std::uint64_t ns);
  /// The number of what makes, uses or ends an object now; 0 where it isn't needed.
  static std::uint64_t next_sequence() noexcept;

  /// Whether calls are to be recorded.
  bool is_tracing() const noexcept { return is_tracing_.load(std::memory_order_relaxed); }
  /// Begins a trace in that file, or in that of the settings if the text is empty. Returns its path, or "" if the file
  /// can't be opened. Throws Failure if there is a trace already.
  std::string begin(const std::string& file);
  /// Ends the trace, having waited a second at most for the executions of what was submitted.
  void end();
  /// Writes what there is.
  void flush();
  /// Waits until all that was submitted to the backend has run and is written.
  void settle(TracedBackend& backend, std::chrono::nanoseconds limit);

 private:
  using Lock = std::unique_lock<std::mutex>;
  enum class Order : std::uint8_t { unknown, as_it_comes, fixed };

  Writer() : timeline_(packets_) {}
  void run() noexcept;
  /// Nothing is locked if another thread is stuck in a write.
  Lock lock_work();
  std::string begin_locked(const std::string& file);
  /// Takes all records, adds the executions that are over, and writes. Returns how many aren't over. Under work_.
  std::size_t round();
  void write();
  void drain_buffers();
  void note(const ThreadBuffer& buffer);
  void tell_missing(std::uint64_t thread, std::uint64_t calls);
  void take_records();
  void take_in_order();
  /// From now on the time isn't virtual, if that isn't known yet. Under work_.
  void settle_order();

  Settings settings_;
  std::atomic<bool> is_tracing_{false};
  std::atomic<Order> order_{Order::unknown};  // written under work_

  std::mutex work_;  // guards what follows
  bool is_started_ = false;
  bool is_wanted_ = true;  // the first trace begins with the first backend
  bool is_due_ = false;    // a trace has begun, and the timeline hasn't been told yet
  FixedOrder fixed_order_;
  std::string packets_;  // not yet written
  Timeline timeline_;
  Output output_;
  std::vector<TracedBackend*> backends_;
  std::map<std::uint64_t, std::uint64_t> missing_;  // calls, by the numbers of their buffers
  std::vector<Taken> taken_;  // those that are too young for the order to be known stay until the next round
};

}  // namespace anyplace::trace
