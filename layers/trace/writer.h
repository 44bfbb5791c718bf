// SPDX-License-Identifier: Apache-2.0
//
// Writer: a thread that takes the records of all threads, and writes their slices to the file of the trace.
//
// Lock order: work_, then a backend's calls(), then leaves.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "output.h"
#include "settings.h"
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
  struct Taken {
    std::uint64_t order;
    std::uint64_t thread;
    Record record;
  };

  Writer() : timeline_(packets_) {}
  void run() noexcept;
  /// Nothing is locked if another thread is stuck in a write.
  Lock lock_work();
  std::string begin_locked(const std::string& file);
  /// Takes all records, adds the executions that are over, and writes. Returns how many aren't over. Under work_.
  std::size_t round();
  void drain_buffers(std::uint64_t until);
  void take_records();

  Settings settings_;
  std::atomic<bool> is_tracing_{false};

  std::mutex work_;  // guards what follows
  bool is_started_ = false;
  bool is_wanted_ = true;  // the first trace begins with the first backend
  std::string packets_;    // not yet written
  Timeline timeline_;
  Output output_;
  std::vector<TracedBackend*> backends_;
  std::vector<Taken> taken_;  // those that are too young for the order to be known stay until the next round
};

}  // namespace anyplace::trace
