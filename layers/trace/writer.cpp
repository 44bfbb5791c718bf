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

/// What is taken from the threads is written in parts of about so many bytes.
constexpr std::size_t part = std::size_t{1} << 20;

std::atomic<std::uint64_t> last_sequence{0};

/// Returns whether the bell rang within the time.
bool wait_for_bell(std::chrono::nanoseconds limit) noexcept {
  const std::uint64_t until = monotonic_ns() + static_cast<std::uint64_t>(limit.count());
  const timespec time{static_cast<time_t>(until / 1'000'000'000), static_cast<long>(until % 1'000'000'000)};
  sem_t& bell = thread_buffers().bell;
  if (::sem_clockwait(&bell, CLOCK_MONOTONIC, &time) != 0) return false;
  while (::sem_trywait(&bell) == 0) {
  }
  return true;
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
    // The bell rings for a buffer that fills up. A program that does so much before it asks about a device has none in
    // virtual time.
    const bool has_rung = wait_for_bell(order_ == Order::fixed ? std::chrono::nanoseconds::max() : interval);
    try {
      const std::lock_guard lock(work_);
      if (has_rung) settle_order();
      if (order_ == Order::as_it_comes) static_cast<void>(round());
    } catch (const std::bad_alloc&) {  // the next round may have memory
    }
  }
}

bool Writer::choose_order(bool is_time_virtual) {
  if (order_ != Order::unknown) return order_ == Order::fixed;
  const std::lock_guard lock(work_);
  if (order_ == Order::unknown) {
    order_ = is_time_virtual ? Order::fixed : Order::as_it_comes;
    thread_buffers().are_kept = is_time_virtual;
  }
  return order_ == Order::fixed;
}

void Writer::settle_order() {
  if (order_ == Order::unknown) order_ = Order::as_it_comes;
}

void Writer::set_start(std::uint64_t ns) {
  const std::lock_guard lock(work_);
  fixed_order_.set_start(ns);
}

std::uint64_t Writer::next_sequence() noexcept {
  if (only().order_.load(std::memory_order_relaxed) == Order::as_it_comes) return 0;
  return last_sequence.fetch_add(1, std::memory_order_relaxed) + 1;
}

std::string Writer::begin_locked(const std::string& file) {
  if (order_ != Order::unknown) static_cast<void>(round());  // what was before isn't part of the trace
  const std::string path = output_.open(path_of(file.empty() ? settings_.file : file), settings_.limit);
  if (path.empty()) return path;
  is_due_ = is_tracing_ = true;
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
  Lock lock = lock_work();
  if (!lock) return;
  is_wanted_ = false;
  is_tracing_ = false;
  settle_order();
  if (order_ == Order::fixed && round() != 0) {
    const std::vector<TracedBackend*> backends = backends_;
    lock.unlock();  // others take their turns in the schedule meanwhile
    for (const TracedBackend* const backend : backends) backend->synchronize(1s);
    lock.lock();
  }
  while (round() != 0 && std::chrono::steady_clock::now() < deadline) std::this_thread::sleep_for(200us);
  timeline_.end();
  output_.close();
}

void Writer::flush() {
  const Lock lock = lock_work();
  if (!lock) return;
  settle_order();
  static_cast<void>(round());
}

void Writer::settle(TracedBackend& backend, std::chrono::nanoseconds limit) {
  const auto begin = std::chrono::steady_clock::now();
  Lock lock = lock_work();
  if (!lock) return;
  settle_order();
  static_cast<void>(round());
  if (order_ == Order::fixed && limit.count() != 0 && timeline_.poll(backend) != 0) {
    lock.unlock();  // others take their turns in the schedule meanwhile
    backend.synchronize(limit);
    lock.lock();
  }
  while (order_ == Order::as_it_comes && timeline_.poll(backend) != 0 &&
         std::chrono::steady_clock::now() - begin < limit) {
    std::this_thread::sleep_for(100us);
  }
  static_cast<void>(round());
}

/// Moves what the threads have published to taken_.
void Writer::drain_buffers() {
  ThreadBuffers& buffers = thread_buffers();
  const std::lock_guard lock(buffers.mutex);
  for (auto& buffer : buffers.all) {
    const bool is_ended = buffer->ended.load(std::memory_order_acquire);
    note(*buffer);
    buffer->drain([&](const Record& record) {
      taken_.push_back({Timeline::order_of(record), buffer->number, record});
    });
    if (const std::uint64_t dropped = buffer->take_dropped(); dropped != 0) missing_[buffer->number] += dropped;
    if (is_ended) buffer.reset();
  }
  std::erase(buffers.all, nullptr);
}

void Writer::note(const ThreadBuffer& buffer) {
  if (order_ == Order::fixed) {
    fixed_order_.add_thread(buffer.number, buffer.thread, buffer.name);
  } else {
    timeline_.add_thread(buffer.number, buffer.thread, buffer.name);
  }
}

void Writer::tell_missing(std::uint64_t thread, std::uint64_t calls) {
  timeline_.note(thread, now_ns(), std::to_string(calls) + " calls are missing here");
}

/// All that there is: what a program asks for in the midst of what other threads do has no order.
void Writer::take_in_order() {
  drain_buffers();
  fixed_order_.arrange(taken_);
  for (const Taken& one : std::exchange(taken_, {})) {
    timeline_.add_thread(one.thread, static_cast<std::int32_t>(one.thread), fixed_order_.name_of_thread(one.thread));
    timeline_.take(one.record, one.thread);
    if (packets_.size() > part) write();
  }
  for (const auto& [buffer, calls] : std::exchange(missing_, {})) {
    if (const std::uint64_t number = fixed_order_.number_of_thread(buffer); number != 0) tell_missing(number, calls);
  }
}

void Writer::take_records() {
  const std::uint64_t until = now_ns();
  drain_buffers();
  for (const auto& [buffer, calls] : std::exchange(missing_, {})) tell_missing(buffer, calls);
  std::stable_sort(taken_.begin(), taken_.end(), [](const Taken& a, const Taken& b) { return a.order < b.order; });
  // What caused a record was published when this round began, if the record is no younger than that.
  const auto first_left =
      std::partition_point(taken_.begin(), taken_.end(), [until](const Taken& one) { return one.order <= until; });
  for (auto one = taken_.begin(); one != first_left; ++one) timeline_.take(one->record, one->thread);
  taken_.erase(taken_.begin(), first_left);
}

void Writer::write() {
  if (!packets_.empty()) output_.append(packets_);
  packets_.clear();
}

std::size_t Writer::round() {
  const bool is_fixed = order_ == Order::fixed;
  if (std::exchange(is_due_, false)) timeline_.begin(is_fixed);
  is_fixed ? take_in_order() : take_records();
  std::size_t left = 0;
  for (TracedBackend* const backend : backends_) left += timeline_.poll(*backend);
  write();
  if (!output_.is_open() && is_tracing_.exchange(false)) timeline_.end();
  return left;
}

}  // namespace anyplace::trace
