// SPDX-License-Identifier: Apache-2.0
#include "writer.h"

#include <anyplace/backend/kit/start_thread.h>
#include <semaphore.h>
#include <time.h>

#include <algorithm>
#include <cstdio>
#include <new>
#include <thread>

namespace anyplace::trace {
namespace {

using namespace std::chrono_literals;

/// How long records lie about at most: what a process that dies hasn't written.
constexpr std::chrono::milliseconds interval = 20ms;
/// How long a thread waits for another that is stuck in a write.
constexpr std::chrono::seconds stuck_after = 5s;

void wait_for_bell(std::chrono::nanoseconds limit) noexcept {
  const std::uint64_t until = monotonic_ns() + static_cast<std::uint64_t>(limit.count());
  const timespec time{static_cast<time_t>(until / 1'000'000'000), static_cast<long>(until % 1'000'000'000)};
  sem_t& bell = thread_buffers().bell;
  if (::sem_clockwait(&bell, CLOCK_MONOTONIC, &time) != 0) return;
  while (::sem_trywait(&bell) == 0) {
  }
}

}  // namespace

Writer& Writer::only() {
  static auto& writer = *new Writer;
  return writer;
}

// Not by std::timed_mutex: ThreadSanitizer doesn't know the call that locks one within a time.
Writer::Lock Writer::lock_work() {
  const auto deadline = std::chrono::steady_clock::now() + stuck_after;
  Lock lock(work_, std::try_to_lock);
  while (!lock && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(50us);
    static_cast<void>(lock.try_lock());
  }
  return lock;
}

void Writer::add_backend(TracedBackend& backend) {
  const Lock lock = lock_work();
  if (!lock) return;
  if (!is_started_) {
    backend::start_thread("anyplace-trace", [this] { run(); }).detach();
    is_started_ = true;
  }
  if (std::exchange(is_wanted_, false) && settings_.from_start) static_cast<void>(begin_locked(""));
  backends_.push_back(&backend);
}

void Writer::run() noexcept {
  while (true) {
    wait_for_bell(interval);
    try {
      const std::lock_guard lock(work_);
      static_cast<void>(round());
    } catch (const std::bad_alloc&) {  // the next round may have memory
    }
  }
}

std::string Writer::begin_locked(const std::string& file) {
  static_cast<void>(round());  // what was before isn't part of the trace
  const std::string path = output_.open(path_of(file.empty() ? settings_.file : file), settings_.limit);
  if (path.empty()) return path;
  timeline_.begin();
  is_tracing_ = true;
  return path;
}

std::string Writer::begin(const std::string& file) {
  const Lock lock = lock_work();
  if (is_tracing()) {
    throw backend::Failure(ANYPLACE_STATUS_INVALID_ARGUMENT, "a trace is being written; end it before the next");
  }
  is_wanted_ = false;
  return lock ? begin_locked(file) : "";
}

void Writer::end() {
  const auto deadline = std::chrono::steady_clock::now() + 1s;
  const Lock lock = lock_work();
  if (!lock) return;
  is_wanted_ = false;
  is_tracing_ = false;
  while (round() != 0 && std::chrono::steady_clock::now() < deadline) std::this_thread::sleep_for(200us);
  timeline_.end();
  output_.close();
}

void Writer::flush() {
  if (const Lock lock = lock_work()) static_cast<void>(round());
}

void Writer::settle(TracedBackend& backend, std::chrono::nanoseconds limit) {
  const auto begin = std::chrono::steady_clock::now();
  const Lock lock = lock_work();
  if (!lock) return;
  static_cast<void>(round());
  while (timeline_.poll(backend) != 0 && std::chrono::steady_clock::now() - begin < limit) {
    std::this_thread::sleep_for(100us);
  }
  static_cast<void>(round());
}

/// Moves what the threads have published to taken_.
void Writer::drain_buffers(std::uint64_t until) {
  ThreadBuffers& buffers = thread_buffers();
  const std::lock_guard lock(buffers.mutex);
  for (auto& buffer : buffers.all) {
    const bool is_ended = buffer->ended.load(std::memory_order_acquire);
    timeline_.add_thread(*buffer);
    buffer->drain([&](const Record& record) {
      taken_.push_back({Timeline::order_of(record), buffer->number, record});
    });
    if (const std::uint64_t dropped = buffer->take_dropped(); dropped != 0) {
      timeline_.note(buffer->number, until, std::to_string(dropped) + " calls are missing here");
    }
    if (is_ended) buffer.reset();
  }
  std::erase(buffers.all, nullptr);
}

void Writer::take_records() {
  const std::uint64_t until = now_ns();
  drain_buffers(until);
  std::stable_sort(taken_.begin(), taken_.end(), [](const Taken& a, const Taken& b) { return a.order < b.order; });
  // What caused a record was published when this round began, if the record is no younger than that.
  const auto first_left =
      std::partition_point(taken_.begin(), taken_.end(), [until](const Taken& one) { return one.order <= until; });
  for (auto one = taken_.begin(); one != first_left; ++one) timeline_.take(one->record, one->thread);
  taken_.erase(taken_.begin(), first_left);
}

std::size_t Writer::round() {
  take_records();
  std::size_t left = 0;
  for (TracedBackend* const backend : backends_) left += timeline_.poll(*backend);
  if (!packets_.empty()) output_.append(packets_);
  packets_.clear();
  if (!output_.is_open() && is_tracing_.exchange(false)) timeline_.end();
  return left;
}

}  // namespace anyplace::trace
