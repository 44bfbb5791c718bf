// SPDX-License-Identifier: Apache-2.0
//
// ThreadBuffer: the records of one thread, on their way to the writer. A thread shares its buffer with nobody but the
// writer, so no thread waits for another.
//
// Invariant: memory is bounded. A thread whose buffer is full waits a little for the writer; if that is stuck, as with
// a pipe that nobody reads, records are dropped and counted. In virtual time nobody waits, because the real time that
// this took would show: the thread keeps its records until they are asked for, and drops those above a number.
#pragma once

#include <semaphore.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "record.h"
#include "traced_backend.h"

namespace anyplace::trace {

class ThreadBuffer {
 public:
  static constexpr std::size_t capacity = 2048;

  explicit ThreadBuffer(std::uint64_t number);
  ThreadBuffer(const ThreadBuffer&) = delete;  // its thread and the writer keep its address
  ThreadBuffer& operator=(const ThreadBuffer&) = delete;

  // ---- The thread

  /// The record to fill next, or null if the buffer is full and stays so.
  Record* claim() noexcept;
  /// Hands the claimed record to the writer.
  void publish() noexcept;
  std::uint64_t next_submission() noexcept { return ++submissions_; }
  /// The pool to time the stream's operations with; null if they can't be timed.
  TimingPool* pool(TracedBackend& backend, anyplace_stream stream) noexcept;
  /// Gives up what the thread has of the backends.
  void end() noexcept;
  /// Whether a call found the same as the one before, which then stands for both. `finding` stands for what it found,
  /// and 0 for something new.
  bool is_repeat(std::uint64_t finding) noexcept;
  /// How many calls were repeats since this was last asked.
  std::uint32_t take_repeats() noexcept;

  // ---- The writer

  /// Calls take(record) for each published record.
  template <class Take>
  void drain(Take take) {
    const std::lock_guard lock(kept_mutex_);
    for (const std::vector<Record>& part : std::exchange(kept_, {})) {
      for (const Record& record : part) take(record);
    }
    const std::uint64_t end = written_.load(std::memory_order_acquire);
    std::uint64_t at = read_.load(std::memory_order_relaxed);
    for (; at != end; ++at) take(records_[at % capacity]);
    read_.store(at, std::memory_order_release);
  }
  /// How many records were dropped since this was last asked.
  std::uint64_t take_dropped() noexcept { return dropped_.exchange(0, std::memory_order_relaxed); }

  const std::uint64_t number;      ///< 1, 2, ... in the order of the threads' first calls
  const std::int32_t thread;       ///< as the system numbers it
  const std::string name;          ///< that the thread had at its first call
  std::atomic<bool> ended{false};  ///< the thread is gone, so nothing comes any more

 private:
  bool make_room() noexcept;
  bool wait_for_room() noexcept;
  bool keep() noexcept;

  const std::unique_ptr<Record[]> records_;
  std::uint64_t submissions_;
  std::uint64_t last_finding_ = 0;
  std::uint32_t repeats_ = 0;
  std::uint64_t known_read_ = 0;  // read_, as the thread last saw it
  bool is_stuck_ = false;         // the thread has waited in vain since there was room
  /// What is known of a stream, which is found by its handle without asking the backend.
  struct KnownStream {
    TracedBackend* backend = nullptr;
    anyplace_stream stream = 0;
    std::uint64_t version = 0;
    TimingPool* pool = nullptr;
  };
  std::array<KnownStream, 32> known_streams_;
  struct OwnedPools {
    TracedBackend* backend;
    std::vector<TimingPool*> pools;
  };
  std::vector<OwnedPools> owned_;

  std::mutex kept_mutex_;                  // guards kept_, and read_ where that is moved; a leaf
  std::vector<std::vector<Record>> kept_;  // parts, so that a new one copies nothing of those before

  alignas(64) std::atomic<std::uint64_t> written_{0};
  std::atomic<std::uint64_t> dropped_{0};
  alignas(64) std::atomic<std::uint64_t> read_{0};
};

/// The buffer of the calling thread; null if there is no memory for one, or if the thread is ending.
ThreadBuffer* thread_buffer() noexcept;

/// All buffers, and the bell that wakes the writer. Never destroyed.
struct ThreadBuffers {
  ThreadBuffers() { ::sem_init(&bell, 0, 0); }
  std::mutex mutex;  // guards all; a leaf
  std::vector<std::unique_ptr<ThreadBuffer>> all;
  std::uint64_t made = 0;
  std::atomic<bool> are_kept{false};  ///< records stay with their threads until they are asked for
  sem_t bell;
};
ThreadBuffers& thread_buffers() noexcept;

}  // namespace anyplace::trace
